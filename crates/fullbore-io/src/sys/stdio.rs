//! The C library's `FILE*`, with the library's own buffer.

use std::io;
use std::ptr::NonNull;

use c::{FILE, FROM_START, Offset, clearerr, close_duplicate_of, fclose, ferror};
use c::{fflush, fread, fwrite, seek_from, stream_of};

#[cfg(unix)]
use super::unix::Handle;
#[cfg(windows)]
use super::windows::Handle;
use crate::buf::Direction;

/// An open stream of the C library. Dropping it closes and so flushes it; [`flush`](Self::flush) before that returns the errors.
#[derive(Debug)]
pub(crate) struct Stream {
    file: NonNull<FILE>,
    /// The position and the last direction. Between a read and a write, C requires a call that sets the position.
    position: Option<(u64, Direction)>,
}

impl Stream {
    pub(crate) fn new(handle: Handle, write: bool) -> io::Result<Self> {
        Ok(Self { file: stream_of(handle, write)?, position: None })
    }

    fn seek(&mut self, offset: u64, direction: Direction) -> io::Result<()> {
        if self.position == Some((offset, direction)) {
            return Ok(());
        }
        self.position = None;
        let offset = Offset::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput)?;
        // SAFETY: the stream is open.
        match unsafe { seek_from(self.file.as_ptr(), offset, FROM_START) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Reads at `offset`; fewer bytes than requested mean the end of the file.
    pub(crate) fn read(&mut self, offset: u64, data: &mut [u8]) -> io::Result<usize> {
        self.seek(offset, Direction::Read)?;
        // SAFETY: the stream is open, and at most `data.len()` bytes are written to `data`.
        let count = unsafe { fread(data.as_mut_ptr().cast(), 1, data.len(), self.file.as_ptr()) };
        self.position = Some((offset + count as u64, Direction::Read));
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
        self.seek(offset, Direction::Write)?;
        // SAFETY: the stream is open and `data` is readable for its length.
        let count = unsafe { fwrite(data.as_ptr().cast(), 1, data.len(), self.file.as_ptr()) };
        self.position = Some((offset + count as u64, Direction::Write));
        if count < data.len() {
            let error = io::Error::last_os_error();
            // SAFETY: the stream is open.
            unsafe { clearerr(self.file.as_ptr()) };
            self.position = None;
            return Err(error);
        }
        Ok(count)
    }

    /// Writes out the library's buffer, and returns the errors that the file system reports at closing.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        // SAFETY: the stream is open.
        if unsafe { fflush(self.file.as_ptr()) } == 0 {
            // SAFETY: as above.
            Ok(unsafe { close_duplicate_of(self.file.as_ptr()) }?)
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: the stream is open and not used afterwards.
        unsafe { fclose(self.file.as_ptr()) };
    }
}

#[cfg(unix)]
mod c {
    use std::io;
    use std::os::fd::IntoRawFd;
    use std::ptr::NonNull;

    use super::Handle;
    use crate::sys::code::Result;
    use crate::sys::unix::{BorrowedHandle, close_duplicate};

    pub(super) use libc::{FILE, SEEK_SET as FROM_START, off_t as Offset};
    pub(super) use libc::{clearerr, fclose, ferror, fflush, fread, fseeko as seek_from, fwrite};

    pub(super) fn stream_of(fd: Handle, write: bool) -> io::Result<NonNull<FILE>> {
        let mode = if write { c"r+" } else { c"r" };
        let raw = fd.into_raw_fd();
        // SAFETY: the descriptor is open and given away; the mode is a C string.
        NonNull::new(unsafe { libc::fdopen(raw, mode.as_ptr()) }).ok_or_else(|| {
            let error = io::Error::last_os_error();
            // SAFETY: fdopen failed, so the descriptor is still ours to close.
            unsafe { libc::close(raw) };
            error
        })
    }

    /// # Safety
    /// The stream is open.
    pub(super) unsafe fn close_duplicate_of(file: *mut FILE) -> Result<()> {
        // SAFETY: the stream has a descriptor, open as long as itself.
        close_duplicate(unsafe { BorrowedHandle::borrow_raw(libc::fileno(file)) })
    }
}

#[cfg(windows)]
mod c {
    use std::ffi::{c_char, c_int, c_void};
    use std::io;
    use std::os::windows::io::{AsRawHandle, IntoRawHandle};
    use std::ptr::NonNull;
    use std::sync::Once;

    use super::Handle;
    use crate::sys::code::{Code, Result};

    /// A stream, whose content is private to the library.
    #[allow(clippy::upper_case_acronyms, reason = "the name in C")]
    pub(super) type FILE = c_void;

    pub(super) type Offset = i64;

    unsafe extern "C" {
        fn _open_osfhandle(handle: isize, flags: c_int) -> c_int;
        fn _close(descriptor: c_int) -> c_int;
        fn _fdopen(descriptor: c_int, mode: *const c_char) -> *mut FILE;
        fn _setmaxstdio(most: c_int) -> c_int;
        #[link_name = "_fseeki64"]
        pub(super) fn seek_from(file: *mut FILE, offset: Offset, origin: c_int) -> c_int;
        pub(super) fn fread(data: *mut c_void, size: usize, count: usize, file: *mut FILE) -> usize;
        pub(super) fn fwrite(data: *const c_void, size: usize, count: usize, file: *mut FILE) -> usize;
        pub(super) fn fflush(file: *mut FILE) -> c_int;
        pub(super) fn fclose(file: *mut FILE) -> c_int;
        pub(super) fn ferror(file: *mut FILE) -> c_int;
        pub(super) fn clearerr(file: *mut FILE);
    }

    /// `_O_BINARY` of `fcntl.h`.
    const BINARY: c_int = 0x8000;

    /// `SEEK_SET` of `stdio.h`.
    pub(super) const FROM_START: c_int = 0;

    /// No file system reports errors only at closing.
    pub(super) unsafe fn close_duplicate_of(_: *mut FILE) -> Result<()> {
        Ok(())
    }

    pub(super) fn stream_of(handle: Handle, write: bool) -> io::Result<NonNull<FILE>> {
        /// The most open streams that every version of the library supports; the default is a quarter of it.
        const MOST: c_int = 2048;
        static LIMIT: Once = Once::new();
        // SAFETY: a call with a number.
        LIMIT.call_once(|| _ = unsafe { _setmaxstdio(MOST) });
        let mode = if write { c"r+b" } else { c"rb" };
        // SAFETY: the handle is open, and given away if the call succeeds.
        let descriptor = unsafe { _open_osfhandle(handle.as_raw_handle() as isize, BINARY) };
        // The library reports a failure in `errno` only. These calls fail for lack of descriptors or streams.
        if descriptor < 0 {
            return Err(Code::TOO_MANY_OPEN.into());
        }
        let _ = handle.into_raw_handle();
        // SAFETY: the descriptor is open and given away; the mode is a C string.
        NonNull::new(unsafe { _fdopen(descriptor, mode.as_ptr()) }).ok_or_else(|| {
            // SAFETY: the call failed, so the descriptor is still ours to close.
            unsafe { _close(descriptor) };
            Code::TOO_MANY_OPEN.into()
        })
    }
}
