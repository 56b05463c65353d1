//! What is done when the last handle of an open goes: the name it was to remove, its lock.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::cleanup::CleanupGuard;

/// A name in a directory that is held, so that neither a change of the working directory nor a rename of its
/// directory makes it another.
#[derive(Debug)]
pub(super) struct Name {
    directory: OwnedFd,
    name: OsString,
}

impl Name {
    pub(super) fn of(path: &Path) -> Result<Self, Errno> {
        let name = path.file_name().ok_or(Errno::INVAL)?.to_owned();
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(directory.unwrap_or(Path::new(".")), flags, Mode::empty())?;
        Ok(Self { directory, name })
    }

    /// Removes the name if it leads to `fd`'s file; that it does not, or is gone, is as good. The system has no call that
    /// does both at once: who renames between the two without asking for the lock can still lose a name.
    pub(super) fn remove(&self, fd: &OwnedFd) -> Result<(), Errno> {
        let there = match rustix::fs::statat(&self.directory, &self.name, AtFlags::empty()) {
            Err(Errno::NOENT) => return Ok(()),
            there => there?,
        };
        let ours = rustix::fs::fstat(fd)?;
        if (there.st_dev, there.st_ino) != (ours.st_dev, ours.st_ino) {
            return Ok(());
        }
        match rustix::fs::unlinkat(&self.directory, &self.name, AtFlags::empty()) {
            Err(Errno::NOENT) => Ok(()),
            removed => removed,
        }
    }
}

/// An open file whose name is to be removed.
#[derive(Debug)]
pub(super) struct DeleteOnExit {
    pub(super) name: Name,
    pub(super) fd: Arc<OwnedFd>,
}

impl DeleteOnExit {
    pub(super) fn remove(&self) -> Result<(), Errno> {
        self.name.remove(&self.fd)
    }
}

/// What is done when the last handle of an open is dropped: the name goes first, then the lock, then the
/// descriptor.
#[derive(Debug)]
pub(super) struct OnClose {
    pub(super) fd: Arc<OwnedFd>,
    pub(super) delete_on_exit: Option<CleanupGuard>,
    pub(super) locked: bool,
}

impl OnClose {
    /// Does it now, and tells whether the name could not be removed.
    pub(super) fn finish(mut self) -> Result<(), Errno> {
        self.end()
    }

    fn end(&mut self) -> Result<(), Errno> {
        // Taken off the list when it is removed: who is stopped between the two has it removed twice, not never.
        let removed = self.delete_on_exit.take().map_or(Ok(()), |guard| guard.delete_on_exit().remove());
        if std::mem::take(&mut self.locked) {
            let _ = rustix::fs::flock(&self.fd, FlockOperation::Unlock);
        }
        removed
    }
}

impl Drop for OnClose {
    fn drop(&mut self) {
        // Nobody is there to be told: `File::close` tells.
        let _ = self.end();
    }
}
