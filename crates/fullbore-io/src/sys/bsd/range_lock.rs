//! FreeBSD has locks on ranges only for processes: another part of the program that closes the file releases them.

use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;

use super::super::{Code, LockRequest};

pub(crate) fn set(_: BorrowedFd<'_>, _: &Range<u64>, _: LockRequest) -> io::Result<()> {
    Err(Code::UNSUPPORTED.into())
}

pub(crate) fn try_set(_: BorrowedFd<'_>, _: &Range<u64>, _: LockRequest) -> io::Result<bool> {
    Err(Code::UNSUPPORTED.into())
}
