//! Scattered and gathered transfers at an offset, and closing with the error told.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, IntoRawFd};

fn result(code: isize) -> io::Result<usize> {
    usize::try_from(code).map_err(|_| io::Error::last_os_error())
}

/// One `preadv2`, or `readv` where there is no offset. `no_wait`: fails with `EAGAIN` instead of waiting for a device.
///
/// # Safety
/// The pieces are valid for writing and nobody else's.
pub(crate) unsafe fn read(
    fd: BorrowedFd<'_>,
    pieces: &[libc::iovec],
    offset: Option<u64>,
    no_wait: bool,
) -> io::Result<usize> {
    let (fd, count) = (fd.as_raw_fd(), pieces.len() as libc::c_int);
    let flags = if no_wait { libc::RWF_NOWAIT } else { 0 };
    // SAFETY: promised by the caller.
    result(unsafe {
        match offset {
            Some(offset) => libc::preadv2(fd, pieces.as_ptr(), count, offset as libc::off_t, flags),
            None => libc::readv(fd, pieces.as_ptr(), count),
        }
    })
}

/// One `pwritev`, or `writev` where there is no offset.
///
/// # Safety
/// The pieces are valid for reading and nobody writes to them.
pub(crate) unsafe fn write(
    fd: BorrowedFd<'_>,
    pieces: &[libc::iovec],
    offset: Option<u64>,
) -> io::Result<usize> {
    let (fd, count) = (fd.as_raw_fd(), pieces.len() as libc::c_int);
    // SAFETY: promised by the caller.
    result(unsafe {
        match offset {
            Some(offset) => libc::pwritev(fd, pieces.as_ptr(), count, offset as libc::off_t),
            None => libc::writev(fd, pieces.as_ptr(), count),
        }
    })
}

/// Tells the errors that a close would: every `close(2)` of a descriptor flushes the file, so a duplicate is closed.
pub(crate) fn flush_by_close(fd: BorrowedFd<'_>) -> io::Result<()> {
    let fd = rustix::io::fcntl_dupfd_cloexec(fd, 0)?.into_raw_fd();
    // SAFETY: the duplicate is ours alone, and Linux frees it whatever the result.
    match result(unsafe { libc::close(fd) } as isize) {
        Err(error) if error.raw_os_error() != Some(libc::EINTR) => Err(error),
        _ => Ok(()),
    }
}
