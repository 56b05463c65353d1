//! The actions when the last handle of an open file is closed: removal of its name, release of reserved blocks and of
//! its lock.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use super::cleanup::CleanupGuard;
use super::reservation::release;
use crate::error::Error;
use crate::sys::{self, AtFlags, Code, Handle, OpenFlags};

/// A name in a held directory, so that neither a change of the working directory nor a rename of the directory changes
/// its meaning.
#[derive(Debug)]
pub(super) struct Name {
    directory: Handle,
    name: OsString,
}

impl Name {
    pub(super) fn of(path: &Path) -> Result<Self, Code> {
        let name = path.file_name().ok_or(Code::INVALID)?.to_owned();
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let flags = OpenFlags::PATH | OpenFlags::DIRECTORY;
        let directory = sys::open(directory.unwrap_or(Path::new(".")), flags, 0)?;
        Ok(Self { directory, name })
    }

    /// Removes the name if it refers to `fd`'s file; succeeds without effect if it refers to another file or is gone.
    /// The system has no call that compares and removes atomically: a process that renames between the two calls
    /// without requesting the lock can lose a name.
    pub(super) fn remove(&self, fd: &Handle) -> Result<(), Code> {
        let there = match sys::stat_at(&self.directory, &self.name, AtFlags::empty()) {
            Err(Code::NOT_FOUND) => return Ok(()),
            there => there?,
        };
        let ours = sys::status(fd)?;
        if there.identity() != ours.identity() {
            return Ok(());
        }
        match sys::remove(&self.directory, &self.name, AtFlags::empty()) {
            Err(Code::NOT_FOUND) => Ok(()),
            removed => removed,
        }
    }
}

/// An open file whose name is to be removed.
#[derive(Debug)]
pub(super) struct DeleteOnExit {
    pub(super) name: Name,
    pub(super) fd: Arc<Handle>,
}

impl DeleteOnExit {
    pub(super) fn remove(&self) -> Result<(), Code> {
        self.name.remove(&self.fd)
    }
}

/// The actions when the last handle is dropped: remove the name, or free the blocks reserved past the end; then release
/// the lock, then close the descriptor.
#[derive(Debug)]
pub(super) struct OnClose {
    pub(super) fd: Arc<Handle>,
    pub(super) delete_on_exit: Option<CleanupGuard>,
    pub(super) locked: bool,
    /// The number of bytes reserved at opening.
    pub(super) reserved: u64,
}

impl OnClose {
    /// Runs the actions now; fails if the name could not be removed or the blocks could not be freed.
    pub(super) fn finish(mut self, path: &Path) -> crate::error::Result<()> {
        self.end(path)
    }

    fn end(&mut self, path: &Path) -> crate::error::Result<()> {
        let reserved = std::mem::take(&mut self.reserved);
        let ended = match self.delete_on_exit.take() {
            // The entry stays in the cleanup list until the name is removed: a signal in between removes it twice, not
            // never.
            Some(guard) => guard.delete_on_exit().remove().map_err(|error| {
                let failed = Error::io("remove", path, error.into());
                // The advice on a file that others use is more important.
                if error.in_use().is_some() { failed } else { failed.advise("the closed file remains") }
            }),
            None => release(&self.fd, reserved)
                .map_err(|error| Error::io("release the reserved space of", path, error.into())),
        };
        if std::mem::take(&mut self.locked) {
            let _ = sys::lock_whole(&self.fd, sys::WholeLock::Unlocked);
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
