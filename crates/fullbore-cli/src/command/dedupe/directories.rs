//! Where the names that were found are: in directories that were held when they were gone through.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use fullbore::error::{Error, Result};
use fullbore::file::{File, HeldDir};
use rustix::fs::{AtFlags, Stat};

/// The directories of a run by their paths. Names are looked up in them, and never by a path again: that may lead elsewhere
/// since.
#[derive(Default)]
pub(super) struct Directories(HashMap<PathBuf, HeldDir>);

/// A name in a held directory, with its path for messages.
pub(super) struct Entry<'a> {
    pub(super) held: &'a HeldDir,
    pub(super) name: &'a OsStr,
    pub(super) path: &'a Path,
}

impl Directories {
    /// Notes the directory that holds the last name of a path.
    pub(super) fn note(&mut self, path: &Path, held: HeldDir) {
        let Some(directory) = path.parent() else { return };
        if !self.0.contains_key(directory) {
            self.0.insert(directory.to_owned(), held);
        }
    }

    /// The place of a path that was found.
    pub(super) fn of<'a>(&'a self, path: &'a Path) -> Result<Entry<'a>> {
        let held = path.parent().and_then(|directory| self.0.get(directory));
        match (held, path.file_name()) {
            (Some(held), Some(name)) => Ok(Entry { held, name, path }),
            _ => Err(Error::io("open", path, rustix::io::Errno::NOENT.into())),
        }
    }
}

impl Entry<'_> {
    /// Opens the file, which must not be a symbolic link.
    pub(super) fn open(&self) -> Result<File> {
        self.held.open_file(self.name)
    }

    /// What has the name now.
    pub(super) fn stat(&self) -> Result<Stat> {
        stat(self.held, self.name, self.path)
    }
}

/// What has a name in a directory, links not followed.
pub(super) fn stat(held: &HeldDir, name: &OsStr, path: &Path) -> Result<Stat> {
    let found = held.fd().and_then(|fd| Ok(rustix::fs::statat(fd, name, AtFlags::SYMLINK_NOFOLLOW)?));
    found.map_err(|error| Error::io("inspect", path, error))
}
