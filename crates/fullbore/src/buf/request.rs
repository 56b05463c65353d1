//! A request: one read or write of an owned buffer, on its way to the system and back.

use std::io;

use super::Buf;

/// Which way the bytes go.
///
/// ```
/// use fullbore::buf::{Direction, Request};
/// fn changes_the_file(request: &Request) -> bool {
///     request.direction == Direction::Write
/// }
/// # let buf = fullbore::buf::Pool::new(1, 1)?.take().unwrap();
/// # let read = Request { token: 0, direction: Direction::Read, offset: 0, buf, from: 0, most: usize::MAX };
/// assert!(!changes_the_file(&read));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
/// use fullbore::buf::{Direction, Pool, Request};
/// let mut buf = Pool::new(1, 4096)?.take().unwrap();
/// buf.place(0, 100);
/// // The last 40 of the 100 bytes, which stand at offset 60.
/// let request = Request { token: 1, direction: Direction::Write, offset: 60, buf, from: 60, most: usize::MAX };
/// assert_eq!(request.data().len(), 40);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    /// How many bytes the transfer covers: none if it starts past the data.
    ///
    /// ```
    /// # use fullbore::buf::{Direction, Pool, Request};
    /// # let mut buf = Pool::new(1, 4096)?.take().unwrap();
    /// buf.place(0, 100);
    /// let mut request = Request { token: 0, direction: Direction::Read, offset: 0, buf, from: 30, most: usize::MAX };
    /// assert_eq!(request.len(), 70);
    /// request.most = 50;
    /// assert_eq!(request.len(), 50);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn len(&self) -> usize {
        // The kernel is given what this says, so it must not wrap.
        self.buf.len().saturating_sub(self.from).min(self.most)
    }

    /// Whether there is nothing to transfer.
    ///
    /// ```
    /// # use fullbore::buf::{Direction, Pool, Request};
    /// # let mut buf = Pool::new(1, 4096)?.take().unwrap();
    /// buf.place(0, 100);
    /// let mut request = Request { token: 0, direction: Direction::Read, offset: 0, buf, from: 99, most: usize::MAX };
    /// assert!(!request.is_empty());
    /// request.from = 100;
    /// assert!(request.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.buf.len() <= self.from
    }

    /// The bytes to write.
    ///
    /// ```
    /// # use fullbore::buf::{Direction, Pool, Request};
    /// # let mut buf = Pool::new(1, 4096)?.take().unwrap();
    /// buf.place(0, 5);
    /// buf.data_mut().copy_from_slice(b"bytes");
    /// let request = Request { token: 0, direction: Direction::Write, offset: 2, buf, from: 2, most: 2 };
    /// assert_eq!(request.data(), b"te");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn data(&self) -> &[u8] {
        &self.buf.data()[self.from.min(self.buf.len())..][..self.len()]
    }

    /// The room to read into.
    ///
    /// ```
    /// # use fullbore::buf::{Direction, Pool, Request};
    /// # let mut buf = Pool::new(1, 4096)?.take().unwrap();
    /// buf.place(0, 5);
    /// let mut request = Request { token: 0, direction: Direction::Read, offset: 2, buf, from: 2, most: usize::MAX };
    /// request.data_mut().copy_from_slice(b"tes");
    /// assert_eq!(request.buf.data(), b"\0\0tes");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn data_mut(&mut self) -> &mut [u8] {
        let (from, len) = (self.from.min(self.buf.len()), self.len());
        &mut self.buf.data_mut()[from..][..len]
    }

    /// The memory to transfer, for the kernel: start and length.
    pub(crate) fn memory(&self) -> (*mut u8, u32) {
        // At most the data's length, so the address stays within the buffer; a length that a call cannot have
        // is a shorter transfer.
        let from = self.from.min(self.buf.len());
        (self.buf.pointer().wrapping_add(from), u32::try_from(self.len()).unwrap_or(u32::MAX))
    }
}

/// A request that came back.
///
/// ```
/// use fullbore::buf::Completion;
/// /// The request again, for the bytes that the system left out.
/// fn rest(completion: Completion) -> std::io::Result<fullbore::buf::Request> {
///     let (mut request, moved) = (completion.request, completion.result?);
///     request.from += moved;
///     request.offset += moved as u64;
///     Ok(request)
/// }
/// # use fullbore::buf::{Direction, Pool, Request};
/// # let mut buf = Pool::new(1, 4096)?.take().unwrap();
/// # buf.place(0, 100);
/// # let request = Request { token: 0, direction: Direction::Read, offset: 0, buf, from: 0, most: usize::MAX };
/// assert_eq!(rest(Completion { request, result: Ok(60) })?.len(), 40);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Completion {
    /// The request, with its buffer.
    pub request: Request,
    /// Bytes moved, which may be fewer than asked, or the system's error.
    pub result: io::Result<usize>,
}
