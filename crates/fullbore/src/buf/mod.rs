//! Page-aligned buffers and the pool they come from.
//!
//! A buffer is a slot of one anonymous mapping, so that direct I/O may use it, an io_uring may register the
//! whole pool at once, and the memory of a run is known before it starts.
#![allow(unsafe_code)]

mod loan;
mod owned;
mod request;

use std::io;
use std::ptr::NonNull;
use std::sync::Arc;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// What the start of every buffer, and the place of data in it, is aligned to, in bytes. Direct I/O asks for
/// 512 or 4096 on every device known (`STATX_DIOALIGN`).
pub const ALIGNMENT: usize = 4096;

pub(crate) use loan::Loan;
pub use owned::{Buffer, Segment};
pub use request::{Completion, Direction, Request};

/// The memory of a pool.
#[derive(Debug)]
struct Region {
    base: NonNull<u8>,
    mapped: usize,
    start: NonNull<u8>,
    len: usize,
}

/// The size of a huge page, in bytes: worth asking for from this length on.
const HUGE: usize = 2 << 20;

// SAFETY: a region is only memory; who may touch which part is settled by the `Buf`s, which never overlap.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    fn new(len: usize) -> io::Result<Self> {
        let huge = len >= HUGE;
        // Whole huge pages, wherever the kernel puts the mapping.
        let mapped = if huge {
            len.checked_next_multiple_of(HUGE).and_then(|len| len.checked_add(HUGE)).ok_or_else(too_much)?
        } else {
            len
        };
        // SAFETY: a new anonymous mapping at an address of the kernel's choice aliases nothing.
        let base = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                mapped,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )?
        };
        let base = NonNull::new(base.cast::<u8>()).ok_or(io::ErrorKind::OutOfMemory)?;
        let shift = if huge { base.as_ptr().align_offset(HUGE) } else { 0 };
        // SAFETY: at most `HUGE` bytes into a mapping that is longer than that by `len`.
        let start = unsafe { base.add(shift) };
        // Miri knows mappings and no advice.
        if huge && !cfg!(miri) {
            // A hint. A buffer on a huge page is one segment to the device, not one a page. To the end of the last huge page,
            // because io_uring keeps a registered buffer by huge pages only if all of it lies on them: with a tail of small
            // ones each request of 1 MiB was put together of 256, for half as much processor time again.
            let whole = len.next_multiple_of(HUGE);
            // SAFETY: the range lies within the mapping, which is `HUGE` longer than that, less than which was passed over;
            // the advice keeps its contents.
            let _ = unsafe { madvise(start.as_ptr().cast(), whole, Advice::LinuxHugepage) };
        }
        Ok(Self { base, mapped, start, len })
    }
}

/// No memory is as large as that.
fn too_much() -> io::Error {
    io::ErrorKind::OutOfMemory.into()
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and every `Buf` into it holds an `Arc` of this region, so none is left.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.mapped) };
    }
}

/// A buffer: a slot of a pool's memory and the run of data that stands in it.
///
/// It owns its slot alone, so it can be handed to the kernel and taken back.
///
/// ```
/// use fullbore::buf::Pool;
/// let mut pool = Pool::new(1, 4096)?;
/// let mut buffer = pool.take().expect("one of one");
/// buffer.place(0, 5);
/// buffer.data_mut().copy_from_slice(b"bytes");
/// assert_eq!(buffer.data(), b"bytes");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Buf {
    region: Arc<Region>,
    slot: usize,
    capacity: usize,
    start: usize,
    len: usize,
}

impl Buf {
    /// Makes room for `len` bytes that stand at `offset` of a file. The data starts at the same distance from
    /// an alignment boundary as `offset` does, so that the aligned middle of an unaligned run can be
    /// transferred directly.
    ///
    /// ```
    /// use fullbore::buf::Pool;
    /// let mut pool = Pool::new(1, 4096)?;
    /// let mut buffer = pool.take().expect("one of one");
    /// buffer.place(1000, 100);
    /// assert_eq!((buffer.len(), buffer.data().as_ptr().addr() % 4096), (100, 1000));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// If the run does not fit: the pool was made for smaller requests.
    pub fn place(&mut self, offset: u64, len: usize) {
        let start = (offset % ALIGNMENT as u64) as usize;
        // Not `start + len`, which can wrap: what this lets pass is memory that gets touched.
        let fits = self.capacity.checked_sub(start).is_some_and(|room| len <= room);
        assert!(fits, "{len} bytes at {start} in a buffer of {}", self.capacity);
        self.start = start;
        self.len = len;
    }

    /// Widens or narrows the data: it starts `head` bytes later (negative: earlier) and is `len` bytes long.
    ///
    /// ```
    /// use fullbore::buf::Pool;
    /// let mut pool = Pool::new(1, 4096)?;
    /// let mut buffer = pool.take().expect("one of one");
    /// buffer.place(100, 50);
    /// buffer.shift(-100, 4096);
    /// assert_eq!((buffer.len(), buffer.data().as_ptr().addr() % 4096), (4096, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// If that reaches out of the buffer.
    pub fn shift(&mut self, head: isize, len: usize) {
        let fits = |start: &usize| self.capacity.checked_sub(*start).is_some_and(|room| len <= room);
        let start = self.start.checked_add_signed(head).filter(fits);
        self.start = start.expect("the shifted run lies within the buffer");
        self.len = len;
    }

    /// Keeps the first `len` bytes of the data.
    ///
    /// ```
    /// use fullbore::buf::Pool;
    /// let mut pool = Pool::new(1, 4096)?;
    /// let mut buffer = pool.take().expect("one of one");
    /// buffer.place(0, 50);
    /// buffer.truncate(7);
    /// assert_eq!(buffer.len(), 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// The data.
    ///
    /// ```
    /// use fullbore::buf::Pool;
    /// let mut pool = Pool::new(1, 4096)?;
    /// let mut buffer = pool.take().expect("one of one");
    /// buffer.place(0, 3);
    /// assert_eq!(buffer.data(), [0; 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn data(&self) -> &[u8] {
        // SAFETY: the slot is this buffer's alone, mapped and zeroed by the kernel at the least, and
        // `start + len` is within its capacity.
        unsafe { std::slice::from_raw_parts(self.pointer(), self.len) }
    }

    /// The data, to be changed.
    ///
    /// ```
    /// use fullbore::buf::Pool;
    /// let mut pool = Pool::new(1, 4096)?;
    /// let mut buffer = pool.take().expect("one of one");
    /// buffer.place(0, 3);
    /// buffer.data_mut().fill(7);
    /// assert_eq!(buffer.data(), [7; 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn data_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `data`, and `self` is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.pointer(), self.len) }
    }

    /// How many bytes of data it holds.
    ///
    /// ```
    /// use fullbore::buf::Pool;
    /// let mut pool = Pool::new(1, 4096)?;
    /// let mut buffer = pool.take().expect("one of one");
    /// buffer.place(0, 3);
    /// assert_eq!(buffer.len(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it holds no data.
    ///
    /// ```
    /// use fullbore::buf::Pool;
    /// let mut pool = Pool::new(1, 4096)?;
    /// assert!(pool.take().expect("one of one").is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Where the data starts in memory. It stays there as long as the buffer lives.
    pub(crate) fn pointer(&self) -> *mut u8 {
        // SAFETY: slot and start lie within the region.
        unsafe { self.region.start.as_ptr().add(self.slot + self.start) }
    }
}

/// A fixed number of equal buffers.
///
/// ```
/// use fullbore::buf::Pool;
/// let mut pool = Pool::new(2, 1 << 20)?;
/// let (one, two) = (pool.take(), pool.take());
/// assert!(one.is_some() && two.is_some() && pool.take().is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Pool {
    region: Arc<Region>,
    free: Vec<Buf>,
}

impl Pool {
    /// A pool of `count` buffers, each with room for a run of `request` bytes at any offset.
    ///
    /// ```
    /// use fullbore::buf::Pool;
    /// assert_eq!(Pool::new(8, 256 << 10)?.free(), 8);
    /// assert!(Pool::new(8, usize::MAX).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the memory is not to be had.
    pub fn new(count: usize, request: usize) -> io::Result<Self> {
        let count = count.max(1);
        let capacity = Self::capacity(request);
        if capacity <= request {
            return Err(too_much());
        }
        let region = Arc::new(Region::new(capacity.checked_mul(count).ok_or_else(too_much)?)?);
        let free = (0..count)
            .rev()
            .map(|index| Buf { region: region.clone(), slot: index * capacity, capacity, start: 0, len: 0 })
            .collect();
        Ok(Self { region, free })
    }

    /// The memory one buffer for requests of `request` bytes takes, in bytes; the most there is for requests that no
    /// memory can hold.
    ///
    /// ```
    /// use fullbore::buf::Pool;
    /// assert_eq!(Pool::capacity(10_000), 16_384);
    /// ```
    pub fn capacity(request: usize) -> usize {
        // An unaligned request touches one block more than an aligned one of that size.
        let blocks = request.checked_next_multiple_of(ALIGNMENT);
        blocks.and_then(|len| len.checked_add(ALIGNMENT)).unwrap_or(usize::MAX)
    }

    /// Takes a buffer out, if one is free.
    ///
    /// ```
    /// use fullbore::buf::Pool;
    /// let mut pool = Pool::new(1, 4096)?;
    /// let buffer = pool.take();
    /// assert!(buffer.is_some() && pool.take().is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn take(&mut self) -> Option<Buf> {
        self.free.pop()
    }

    /// Puts a buffer back.
    ///
    /// ```
    /// use fullbore::buf::Pool;
    /// let mut pool = Pool::new(1, 4096)?;
    /// let buffer = pool.take().expect("one of one");
    /// pool.put(buffer);
    /// assert_eq!(pool.free(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn put(&mut self, buf: Buf) {
        self.free.push(buf);
    }

    /// Lets `prepare` write into the whole memory of each free buffer.
    ///
    /// ```
    /// use fullbore::buf::Pool;
    /// let mut pool = Pool::new(1, 4096)?;
    /// pool.prepare(|memory| memory.fill(7));
    /// let mut buffer = pool.take().expect("one of one");
    /// buffer.place(0, 2);
    /// assert_eq!(buffer.data(), [7, 7]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prepare(&mut self, mut prepare: impl FnMut(&mut [u8])) {
        for buf in &mut self.free {
            buf.start = 0;
            buf.len = buf.capacity;
            prepare(buf.data_mut());
            buf.len = 0;
        }
    }

    /// How many buffers are free.
    ///
    /// ```
    /// use fullbore::buf::Pool;
    /// let mut pool = Pool::new(2, 4096)?;
    /// let _one = pool.take();
    /// assert_eq!(pool.free(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn free(&self) -> usize {
        self.free.len()
    }

    /// The whole memory, for registering it with the kernel.
    pub(crate) fn memory(&self) -> (*mut u8, usize) {
        (self.region.start.as_ptr(), self.region.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_and_apart() {
        let mut pool = Pool::new(3, 10_000).unwrap();
        let mut bufs: Vec<Buf> = std::iter::from_fn(|| pool.take()).collect();
        assert_eq!(bufs.len(), 3);
        for (value, buf) in bufs.iter_mut().enumerate() {
            buf.place(0, 10_000);
            assert_eq!(buf.pointer() as usize % ALIGNMENT, 0);
            buf.data_mut().fill(value as u8);
        }
        for (value, buf) in bufs.iter().enumerate() {
            assert!(buf.data().iter().all(|&byte| byte == value as u8));
        }
    }

    #[test]
    fn data_stands_where_its_offset_stands_in_a_block() {
        let mut pool = Pool::new(1, 5000).unwrap();
        let mut buf = pool.take().unwrap();
        buf.place(3 * 4096 + 4095, 5000);
        assert_eq!(buf.pointer() as usize % ALIGNMENT, 4095);
        assert_eq!(buf.len(), 5000);
        buf.truncate(7);
        assert_eq!(buf.data(), &[0; 7]);
    }

    #[test]
    #[should_panic(expected = "in a buffer of")]
    fn a_run_that_does_not_fit_is_a_bug() {
        Pool::new(1, 4096).unwrap().take().unwrap().place(4095, 8192);
    }

    /// A wrapped sum would make a buffer reach where its memory does not.
    #[test]
    fn lengths_that_no_memory_has_are_refused() {
        for (count, request) in [
            (1, usize::MAX),
            (1, usize::MAX - ALIGNMENT),
            (1, usize::MAX - 3 * ALIGNMENT),
            (usize::MAX, 1),
            (usize::MAX / (2 * ALIGNMENT) + 1, 1),
            (3, usize::MAX / 2),
        ] {
            let error = Pool::new(count, request).expect_err("more than there is");
            assert_eq!(error.kind(), io::ErrorKind::OutOfMemory, "{count} of {request}: {error}");
        }
        let mut buf = Pool::new(1, 4096).unwrap().take().unwrap();
        let mut refused = |act: &mut dyn FnMut(&mut Buf)| {
            assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| act(&mut buf))).is_err());
        };
        refused(&mut |buf| buf.place(4095, usize::MAX));
        refused(&mut |buf| buf.place(u64::MAX, usize::MAX - 4094));
        refused(&mut |buf| buf.shift(1, usize::MAX));
        refused(&mut |buf| buf.shift(isize::MAX, 0));
        refused(&mut |buf| buf.shift(isize::MIN, 0));
    }

    /// The kernel is handed address and length: neither may leave the data.
    #[test]
    fn a_request_never_reaches_out_of_its_buffer() {
        let mut buf = Pool::new(1, 4096).unwrap().take().unwrap();
        buf.place(0, 100);
        let start = buf.pointer();
        let mut request =
            Request { token: 0, direction: Direction::Read, offset: 0, buf, from: 0, most: usize::MAX };
        for (from, most, place, len) in [
            (0, usize::MAX, 0, 100),
            (40, 50, 40, 50),
            (100, 1, 100, 0),
            (101, usize::MAX, 100, 0),
            (usize::MAX, usize::MAX, 100, 0),
        ] {
            (request.from, request.most) = (from, most);
            assert_eq!(request.memory(), (start.wrapping_add(place), len as u32));
            assert_eq!((request.len(), request.is_empty()), (len, from >= 100));
            assert_eq!((request.data().len(), request.data_mut().len()), (len, len));
        }
    }
}
