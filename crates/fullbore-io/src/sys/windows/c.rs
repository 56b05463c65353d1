//! The streams of the C library.

use std::ffi::{c_char, c_int, c_void};
use std::io;
use std::os::windows::io::IntoRawHandle;
use std::ptr::NonNull;

use super::Handle;

/// A stream, of which only the library knows the content.
#[allow(clippy::upper_case_acronyms, reason = "the name in C")]
pub(in crate::sys) type FILE = c_void;

unsafe extern "C" {
    fn _open_osfhandle(handle: isize, flags: c_int) -> c_int;
    fn _close(descriptor: c_int) -> c_int;
    fn _fdopen(descriptor: c_int, mode: *const c_char) -> *mut FILE;
    fn _fseeki64(file: *mut FILE, offset: i64, origin: c_int) -> c_int;
    pub(in crate::sys) fn fread(data: *mut c_void, size: usize, count: usize, file: *mut FILE) -> usize;
    pub(in crate::sys) fn fwrite(data: *const c_void, size: usize, count: usize, file: *mut FILE) -> usize;
    pub(in crate::sys) fn fflush(file: *mut FILE) -> c_int;
    pub(in crate::sys) fn fclose(file: *mut FILE) -> c_int;
    pub(in crate::sys) fn ferror(file: *mut FILE) -> c_int;
    pub(in crate::sys) fn clearerr(file: *mut FILE);
}

/// `_O_BINARY` of `fcntl.h`.
const BINARY: c_int = 0x8000;

/// `SEEK_SET` of `stdio.h`.
const FROM_START: c_int = 0;

/// Opens a stream of a handle, for reading or also for writing.
pub(in crate::sys) fn stream_of(handle: Handle, write: bool) -> io::Result<NonNull<FILE>> {
    let mode = if write { c"r+b" } else { c"rb" };
    // SAFETY: the handle is open and given away.
    let descriptor = unsafe { _open_osfhandle(handle.into_raw_handle() as isize, BINARY) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is open and given away; the mode is a string of C.
    NonNull::new(unsafe { _fdopen(descriptor, mode.as_ptr()) }).ok_or_else(|| {
        let error = io::Error::last_os_error();
        // SAFETY: the call failed, so the descriptor is still ours to close.
        unsafe { _close(descriptor) };
        error
    })
}

/// Moves a stream to an offset.
///
/// # Safety
/// The stream is open.
pub(in crate::sys) unsafe fn seek_to(file: NonNull<FILE>, offset: u64) -> io::Result<()> {
    let offset = i64::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: guaranteed by the caller.
    match unsafe { _fseeki64(file.as_ptr(), offset, FROM_START) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
