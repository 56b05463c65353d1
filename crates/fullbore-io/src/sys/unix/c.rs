//! The streams of the C library.

use std::ffi::CStr;
use std::io;
use std::os::fd::{IntoRawFd, OwnedFd};
use std::ptr::NonNull;

pub(in crate::sys) use libc::{FILE, clearerr, fclose, ferror, fflush, fread, fwrite};

/// Opens a stream of a descriptor, for reading or also for writing.
pub(in crate::sys) fn stream_of(fd: OwnedFd, write: bool) -> io::Result<NonNull<FILE>> {
    let mode: &CStr = if write { c"r+" } else { c"r" };
    let raw = fd.into_raw_fd();
    // SAFETY: the descriptor is open and given away; the mode is a C string.
    NonNull::new(unsafe { libc::fdopen(raw, mode.as_ptr()) }).ok_or_else(|| {
        let error = io::Error::last_os_error();
        // SAFETY: fdopen failed, so the descriptor is still ours to close.
        unsafe { libc::close(raw) };
        error
    })
}

/// Moves a stream to an offset.
///
/// # Safety
/// The stream is open.
pub(in crate::sys) unsafe fn seek_to(file: NonNull<FILE>, offset: u64) -> io::Result<()> {
    let offset = libc::off_t::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: guaranteed by the caller.
    match unsafe { libc::fseeko(file.as_ptr(), offset, libc::SEEK_SET) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
