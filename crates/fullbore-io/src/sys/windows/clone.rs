//! Sharing of blocks between ranges of two files.

use std::os::windows::io::AsRawHandle;

use windows_sys::Win32::System::Ioctl::{DUPLICATE_EXTENTS_DATA, FSCTL_DUPLICATE_EXTENTS_TO_FILE};

use super::information::control;
use super::volume::{cluster, shares_blocks};
use super::{BorrowedHandle, Code, Result, handle_path, status, truncate};

/// Shares `len` bytes (0: all to the end) from `offset` of `source` with offset `target` of `file`, without a copy: on ReFS. The
/// system shares whole clusters, of which the last may end with both files, and the target must have them.
pub(crate) fn clone_range(
    source: BorrowedHandle<'_>,
    offset: u64,
    len: u64,
    file: BorrowedHandle<'_>,
    target: u64,
) -> Result<()> {
    // Asked first: the length of a mapped target could not be restored.
    if !shares_blocks(file)? {
        return Err(Code::UNSUPPORTED);
    }
    let end = status(source)?.size;
    let len = match len {
        0 => end.saturating_sub(offset),
        len => len,
    };
    let (before, after) = (status(file)?.size, target.saturating_add(len));
    let whole = if offset.saturating_add(len) == end && after >= before {
        len.next_multiple_of(cluster(&handle_path(&source))?.max(1))
    } else {
        len
    };
    if after > before {
        truncate(file, after)?;
    }
    let number = |value: u64| i64::try_from(value).map_err(|_| Code::INVALID);
    let request = DUPLICATE_EXTENTS_DATA {
        FileHandle: source.as_raw_handle(),
        SourceFileOffset: number(offset)?,
        TargetFileOffset: number(target)?,
        ByteCount: number(whole)?,
    };
    let outcome = control(&file, FSCTL_DUPLICATE_EXTENTS_TO_FILE, &request);
    if outcome.is_err() && after > before {
        truncate(file, before)?;
    }
    outcome.map_err(|error| match error {
        Code::INAPPROPRIATE | Code::INVALID | Code::NOT_IMPLEMENTED => Code::UNSUPPORTED,
        error => error,
    })
}
