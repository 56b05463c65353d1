//! Sharing of blocks between ranges of two files.

use std::os::windows::io::AsRawHandle;

use windows_sys::Win32::System::Ioctl::{DUPLICATE_EXTENTS_DATA, FSCTL_DUPLICATE_EXTENTS_TO_FILE};

use super::information::control;
use super::{BorrowedHandle, Code, Result, status};

/// Shares `len` bytes (0: all to the end) from `offset` of `source` with offset `target` of `file`, without a copy: on ReFS.
pub(crate) fn clone_range(
    source: BorrowedHandle<'_>,
    offset: u64,
    len: u64,
    file: BorrowedHandle<'_>,
    target: u64,
) -> Result<()> {
    let len = match len {
        0 => status(source)?.size.saturating_sub(offset),
        len => len,
    };
    let number = |value: u64| i64::try_from(value).map_err(|_| Code::INVALID);
    let request = DUPLICATE_EXTENTS_DATA {
        FileHandle: source.as_raw_handle(),
        SourceFileOffset: number(offset)?,
        TargetFileOffset: number(target)?,
        ByteCount: number(len)?,
    };
    let outcome = control(&file, FSCTL_DUPLICATE_EXTENTS_TO_FILE, &request);
    outcome.map_err(|error| match error {
        Code::INAPPROPRIATE | Code::INVALID | Code::NOT_IMPLEMENTED => Code::UNSUPPORTED,
        error => error,
    })
}
