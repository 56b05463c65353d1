//! The directories of the found names, held open since they were walked.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use fullbore::error::{Error, Result};
use fullbore::file::{File, HeldDir};
use fullbore::sys::{self, AtFlags, Code, Status};

/// The directories of a run by path. Names are looked up in the open directories, never by path again, because a path
/// may lead elsewhere by then.
#[derive(Default)]
pub(super) struct Directories(HashMap<PathBuf, HeldDir>);

/// A name in an open directory, with its path for messages.
pub(super) struct Entry<'a> {
    pub(super) held: &'a HeldDir,
    pub(super) name: &'a OsStr,
    pub(super) path: &'a Path,
}

impl Directories {
    /// Records the directory that contains the last name of a path.
    pub(super) fn note(&mut self, path: &Path, held: HeldDir) {
        let Some(directory) = path.parent() else { return };
        if !self.0.contains_key(directory) {
            self.0.insert(directory.to_owned(), held);
        }
    }

    pub(super) fn of<'a>(&'a self, path: &'a Path) -> Result<Entry<'a>> {
        let held = path.parent().and_then(|directory| self.0.get(directory));
        match (held, path.file_name()) {
            (Some(held), Some(name)) => Ok(Entry { held, name, path }),
            _ => Err(Error::io("open", path, Code::NOT_FOUND.into())),
        }
    }
}

impl Entry<'_> {
    /// Opens the file, which must not be a symbolic link.
    pub(super) fn open(&self) -> Result<File> {
        self.held.open_file(self.name)
    }

    pub(super) fn stat(&self) -> Result<Status> {
        stat(self.held, self.name, self.path)
    }
}

/// Returns the status of a name in a directory; links are not followed.
pub(super) fn stat(held: &HeldDir, name: &OsStr, path: &Path) -> Result<Status> {
    let found = held.fd().and_then(|fd| Ok(sys::stat_at(fd, name, AtFlags::NOFOLLOW)?));
    found.map_err(|error| Error::io("inspect", path, error))
}
