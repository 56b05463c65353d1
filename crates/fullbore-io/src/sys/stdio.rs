//! The C library's `FILE*`, with the library's own buffer.

use std::io;
use std::ptr::NonNull;

use super::Handle;
use super::c::{FILE, clearerr, fclose, ferror, fflush, fread, fwrite, seek_to, stream_of};

/// An open stream of the C library. Dropping it closes and therefore flushes it; call [`flush`](Self::flush) before
/// that to get errors.
#[derive(Debug)]
pub(crate) struct Stream {
    file: NonNull<FILE>,
    position: Option<u64>,
}

impl Stream {
    /// Creates a stream of a handle, for reading or also for writing.
    pub(crate) fn new(handle: Handle, write: bool) -> io::Result<Self> {
        Ok(Self { file: stream_of(handle, write)?, position: None })
    }

    fn seek(&mut self, offset: u64) -> io::Result<()> {
        if self.position == Some(offset) {
            return Ok(());
        }
        self.position = None;
        // SAFETY: the stream is open.
        unsafe { seek_to(self.file, offset) }?;
        self.position = Some(offset);
        Ok(())
    }

    /// Reads at `offset`; fewer bytes than requested mean the end of the file.
    pub(crate) fn read(&mut self, offset: u64, data: &mut [u8]) -> io::Result<usize> {
        self.seek(offset)?;
        // SAFETY: the stream is open, and at most `data.len()` bytes are written to `data`.
        let count = unsafe { fread(data.as_mut_ptr().cast(), 1, data.len(), self.file.as_ptr()) };
        self.position = Some(offset + count as u64);
        if count < data.len() {
            let error = io::Error::last_os_error();
            // SAFETY: the stream is open.
            let failed = unsafe { ferror(self.file.as_ptr()) } != 0;
            // SAFETY: the stream is open. In a growing file the end reported now may soon be outdated.
            unsafe { clearerr(self.file.as_ptr()) };
            self.position = None;
            if failed {
                return Err(error);
            }
        }
        Ok(count)
    }

    /// Writes at `offset`, first into the library's buffer.
    pub(crate) fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<usize> {
        self.seek(offset)?;
        // SAFETY: the stream is open and `data` is readable for its length.
        let count = unsafe { fwrite(data.as_ptr().cast(), 1, data.len(), self.file.as_ptr()) };
        self.position = Some(offset + count as u64);
        if count < data.len() {
            let error = io::Error::last_os_error();
            // SAFETY: the stream is open.
            unsafe { clearerr(self.file.as_ptr()) };
            self.position = None;
            return Err(error);
        }
        Ok(count)
    }

    /// Passes buffered writes to the system.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        // SAFETY: the stream is open.
        if unsafe { fflush(self.file.as_ptr()) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: the stream is open and not used afterwards.
        unsafe { fclose(self.file.as_ptr()) };
    }
}
