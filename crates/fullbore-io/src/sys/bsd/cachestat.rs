//! These systems have no `cachestat`: `mincore(2)` serves instead.

use std::io;
use std::os::fd::BorrowedFd;

use super::super::CachedPages;

pub(crate) fn cachestat(_: BorrowedFd<'_>, _: u64, _: u64) -> io::Result<CachedPages> {
    Err(super::super::Code::NOT_IMPLEMENTED.into())
}
