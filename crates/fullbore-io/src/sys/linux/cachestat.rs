//! Pages of a file in the page cache: `cachestat(2)`.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

use super::super::CachedPages;

/// The call's number: one for all architectures since the tables were unified (MIPS, which adds an offset, returns
/// `ENOSYS`, and `mincore(2)` is used).
const CACHESTAT: libc::c_long = 451;

#[repr(C)]
struct CachestatRange {
    offset: u64,
    length: u64,
}

/// Calls `cachestat(2)` for `length` bytes from `offset` (0: to the end of the file).
pub(crate) fn cachestat(fd: BorrowedFd<'_>, offset: u64, length: u64) -> io::Result<CachedPages> {
    let range = CachestatRange { offset, length };
    let mut pages = CachedPages::default();
    // SAFETY: both pointers are to live structs of the documented layout; the call writes only `pages`.
    let result = unsafe {
        libc::syscall(CACHESTAT, fd.as_raw_fd(), ptr::from_ref(&range), ptr::from_mut(&mut pages), 0u32)
    };
    if result == 0 { Ok(pages) } else { Err(io::Error::last_os_error()) }
}
