//! Pages of a file in the page cache: no call shows them.

use std::io;

use super::BorrowedHandle;

pub(crate) fn mincore(_: BorrowedHandle<'_>, _: u64, _: u64) -> io::Result<u64> {
    let what = "no call of this system shows which pages of a file are cached";
    Err(io::Error::new(io::ErrorKind::Unsupported, what))
}
