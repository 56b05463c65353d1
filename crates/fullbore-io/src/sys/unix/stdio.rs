//! The C library's `FILE*`: `fdopen`, `fseeko`, `fread`, `fwrite`, `fflush`, with the library's own buffer.

use std::ffi::CStr;
use std::io;
use std::os::fd::{IntoRawFd, OwnedFd};
use std::ptr::NonNull;

/// An open stream of the C library. Dropping it closes and therefore flushes it; call [`flush`](Self::flush) before
/// that to get errors.
#[derive(Debug)]
pub(crate) struct Stream {
    file: NonNull<libc::FILE>,
    position: Option<u64>,
}

impl Stream {
    /// Creates a stream of `fd`, for reading or also for writing.
    pub(crate) fn new(fd: OwnedFd, write: bool) -> io::Result<Self> {
        let mode: &CStr = if write { c"r+" } else { c"r" };
        let raw = fd.into_raw_fd();
        // SAFETY: the descriptor is open and given away; the mode is a C string.
        match NonNull::new(unsafe { libc::fdopen(raw, mode.as_ptr()) }) {
            Some(file) => Ok(Self { file, position: None }),
            None => {
                let error = io::Error::last_os_error();
                // SAFETY: fdopen failed, so the descriptor is still ours to close.
                unsafe { libc::close(raw) };
                Err(error)
            }
        }
    }

    fn seek(&mut self, offset: u64) -> io::Result<()> {
        if self.position == Some(offset) {
            return Ok(());
        }
        let target = libc::off_t::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput)?;
        // SAFETY: the stream is open.
        if unsafe { libc::fseeko(self.file.as_ptr(), target, libc::SEEK_SET) } != 0 {
            self.position = None;
            return Err(io::Error::last_os_error());
        }
        self.position = Some(offset);
        Ok(())
    }

    /// Reads at `offset`; fewer bytes than requested mean the end of the file.
    pub(crate) fn read(&mut self, offset: u64, data: &mut [u8]) -> io::Result<usize> {
        self.seek(offset)?;
        // SAFETY: the stream is open, and at most `data.len()` bytes are written to `data`.
        let count = unsafe { libc::fread(data.as_mut_ptr().cast(), 1, data.len(), self.file.as_ptr()) };
        self.position = Some(offset + count as u64);
        if count < data.len() {
            let error = io::Error::last_os_error();
            // SAFETY: the stream is open.
            let failed = unsafe { libc::ferror(self.file.as_ptr()) } != 0;
            // SAFETY: the stream is open. In a growing file the end reported now may soon be outdated.
            unsafe { libc::clearerr(self.file.as_ptr()) };
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
        let count = unsafe { libc::fwrite(data.as_ptr().cast(), 1, data.len(), self.file.as_ptr()) };
        self.position = Some(offset + count as u64);
        if count < data.len() {
            let error = io::Error::last_os_error();
            // SAFETY: the stream is open.
            unsafe { libc::clearerr(self.file.as_ptr()) };
            self.position = None;
            return Err(error);
        }
        Ok(count)
    }

    /// Passes buffered writes to the system.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        // SAFETY: the stream is open.
        if unsafe { libc::fflush(self.file.as_ptr()) } == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: the stream is open and not used afterwards.
        unsafe { libc::fclose(self.file.as_ptr()) };
    }
}
