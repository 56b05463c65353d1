//! Scattered and gathered transfers at an offset, of memory that need not be initialised.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::io::ReadWriteFlags;

fn result(code: isize) -> io::Result<usize> {
    usize::try_from(code).map_err(|_| io::Error::last_os_error())
}

/// One `preadv2` with flags, or `readv` where there is no offset.
///
/// # Safety
/// The pieces are valid for writing and nobody else's.
pub(crate) unsafe fn read(
    fd: BorrowedFd<'_>,
    pieces: &[libc::iovec],
    offset: Option<u64>,
    flags: ReadWriteFlags,
) -> io::Result<usize> {
    let (fd, count) = (fd.as_raw_fd(), pieces.len() as libc::c_int);
    let flags = flags.bits() as libc::c_int;
    // SAFETY: promised by the caller.
    result(unsafe {
        match offset {
            Some(offset) => libc::preadv2(fd, pieces.as_ptr(), count, offset as libc::off_t, flags),
            None => libc::readv(fd, pieces.as_ptr(), count),
        }
    })
}

/// One `pwritev2` with flags, or `writev` where there is no offset.
///
/// # Safety
/// The pieces are valid for reading and nobody writes to them.
pub(crate) unsafe fn write(
    fd: BorrowedFd<'_>,
    pieces: &[libc::iovec],
    offset: Option<u64>,
    flags: ReadWriteFlags,
) -> io::Result<usize> {
    let (fd, count) = (fd.as_raw_fd(), pieces.len() as libc::c_int);
    let flags = flags.bits() as libc::c_int;
    // SAFETY: promised by the caller.
    result(unsafe {
        match offset {
            Some(offset) => libc::pwritev2(fd, pieces.as_ptr(), count, offset as libc::off_t, flags),
            None => libc::writev(fd, pieces.as_ptr(), count),
        }
    })
}
