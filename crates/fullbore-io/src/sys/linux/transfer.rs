//! Scatter/gather transfers at an offset, for memory that need not be initialised.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::TransferFlags;
use crate::sys::IoVec;

use crate::buf::Direction;

/// Calls `preadv2` or `pwritev2` once with flags, or `readv` or `writev` if there is no offset.
///
/// # Safety
/// The pieces are valid and have no other user; for a read they are writable.
pub(crate) unsafe fn once(
    direction: Direction,
    fd: BorrowedFd<'_>,
    pieces: &[IoVec],
    offset: Option<u64>,
    flags: TransferFlags,
) -> io::Result<usize> {
    let (fd, first, count) = (fd.as_raw_fd(), pieces.as_ptr(), pieces.len() as libc::c_int);
    let flags = flags.bits() as libc::c_int;
    // SAFETY: guaranteed by the caller.
    let moved = unsafe {
        match (direction, offset.map(|offset| offset as libc::off_t)) {
            (Direction::Read, Some(offset)) => libc::preadv2(fd, first, count, offset, flags),
            (Direction::Read, None) => libc::readv(fd, first, count),
            (Direction::Write, Some(offset)) => libc::pwritev2(fd, first, count, offset, flags),
            (Direction::Write, None) => libc::writev(fd, first, count),
        }
    };
    usize::try_from(moved).map_err(|_| io::Error::last_os_error())
}
