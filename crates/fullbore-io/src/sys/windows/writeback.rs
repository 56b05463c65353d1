//! Writeback of a range of a file: the system writes back whole files only.

use std::io;
use std::ops::Range;

use super::{BorrowedHandle, Code, files};

/// Writeback cannot be started without waiting.
pub(crate) fn start(_: BorrowedHandle<'_>, _: Range<u64>) -> io::Result<()> {
    Err(Code::UNSUPPORTED.into())
}

/// Writes the dirty pages of the file and waits until they are clean.
pub(crate) fn finish(file: BorrowedHandle<'_>, _: Range<u64>) -> io::Result<()> {
    Ok(files::write_out(file)?)
}
