//! The opening call, and the knowledge if it created the file: only a file that this open created may be removed when a
//! later step fails.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::FileKind;
use super::cleanup::{self, CleanupGuard};
use super::on_close::{DeleteOnExit, Name};
use super::open::ATTEMPTS;
use super::options::{Mode, OpenOptions};
use crate::sys::{self, Code, Handle, OpenFlags};

/// An opened file.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) fd: Arc<Handle>,
    /// The path of the file, if this open is known to have created it.
    pub(super) created: Option<PathBuf>,
    /// The guard for the removal of its name, if requested.
    pub(super) delete_on_exit: Option<CleanupGuard>,
}

impl Found {
    /// Removes the file if this open created it.
    pub(super) fn undo_create(&self) {
        if let Some(created) = &self.created
            && let Ok(name) = Name::of(created)
        {
            // The caller reports the earlier error.
            let _ = name.remove(&self.fd);
        }
    }
}

impl OpenOptions {
    /// Opens `path` according to the mode.
    pub(super) fn find(&self, path: &Path) -> Result<Found, Code> {
        let more = self.mode_flags();
        match self.mode {
            Mode::CreateNew => self.new_file(path, path),
            Mode::CreateOrTruncate | Mode::OpenOrCreate | Mode::Append if self.knows() => {
                self.new_or_there(path, more - OpenFlags::CREATE)
            }
            _ => self.there(path, more),
        }
    }

    /// Opens `path` in one call.
    pub(super) fn plainly(&self, path: &Path) -> Result<Handle, Code> {
        self.call(path, self.mode_flags())
    }

    /// The flags of the mode.
    fn mode_flags(&self) -> OpenFlags {
        let truncate = if self.empties_late() { OpenFlags::empty() } else { OpenFlags::TRUNCATE };
        match self.mode {
            Mode::Open => OpenFlags::empty(),
            Mode::Truncate => truncate,
            Mode::CreateNew => OpenFlags::CREATE | OpenFlags::EXCLUSIVE,
            Mode::CreateOrTruncate => OpenFlags::CREATE | truncate,
            Mode::OpenOrCreate | Mode::Append => OpenFlags::CREATE,
        }
    }

    /// True if the open must determine if the file is new.
    fn knows(&self) -> bool {
        self.strict || self.delete || self.room > 0
    }

    /// Opens in one call, which does not distinguish existing files from new ones.
    fn there(&self, path: &Path, more: OpenFlags) -> Result<Found, Code> {
        let fd = Arc::new(self.call(path, more)?);
        let delete_on_exit = if self.delete {
            let delete_on_exit = || Ok(DeleteOnExit { name: Name::of(path)?, fd: fd.clone() });
            Some(cleanup::register::<Code>(delete_on_exit)?)
        } else {
            None
        };
        Ok(Found { fd, created: None, delete_on_exit })
    }

    /// Creates a file at `place`; `path` is the name to remove if the file is deleted on close.
    fn new_file(&self, path: &Path, place: &Path) -> Result<Found, Code> {
        let open = || -> Result<_, Code> {
            Ok(Arc::new(self.call(place, OpenFlags::CREATE | OpenFlags::EXCLUSIVE)?))
        };
        let created = Some(place.to_owned());
        if !self.delete {
            return Ok(Found { fd: open()?, created, delete_on_exit: None });
        }
        // Opening a new file never blocks, so the list may be locked meanwhile.
        let guard = cleanup::register::<Code>(|| Ok(DeleteOnExit { name: Name::of(path)?, fd: open()? }))?;
        Ok(Found { fd: guard.delete_on_exit().fd.clone(), created, delete_on_exit: Some(guard) })
    }

    /// Creates a file, or opens the existing one with `more`: alternates between two calls, each of which can succeed
    /// in one way only, until one does. Dangling links are followed here, because `O_EXCL` does not follow them.
    fn new_or_there(&self, path: &Path, more: OpenFlags) -> Result<Found, Code> {
        let mut place = path.to_owned();
        for _ in 0..ATTEMPTS {
            match self.new_file(path, &place) {
                Err(Code::EXISTS) => {}
                found => return found,
            }
            match self.there(path, more) {
                Err(Code::NOT_FOUND) => {}
                // `O_CREAT` rejects a directory, even one that could be opened for reading.
                Ok(found) if is_directory(&found.fd) => return Err(Code::IS_DIRECTORY),
                found => return found,
            }
            // The file was removed between the two calls, or is a dangling link.
            place = match std::fs::read_link(&place) {
                Ok(link) => place.parent().unwrap_or(Path::new("")).join(link),
                Err(_) => path.to_owned(),
            };
        }
        Err(Code::NOT_FOUND)
    }

    fn call(&self, path: &Path, more: OpenFlags) -> Result<Handle, Code> {
        sys::open(path, self.flags() | more, self.permissions)
    }
}

fn is_directory(fd: &Handle) -> bool {
    sys::status(fd).is_ok_and(|found| found.kind() == FileKind::Directory)
}
