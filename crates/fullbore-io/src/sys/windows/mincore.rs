//! Pages of a file in the page cache: the system does not tell.

use std::io;

use super::{BorrowedHandle, Code};

pub(crate) fn mincore(_: BorrowedHandle<'_>, _: u64, _: u64) -> io::Result<u64> {
    Err(Code::UNSUPPORTED.into())
}
