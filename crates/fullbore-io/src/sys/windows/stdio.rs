//! The C library's `FILE*`, with the library's own buffer.

use std::ffi::{c_char, c_int, c_void};
use std::io;
use std::os::windows::io::IntoRawHandle;
use std::ptr::NonNull;

use super::Handle;

unsafe extern "C" {
    fn _open_osfhandle(handle: isize, flags: c_int) -> c_int;
    fn _close(descriptor: c_int) -> c_int;
    fn _fdopen(descriptor: c_int, mode: *const c_char) -> *mut c_void;
    fn _fseeki64(file: *mut c_void, offset: i64, origin: c_int) -> c_int;
    fn fread(data: *mut c_void, size: usize, count: usize, file: *mut c_void) -> usize;
    fn fwrite(data: *const c_void, size: usize, count: usize, file: *mut c_void) -> usize;
    fn fflush(file: *mut c_void) -> c_int;
    fn fclose(file: *mut c_void) -> c_int;
    fn ferror(file: *mut c_void) -> c_int;
    fn clearerr(file: *mut c_void);
}

/// `_O_BINARY` of `fcntl.h`.
const BINARY: c_int = 0x8000;

/// `SEEK_SET` of `stdio.h`.
const FROM_START: c_int = 0;

/// An open stream of the C library. Dropping it closes and therefore flushes it; call [`flush`](Self::flush) before
/// that to get errors.
#[derive(Debug)]
pub(crate) struct Stream {
    file: NonNull<c_void>,
    position: Option<u64>,
}

impl Stream {
    /// Creates a stream of a handle, for reading or also for writing.
    pub(crate) fn new(handle: Handle, write: bool) -> io::Result<Self> {
        let mode = if write { c"r+b" } else { c"rb" };
        // SAFETY: the handle is open and given away.
        let descriptor = unsafe { _open_osfhandle(handle.into_raw_handle() as isize, BINARY) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is open and given away; the mode is a string of C.
        match NonNull::new(unsafe { _fdopen(descriptor, mode.as_ptr()) }) {
            Some(file) => Ok(Self { file, position: None }),
            None => {
                let error = io::Error::last_os_error();
                // SAFETY: the call failed, so the descriptor is still ours to close.
                unsafe { _close(descriptor) };
                Err(error)
            }
        }
    }

    fn seek(&mut self, offset: u64) -> io::Result<()> {
        if self.position == Some(offset) {
            return Ok(());
        }
        let target = i64::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput)?;
        // SAFETY: the stream is open.
        if unsafe { _fseeki64(self.file.as_ptr(), target, FROM_START) } != 0 {
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
