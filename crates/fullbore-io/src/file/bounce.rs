//! The buffers for unaligned bytes: a few for the whole process, created at first use. If none is free, a transfer
//! waits for one; each transfer holds one buffer briefly and never takes a second.

use std::io;

use crate::buf::{Buf, Pool};
use crate::lock::{Condvar, Mutex};

/// The size of a buffer in bytes: the best request size on every machine measured.
pub(super) const BOUNCE: usize = 256 << 10;

/// The number of buffers: 4 MiB in total, and the maximum number of concurrent unaligned transfers.
const COUNT: usize = 16;

static POOL: Mutex<Option<Pool>> = Mutex::new(None);
static RETURNED: Condvar = Condvar::new();

#[derive(Debug)]
pub(super) struct Bounce {
    buf: Option<Buf>,
}

impl Bounce {
    /// Borrows a buffer of [`BOUNCE`] bytes; waits until one is free.
    pub(super) fn borrow() -> io::Result<Self> {
        let mut pool = POOL.lock();
        loop {
            let made = match &mut *pool {
                Some(pool) => pool,
                none => none.insert(Pool::new(COUNT, BOUNCE)?),
            };
            if let Some(mut buf) = made.take() {
                buf.place(0, BOUNCE);
                return Ok(Self { buf: Some(buf) });
            }
            pool = RETURNED.wait(pool);
        }
    }

    /// Returns the memory of the buffer, page-aligned, with its previous content.
    pub(super) fn bytes(&mut self) -> &mut [u8] {
        self.buf.as_mut().map_or(&mut [], Buf::data_mut)
    }
}

impl Drop for Bounce {
    fn drop(&mut self) {
        if let (Some(buf), Some(pool)) = (self.buf.take(), &mut *POOL.lock()) {
            pool.put(buf);
            RETURNED.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_threads_than_buffers_wait_for_one_another() {
        std::thread::scope(|scope| {
            for value in 0..3 * COUNT as u8 {
                scope.spawn(move || {
                    for _ in 0..20 {
                        let mut bounce = Bounce::borrow().unwrap();
                        assert_eq!(bounce.bytes().len(), BOUNCE);
                        bounce.bytes()[..4096].fill(value);
                        std::thread::yield_now();
                        assert!(bounce.bytes()[..4096].iter().all(|&byte| byte == value));
                    }
                });
            }
        });
    }
}
