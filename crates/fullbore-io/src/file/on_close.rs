//! The actions when the last handle of a file is closed.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::cleanup::CleanupGuard;
use crate::error::Error;
use crate::sys::{self, AsHandle, Code, FileKind, Handle};

/// The actions when the last handle is dropped: remove the name or free reserved blocks, release the lock, close the descriptor.
#[derive(Debug)]
pub(super) struct OnClose {
    pub(super) fd: Arc<Handle>,
    pub(super) delete_on_exit: Option<CleanupGuard>,
    pub(super) locked: bool,
    /// A duplicate of the descriptor was given away: the lock ends when that is closed, too.
    pub(super) duplicated: AtomicBool,
    pub(super) reserved: u64,
    /// Number of forks when the file was opened.
    pub(super) forks: u32,
}

impl OnClose {
    /// Runs the actions now; fails if the name could not be removed or the blocks could not be freed.
    pub(super) fn finish(mut self, path: &Path) -> crate::error::Result<()> {
        self.end(path)
    }

    fn end(&mut self, path: &Path) -> crate::error::Result<()> {
        // A forked child only closes its descriptors: name, blocks and lock are its parent's.
        if sys::forks() != self.forks {
            return Ok(());
        }
        let reserved = std::mem::take(&mut self.reserved);
        let removed = match self.delete_on_exit.take() {
            // The entry stays in the cleanup list until the name is removed: a signal in between removes it twice, not
            // never.
            Some(guard) => guard.delete_on_exit().remove().map_err(|error| {
                let failed = Error::io("remove", path, error.into());
                // The error of a file in use already has advice.
                if error.in_use().is_some() { failed } else { failed.advise("the closed file remains") }
            }),
            None => Ok(()),
        };
        // The file may have another name by now.
        let ended = removed.and(
            release(&self.fd, reserved)
                .map_err(|error| Error::io("release its reserved space", path, error.into())),
        );
        // Children that are being started may hold the descriptor for a moment: closing it alone would not unlock.
        if std::mem::take(&mut self.locked) && !*self.duplicated.get_mut() {
            let _ = sys::lock_whole(&self.fd, sys::LockRequest::None);
        }
        ended
    }
}

impl Drop for OnClose {
    fn drop(&mut self) {
        // A drop cannot return the error; `File::close` does.
        let _ = self.end(Path::new(""));
    }
}

/// Frees the blocks past the end of a file for which `reserved` bytes were reserved. The system cannot compare and truncate
/// atomically: bytes that another process appends between the two calls are lost.
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
    sys::uninterrupted(|| sys::truncate(&fd, len))?;
    // Only the owner may set it. For others the file counts as modified by the truncation.
    let _ = sys::set_modified(&fd, &stat);
    Ok(())
}
