//! Starting and awaiting the writeback of a range of a file: `sync_file_range(2)`.

use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Starts writing the dirty pages of a range without waiting.
pub(crate) fn start(fd: BorrowedFd<'_>, range: Range<u64>) -> io::Result<()> {
    call(fd, range, libc::SYNC_FILE_RANGE_WRITE)
}

/// Writes the dirty pages of a range and waits until they are clean. The file's length, its blocks and the device's
/// cache are not durable then: this is for dropping pages, not for safety.
pub(crate) fn finish(fd: BorrowedFd<'_>, range: Range<u64>) -> io::Result<()> {
    let flags =
        libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    call(fd, range, flags)
}

fn call(fd: BorrowedFd<'_>, range: Range<u64>, flags: libc::c_uint) -> io::Result<()> {
    let too_large = |_| io::Error::from(io::ErrorKind::InvalidInput);
    let start = i64::try_from(range.start).map_err(too_large)?;
    let len = i64::try_from(range.end.saturating_sub(range.start)).map_err(too_large)?;
    // SAFETY: a system call with numbers on a descriptor that is open as long as it is borrowed.
    match unsafe { libc::sync_file_range(fd.as_raw_fd(), start, len, flags) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
