//! APFS clones whole files to new names only, and FreeBSD shares blocks by `copy_file_range` alone.

use std::os::fd::BorrowedFd;

use super::super::{Code, Result};

pub(crate) fn clone_range(_: BorrowedFd<'_>, _: u64, _: u64, _: BorrowedFd<'_>, _: u64) -> Result<()> {
    Err(Code::UNSUPPORTED)
}
