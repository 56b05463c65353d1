//! A request: one read or write of an owned buffer, on its way to the system and back.

use std::io;

use super::Buf;

/// Which way the bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the file into the buffer.
    Read,
    /// From the buffer into the file.
    Write,
}

/// One read or write, which owns its buffer until it is complete.
#[derive(Debug)]
pub struct Request {
    /// The caller's name for it.
    pub token: u64,
    /// Which way.
    pub direction: Direction,
    /// Where in the file the transfer starts, in bytes.
    pub offset: u64,
    /// The data's place.
    pub buf: Buf,
    /// The transfer covers the data from this byte of it on.
    pub from: usize,
    /// The most bytes that this transfer may ask for.
    pub most: usize,
}

impl Request {
    /// How many bytes the transfer covers.
    pub fn len(&self) -> usize {
        (self.buf.len() - self.from).min(self.most)
    }

    /// Whether there is nothing to transfer.
    pub fn is_empty(&self) -> bool {
        self.buf.len() == self.from
    }

    /// The bytes to write.
    pub fn data(&self) -> &[u8] {
        &self.buf.data()[self.from..self.from + self.len()]
    }

    /// The room to read into.
    pub fn data_mut(&mut self) -> &mut [u8] {
        let (from, len) = (self.from, self.len());
        &mut self.buf.data_mut()[from..from + len]
    }

    /// The memory to transfer, for the kernel: start and length.
    pub(crate) fn memory(&self) -> (*mut u8, u32) {
        // `from` is at most the data's length, so the address stays within the buffer.
        (self.buf.pointer().wrapping_add(self.from), self.len() as u32)
    }
}

/// A request that came back.
#[derive(Debug)]
pub struct Completion {
    /// The request, with its buffer.
    pub request: Request,
    /// Bytes moved, which may be fewer than asked, or the system's error.
    pub result: io::Result<usize>,
}
