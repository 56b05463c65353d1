//! Scatter/gather transfers at an offset, for memory that need not be initialised.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use crate::buf::{Direction, Loan};
use crate::sys::TransferFlags;

/// Moves the selected memory of `loan` by one `preadv2` or `pwritev2`; without an offset at the file's own position.
pub(crate) fn once(
    loan: &mut Loan,
    fd: BorrowedFd<'_>,
    offset: Option<u64>,
    flags: TransferFlags,
) -> io::Result<usize> {
    let (first, count) = (loan.pieces().as_ptr(), loan.pieces().len() as libc::c_int);
    let (fd, flags) = (fd.as_raw_fd(), flags.bits() as libc::c_int);
    let offset = offset.map_or(-1, |offset| offset as libc::off_t);
    // SAFETY: the loan, which is borrowed mutably, owns the buffer that the pieces belong to; the bytes to write are
    // initialised.
    let moved = unsafe {
        match loan.direction() {
            Direction::Read => libc::preadv2(fd, first, count, offset, flags),
            Direction::Write => libc::pwritev2(fd, first, count, offset, flags),
        }
    };
    let moved = usize::try_from(moved).map_err(|_| io::Error::last_os_error())?;
    // SAFETY: the call moved that many bytes from the start of the pieces.
    unsafe { loan.advance(moved) };
    Ok(moved)
}
