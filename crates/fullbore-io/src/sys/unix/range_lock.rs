//! Locks on ranges of bytes that belong to an open file, not to a process: `F_OFD_SETLK` and `F_OFD_SETLKW` (`man 2
//! fcntl_locking`).

use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::super::LockRequest;

/// Builds a `struct flock` for a range that is not empty; an end above every offset means any later length.
fn lock(range: &Range<u64>, request: LockRequest) -> io::Result<libc::flock> {
    let start = i64::try_from(range.start).map_err(|_| io::ErrorKind::InvalidInput)?;
    // Zero means "to the end of the file, wherever it moves".
    let len = i64::try_from(range.end).map_or(0, |end| end - start);
    let kind = match request {
        LockRequest::Shared => libc::F_RDLCK,
        LockRequest::Exclusive => libc::F_WRLCK,
        LockRequest::None => libc::F_UNLCK,
    };
    // SAFETY: a structure of numbers, for which zeros are valid; the process number must be zero.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock.l_start = start;
    lock.l_len = len;
    Ok(lock)
}

fn call(fd: BorrowedFd<'_>, command: libc::c_int, lock: &mut libc::flock) -> io::Result<()> {
    loop {
        // SAFETY: the command takes a pointer to this structure, which lives through the call, and the descriptor is
        // open as long as it is borrowed.
        if unsafe { libc::fcntl(fd.as_raw_fd(), command, std::ptr::from_mut(lock)) } == 0 {
            return Ok(());
        }
        match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => {}
            error => return Err(error),
        }
    }
}

/// Sets, changes or releases the lock of a range; waits for conflicting locks.
pub(crate) fn set(fd: BorrowedFd<'_>, range: &Range<u64>, request: LockRequest) -> io::Result<()> {
    call(fd, libc::F_OFD_SETLKW, &mut lock(range, request)?)
}

/// Like [`set`] without waiting; returns true on success.
pub(crate) fn try_set(fd: BorrowedFd<'_>, range: &Range<u64>, request: LockRequest) -> io::Result<bool> {
    match call(fd, libc::F_OFD_SETLK, &mut lock(range, request)?) {
        Ok(()) => Ok(true),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(false),
        Err(error) => Err(error),
    }
}
