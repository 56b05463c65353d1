//! Sharing of blocks between ranges of two files.

use std::os::windows::io::AsRawHandle;

use windows_sys::Win32::System::IO::DeviceIoControl;
use windows_sys::Win32::System::Ioctl::{DUPLICATE_EXTENTS_DATA, FSCTL_DUPLICATE_EXTENTS_TO_FILE};

use super::code::check;
use super::handle::raw;
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
    let mut returned = 0;
    // SAFETY: the call reads the structure, which lives through it, and writes the number alone.
    let outcome = check(unsafe {
        DeviceIoControl(
            raw(&file) as _,
            FSCTL_DUPLICATE_EXTENTS_TO_FILE,
            std::ptr::from_ref(&request).cast(),
            size_of::<DUPLICATE_EXTENTS_DATA>() as u32,
            std::ptr::null_mut(),
            0,
            &raw mut returned,
            std::ptr::null_mut(),
        )
    });
    outcome.map_err(|error| match error {
        Code::INAPPROPRIATE | Code::INVALID | Code::NOT_IMPLEMENTED => Code::UNSUPPORTED,
        error => error,
    })
}
