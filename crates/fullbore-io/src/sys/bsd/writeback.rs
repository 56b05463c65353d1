//! Writeback of a range of a file: these systems write back whole files only.

use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;

use super::super::Code;

/// Writeback cannot be started without waiting.
pub(crate) fn start(_: BorrowedFd<'_>, _: Range<u64>) -> io::Result<()> {
    Err(Code::UNSUPPORTED.into())
}

/// Writes the dirty pages of the file and waits until they are clean.
pub(crate) fn finish(fd: BorrowedFd<'_>, _: Range<u64>) -> io::Result<()> {
    Ok(rustix::fs::fsync(fd)?)
}
