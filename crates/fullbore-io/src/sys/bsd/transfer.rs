//! Scatter/gather transfers at an offset, for memory that need not be initialised.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::super::{Code, TransferFlags};
use crate::buf::{Direction, Loan};

/// Moves the selected memory of `loan` by one system call; without an offset at the file's own position. No flag is
/// supported.
pub(crate) fn once(
    loan: &mut Loan,
    fd: BorrowedFd<'_>,
    offset: Option<u64>,
    flags: TransferFlags,
) -> io::Result<usize> {
    if !flags.is_empty() {
        return Err(Code::UNSUPPORTED.into());
    }
    let (first, count) = (loan.pieces().as_ptr(), loan.pieces().len() as libc::c_int);
    let fd = fd.as_raw_fd();
    let offset = offset.map(libc::off_t::try_from).transpose().map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: the loan, which is borrowed mutably, owns the buffer that the pieces belong to; the bytes to write are
    // initialised.
    let moved = unsafe {
        match (loan.direction(), offset) {
            (Direction::Read, Some(offset)) => libc::preadv(fd, first, count, offset),
            (Direction::Write, Some(offset)) => libc::pwritev(fd, first, count, offset),
            (Direction::Read, None) => libc::readv(fd, first, count),
            (Direction::Write, None) => libc::writev(fd, first, count),
        }
    };
    let moved = usize::try_from(moved).map_err(|_| io::Error::last_os_error())?;
    // SAFETY: the call moved that many bytes from the start of the pieces.
    unsafe { loan.advance(moved) };
    Ok(moved)
}
