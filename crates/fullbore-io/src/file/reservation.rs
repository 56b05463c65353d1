//! Reserved blocks: those that a file has already, and the release of those past its end.

use super::{File, FileKind};
use crate::error::Error;
use crate::sys::{self, AsHandle, Code};

/// True if a file has blocks for that many bytes.
pub(super) fn has_room(fd: impl AsHandle, room: u64) -> bool {
    sys::status(fd).is_ok_and(|stat| stat.kind() == FileKind::Regular && stat.allocated() >= room)
}

/// Frees the blocks past the end of a file for which `reserved` bytes were reserved. Length, content and modification
/// time stay. The system has no call that compares and truncates atomically: bytes that another process appends between
/// the two calls are lost.
pub(super) fn release(fd: impl AsHandle, reserved: u64) -> Result<(), Code> {
    if reserved == 0 {
        return Ok(());
    }
    let stat = sys::status(&fd)?;
    let len = stat.size;
    let beyond = stat.allocated() > len.next_multiple_of(stat.blksize.max(512));
    // XFS allocates ahead of a growing file, and keeps those blocks too once a range was reserved.
    if stat.kind() != FileKind::Regular || len >= reserved && !beyond {
        return Ok(());
    }
    // ext4 ignores a hole that is punched past the end, and frees these blocks when the length is set.
    loop {
        match sys::truncate(&fd, len) {
            Err(Code::INTERRUPTED) => {}
            released => break released?,
        }
    }
    // Only the owner may set it. For others the file counts as modified by the truncation.
    let _ = sys::set_modified(&fd, &stat);
    Ok(())
}

impl File {
    /// Frees the blocks that [`reserve`](Self::reserve) left past the end.
    pub(super) fn release_reserved(&self) -> crate::error::Result<()> {
        release(self, self.inner.health.reserved())
            .map_err(|error| Error::io("release the reserved space of", self.path(), error.into()))
    }
}
