//! Pipes. Transfers through them inside the kernel are Linux's.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::super::{Code, Result, Splice};

/// A new pipe: its reading and its writing end.
pub fn pipe() -> Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = rustix::pipe::pipe()?;
    // macOS has no call that does both: a child that another thread starts in between inherits the pipe.
    for end in [&reader, &writer] {
        rustix::io::fcntl_setfd(end, rustix::io::FdFlags::CLOEXEC)?;
    }
    Ok((reader, writer))
}

/// A new pipe whose ends do not wait.
pub fn pipe_nonblocking() -> Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = pipe()?;
    for end in [&reader, &writer] {
        rustix::fs::fcntl_setfl(end, rustix::fs::OFlags::NONBLOCK)?;
    }
    Ok((reader, writer))
}

/// The capacity of a pipe is unknown here.
pub fn pipe_capacity(_: impl AsFd) -> Result<usize> {
    Err(Code::UNSUPPORTED)
}

/// The capacity of a pipe cannot be set here.
pub fn set_pipe_capacity(_: impl AsFd, _: usize) -> Result<usize> {
    Err(Code::UNSUPPORTED)
}

/// Unsupported.
pub fn splice(
    _: impl AsFd,
    _: Option<&mut u64>,
    _: impl AsFd,
    _: Option<&mut u64>,
    _: usize,
    _: Splice,
) -> Result<usize> {
    Err(Code::UNSUPPORTED)
}

/// Unsupported.
pub fn tee(_: impl AsFd, _: impl AsFd, _: usize) -> Result<usize> {
    Err(Code::UNSUPPORTED)
}

/// Wakes a thread that waits for files.
#[derive(Debug)]
pub(crate) struct Wake {
    reader: OwnedFd,
    writer: OwnedFd,
}

impl Wake {
    pub(crate) fn new() -> Result<Self> {
        let (reader, writer) = pipe_nonblocking()?;
        Ok(Self { reader, writer })
    }

    /// The file to wait for: it is ready for reading after [`wake`](Self::wake).
    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }

    /// Wakes the thread, or the next that waits. A full pipe has woken it already.
    pub(crate) fn wake(&self) {
        let _ = super::super::write(&self.writer, &[1]);
    }

    /// Withdraws all calls so far.
    pub(crate) fn clear(&self) {
        let mut bytes = [0; 64];
        while super::super::read(&self.reader, &mut bytes) == Ok(bytes.len()) {}
    }
}
