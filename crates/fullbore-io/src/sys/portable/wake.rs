//! A pipe that wakes a thread which waits for files.

use crate::sys::{self, AsHandle, BorrowedHandle, Handle, Result, pipe_nonblocking};

/// Wakes a thread that waits for files.
#[derive(Debug)]
pub(crate) struct Wake {
    reader: Handle,
    writer: Handle,
}

impl Wake {
    pub(crate) fn new() -> Result<Self> {
        let (reader, writer) = pipe_nonblocking()?;
        Ok(Self { reader, writer })
    }

    /// The file to wait for: it is ready for reading after [`wake`](Self::wake).
    pub(crate) fn file(&self) -> BorrowedHandle<'_> {
        self.reader.as_handle()
    }

    /// Wakes the thread, or the next that waits. A full pipe has woken it already.
    pub(crate) fn wake(&self) {
        let _ = sys::write(&self.writer, &[1]);
    }

    /// Withdraws all calls so far.
    pub(crate) fn clear(&self) {
        let mut bytes = [0; 64];
        while sys::read(&self.reader, &mut bytes) == Ok(bytes.len()) {}
    }
}
