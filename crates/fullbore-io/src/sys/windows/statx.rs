//! Status of a path or an open file, with the alignment for transfers that bypass the cache.

use std::io;
use std::path::Path;

use windows_sys::Wdk::Storage::FileSystem as nt;
use windows_sys::Win32::Storage::FileSystem as fs;

use super::super::{DirectAlignment, ExtendedStatus, FileKind, split_device};
use super::information::query;
use super::open::create;
use super::{AsHandle, BorrowedHandle, CURRENT_DIRECTORY, status};

/// Returns the status of a path; follows symbolic links.
pub(crate) fn of_path(path: &Path) -> io::Result<ExtendedStatus> {
    let access = fs::FILE_READ_ATTRIBUTES;
    of_file(create(&CURRENT_DIRECTORY, path.as_os_str(), access, 0, nt::FILE_OPEN, 0)?.as_handle())
}

/// Returns the status of an open file.
pub(crate) fn of_file(file: BorrowedHandle<'_>) -> io::Result<ExtendedStatus> {
    let found = status(file)?;
    let storage = query::<fs::FILE_STORAGE_INFO>(&file, fs::FileStorageInfo).ok();
    let direct = storage.filter(|_| found.kind() == FileKind::Regular).map(|storage| DirectAlignment {
        memory: storage.LogicalBytesPerSector,
        offset: storage.LogicalBytesPerSector,
        read_offset: None,
    });
    Ok(ExtendedStatus {
        mode: found.mode,
        device: split_device(found.dev),
        special: (0, 0),
        size: found.size,
        blocks: found.blocks,
        mount: None,
        direct,
    })
}
