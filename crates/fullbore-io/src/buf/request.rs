//! A request: one read or write of an owned buffer, until its completion.

use std::io;

use super::pool::Buf;

/// Direction of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the file into the buffer.
    Read,
    /// From the buffer into the file.
    Write,
}

/// One read or write, which owns its buffer until it is complete.
///
/// ```
/// use fullbore_io::buf::{Direction, Pool, Request};
/// let mut buf = Pool::new(1, 4096)?.take().expect("one of one");
/// buf.place(0, 100);
/// let request = Request { token: 1, direction: Direction::Write, offset: 0, buf, from: 40, most: 50 };
/// assert_eq!((request.len(), request.data().len()), (50, 50));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Request {
    /// Caller's token, returned on completion.
    pub token: u64,
    /// Direction of the transfer.
    pub direction: Direction,
    /// Position in the file of the first byte to transfer.
    pub offset: u64,
    /// Buffer of the data.
    pub buf: Buf,
    /// First byte of the data to transfer.
    pub from: usize,
    /// Maximum number of bytes to transfer.
    pub most: usize,
}

impl Request {
    /// Length of the transfer in bytes: 0 if it starts after the data.
    pub fn len(&self) -> usize {
        // The kernel receives this length, so it must not wrap.
        self.buf.len().saturating_sub(self.from).min(self.most)
    }

    /// True if there is nothing to transfer.
    pub fn is_empty(&self) -> bool {
        self.buf.len() <= self.from
    }

    /// The bytes to write.
    pub fn data(&self) -> &[u8] {
        &self.buf.data()[self.from.min(self.buf.len())..][..self.len()]
    }

    /// The memory to read into.
    pub fn data_mut(&mut self) -> &mut [u8] {
        let (from, len) = (self.from.min(self.buf.len()), self.len());
        &mut self.buf.data_mut()[from..][..len]
    }

    /// Address and length of the memory to transfer, for the kernel.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "for io_uring and native AIO"))]
    pub(crate) fn memory(&self) -> (*mut u8, u32) {
        // At most the data's length, so the address stays within the buffer. A length that exceeds `u32` becomes a
        // shorter transfer.
        let from = self.from.min(self.buf.len());
        (self.buf.pointer().wrapping_add(from), u32::try_from(self.len()).unwrap_or(u32::MAX))
    }
}

/// A completed request.
#[derive(Debug)]
pub struct Completion {
    /// The request, with its buffer.
    pub request: Request,
    /// Bytes moved, possibly fewer than requested, or the system's error.
    pub result: io::Result<usize>,
}
