//! Status of a path or an open file: `stat(2)`. The systems report no alignment for direct I/O.

use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;

use super::super::{ExtendedStatus, Status, split_device, stat, status};

/// Returns the status of a path; follows symbolic links.
pub(crate) fn of_path(path: &Path) -> io::Result<ExtendedStatus> {
    Ok(of(stat(path)?))
}

/// Returns the status of an open file.
pub(crate) fn of_file(fd: BorrowedFd<'_>) -> io::Result<ExtendedStatus> {
    Ok(of(status(fd)?))
}

fn of(found: Status) -> ExtendedStatus {
    ExtendedStatus {
        mode: found.mode,
        device: split_device(found.dev),
        special: split_device(found.rdev),
        size: found.size,
        blocks: found.blocks,
        mount: None,
        direct: None,
    }
}
