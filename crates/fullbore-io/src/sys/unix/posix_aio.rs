//! POSIX asynchronous I/O of one file.
//!
//! glibc and musl execute the requests on threads; glibc executes those of one open file one after the other. macOS and FreeBSD
//! execute them on kernel threads. macOS accepts at most 16 requests of a process; the caller executes the requests that the system
//! does not accept.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};

use super::files::{read_at, write_at};
use crate::buf::{Completion, Direction, Request};
use crate::sys::code::Code;
use crate::sys::types::{RequestQueue, drain};

/// Maximum number of requests that one call waits for: `AIO_LISTIO_MAX` of macOS.
const MOST_AWAITED: usize = 16;

/// A place for a request. The system keeps the address of its block.
struct Slot {
    block: libc::aiocb,
    request: Option<Request>,
}

pub(crate) struct PosixAio<F: AsFd> {
    file: F,
    /// Boxed: the system keeps the addresses.
    #[allow(clippy::vec_box, reason = "the addresses must not change")]
    slots: Vec<Box<Slot>>,
    vacant: Vec<usize>,
    queued: VecDeque<usize>,
    flying: Vec<usize>,
    /// Requests that were executed or refused at their submission.
    ended: Vec<Completion>,
}

// SAFETY: the blocks contain addresses in the buffers of their requests, which are sent along.
unsafe impl<F: AsFd + Send> Send for PosixAio<F> {}

pub(crate) fn open<F: AsFd>(file: F, depth: usize) -> io::Result<PosixAio<F>> {
    let depth = depth.max(1);
    let slot = || {
        // SAFETY: a structure of numbers and addresses, for which zeros are valid.
        Box::new(Slot { block: unsafe { std::mem::zeroed() }, request: None })
    };
    Ok(PosixAio {
        file,
        slots: (0..depth).map(|_| slot()).collect(),
        vacant: (0..depth).rev().collect(),
        queued: VecDeque::with_capacity(depth),
        flying: Vec::with_capacity(depth),
        ended: Vec::new(),
    })
}

impl<F: AsFd> PosixAio<F> {
    fn raw(&self) -> RawFd {
        self.file.as_fd().as_raw_fd()
    }

    fn start(&mut self, index: usize) -> Result<(), Code> {
        let fd = self.raw();
        let Slot { block, request } = &mut *self.slots[index];
        let Some(request) = request else { return Ok(()) };
        let (start, len) = request.memory();
        block.aio_fildes = fd;
        block.aio_buf = start.cast();
        block.aio_nbytes = len as usize;
        block.aio_offset = libc::off_t::try_from(request.offset).map_err(|_| Code::INVALID)?;
        block.aio_sigevent.sigev_notify = libc::SIGEV_NONE;
        // SAFETY: the slot keeps the block and the buffer of the request until the completion is reaped.
        let started = unsafe {
            match request.direction {
                Direction::Read => libc::aio_read(block),
                Direction::Write => libc::aio_write(block),
            }
        };
        if started == 0 { Ok(()) } else { Err(Code::last()) }
    }

    fn complete(&mut self, index: usize, result: io::Result<usize>) {
        self.vacant.push(index);
        if let Some(request) = self.slots[index].request.take() {
            self.ended.push(Completion { request, result });
        }
    }

    /// Takes the requests that the system has executed.
    fn take(&mut self) {
        for index in std::mem::take(&mut self.flying) {
            let block = &raw mut self.slots[index].block;
            // SAFETY: the block is that of a request in flight, whose result is taken once.
            let result = unsafe {
                match libc::aio_error(block) {
                    libc::EINPROGRESS => {
                        self.flying.push(index);
                        continue;
                    }
                    0 => Ok(libc::aio_return(block) as usize),
                    // The call itself failed: the system does not know the request.
                    -1 => Err(io::Error::last_os_error()),
                    error => {
                        libc::aio_return(block);
                        Err(io::Error::from_raw_os_error(error))
                    }
                }
            };
            self.complete(index, result);
        }
    }

    fn wait(&self) -> io::Result<()> {
        let blocks: Vec<*const libc::aiocb> = (self.flying.iter().take(MOST_AWAITED))
            .map(|&index| &raw const self.slots[index].block)
            .collect();
        // SAFETY: the blocks are those of requests in flight.
        match unsafe { libc::aio_suspend(blocks.as_ptr(), blocks.len() as libc::c_int, std::ptr::null()) } {
            0 => Ok(()),
            _ => match io::Error::last_os_error() {
                // The caller looks, and waits again.
                error if error.kind() == io::ErrorKind::Interrupted => Ok(()),
                error => Err(error),
            },
        }
    }
}

/// Executes a request by one call of this thread.
fn execute(file: &impl AsFd, request: &mut Request) -> Result<usize, Code> {
    let offset = request.offset;
    match request.direction {
        Direction::Read => read_at(file, request.data_mut(), offset),
        Direction::Write => write_at(file, request.data(), offset),
    }
}

impl<F: AsFd> RequestQueue for PosixAio<F> {
    fn queue(&mut self, request: Request) -> Result<(), Request> {
        let Some(index) = self.vacant.pop() else { return Err(request) };
        self.slots[index].request = Some(request);
        self.queued.push_back(index);
        Ok(())
    }

    fn submit(&mut self) -> io::Result<()> {
        while let Some(&index) = self.queued.front() {
            match self.start(index) {
                Ok(()) => self.flying.push(index),
                // The system takes no more: later, or by this thread if nothing of this queue is in flight.
                Err(Code::WOULD_BLOCK) if !self.flying.is_empty() => return Ok(()),
                Err(Code::WOULD_BLOCK) => {
                    let request = self.slots[index].request.as_mut();
                    let moved = request.map_or(Ok(0), |request| execute(&self.file, request));
                    self.complete(index, moved.map_err(Into::into));
                }
                Err(error) => self.complete(index, Err(error.into())),
            }
            self.queued.pop_front();
        }
        Ok(())
    }

    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> io::Result<()> {
        loop {
            self.submit()?;
            self.take();
            if self.ended.len() >= least || self.flying.is_empty() {
                break;
            }
            self.wait()?;
        }
        done.append(&mut self.ended);
        Ok(())
    }
}

impl<F: AsFd> Drop for PosixAio<F> {
    fn drop(&mut self) {
        self.queued.clear();
        for &index in &self.flying {
            // SAFETY: the block is that of a request in flight; what cannot be cancelled is awaited below.
            unsafe { libc::aio_cancel(self.raw(), &raw mut self.slots[index].block) };
        }
        if !drain(self, |queue| queue.flying.len()) {
            std::mem::forget(std::mem::take(&mut self.slots));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;
    use crate::buf::Pool;

    #[test]
    fn dropping_waits_for_the_requests_in_flight() {
        let file = tempfile::tempfile().unwrap();
        let content: Vec<u8> = (0..1 << 20).map(|index| (index % 251) as u8).collect();
        for _ in 0..20 {
            let mut pool = Pool::new(16, 1 << 16).unwrap();
            let mut queue = open(&file, 16).unwrap();
            for index in 0..16 {
                let mut buf = pool.take().unwrap();
                buf.place(0, 1 << 16);
                buf.data_mut().copy_from_slice(&content[index << 16..][..1 << 16]);
                let request = Request {
                    token: 0,
                    direction: Direction::Write,
                    offset: (index << 16) as u64,
                    buf,
                    from: 0,
                    most: 1 << 16,
                };
                queue.queue(request).unwrap();
            }
            queue.submit().unwrap();
            drop(queue);
            // Each request was executed whole or cancelled: no write follows.
            let mut found = vec![0; content.len()];
            let len = file.read_at(&mut found, 0).unwrap();
            for (index, (found, content)) in
                found[..len].chunks(1 << 16).zip(content.chunks(1 << 16)).enumerate()
            {
                assert!(found == content || found.iter().all(|byte| *byte == 0), "request {index}");
            }
            file.set_len(0).unwrap();
        }
    }

    #[test]
    fn an_offset_that_no_file_has_is_an_error_of_the_request() {
        let file = tempfile::tempfile().unwrap();
        let mut queue = open(&file, 1).unwrap();
        let mut buf = Pool::new(1, 4096).unwrap().take().unwrap();
        buf.place(u64::MAX - 10, 8);
        let request =
            Request { token: 7, direction: Direction::Read, offset: u64::MAX - 10, buf, from: 0, most: 8 };
        queue.queue(request).unwrap();
        let mut done = Vec::new();
        queue.reap(1, &mut done).unwrap();
        assert_eq!(done[0].request.token, 7);
        assert!(done[0].result.is_err());
    }
}
