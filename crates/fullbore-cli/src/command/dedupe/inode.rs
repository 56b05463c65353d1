//! The directories of the found names, held open since they were walked; and inodes and their attributes: files that differ in
//! more than their names must not be linked.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use fullbore::error::{Error, ErrorKind, Result};
use fullbore::file::{File, HeldDir};
use fullbore::sys::{self, AsHandle, AtFlags, Code, Handle, Status};

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

    /// Removes the paths that lead to the same name in the same directory as an earlier path, as `a` does after `./a`.
    pub(super) fn remove_repeated(&self, paths: &mut Vec<PathBuf>) {
        let mut seen = HashSet::new();
        paths.retain(|path| match self.of(path) {
            Ok(entry) => seen.insert((entry.held.identity(), entry.name.to_owned())),
            Err(_) => true,
        });
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
        self.held.open_file(self.path, false)
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

/// An open file with its status; it cannot be replaced by another while it is open.
pub(super) struct OpenInode {
    pub(super) file: File,
    pub(super) stat: Status,
}

impl OpenInode {
    /// Opens a name of a regular file that is not a symbolic link, without blocking.
    pub(super) fn open(entry: &Entry<'_>) -> Result<Self> {
        let file = entry.open()?;
        let stat = sys::status(&file).map_err(|error| Error::io("open", entry.path, error.into()))?;
        Ok(Self { file, stat })
    }

    /// True if the status of a name is still that of this file when it was opened.
    pub(super) fn is_still(&self, now: &Status) -> bool {
        let mark = |stat: &Status| (stat.dev, stat.ino, stat.size, stat.mtime, stat.mtime_nsec, stat.mode);
        mark(now) == mark(&self.stat)
    }

    /// True if the file may be replaced, and may replace others.
    pub(super) fn is_free(&self) -> bool {
        match sys::inode_flags(&self.file) {
            Ok(flags) => !flags.immutable && !flags.append_only,
            // A file system without such flags.
            Err(_) => true,
        }
    }

    /// Returns the reason why one inode must not replace the other; `None` if it may.
    pub(super) fn differs(&self, other: &Self, path: &Path) -> Result<Option<&'static str>> {
        Ok(if (self.stat.uid, self.stat.gid) != (other.stat.uid, other.stat.gid) {
            Some("different owner")
        } else if self.stat.mode != other.stat.mode {
            Some("different mode")
        } else if self.attributes(path)? != other.attributes(path)? {
            Some("different extended attributes")
        } else {
            None
        })
    }

    /// Returns the extended attributes, access lists included.
    pub(super) fn attributes(&self, path: &Path) -> Result<BTreeMap<Vec<u8>, Vec<u8>>> {
        let fail = |error: Code| Error::io("read the extended attributes of", path, error.into());
        let listed = sys::read_grown(sys::ATTRIBUTE_LIST, |names| sys::attributes(&self.file, names));
        let names = match listed {
            Err(Code::UNSUPPORTED | Code::NOT_IMPLEMENTED) => Vec::new(),
            names => names.map_err(fail)?,
        };
        let mut all = BTreeMap::new();
        for name in sys::attribute_names(&names) {
            let read = |value: &mut [u8]| sys::attribute(&self.file, name, value);
            all.insert(name.to_vec(), sys::read_grown(sys::ATTRIBUTE_VALUE, read).map_err(fail)?);
        }
        Ok(all)
    }
}

/// Copies owner, mode, attributes and times of a file to a new one.
pub(super) fn copy_metadata(new: &Handle, like: &OpenInode, path: &Path) -> Result<()> {
    let fail = |error: Code| Error::io("copy the owner, mode and attributes of", path, error.into());
    let stat = &like.stat;
    let made = sys::status(new).map_err(fail)?;
    if (made.uid, made.gid) != (stat.uid, stat.gid) {
        sys::change_owner(new, Some(stat.uid), Some(stat.gid)).map_err(fail)?;
    }
    let attributes = like.attributes(path)?;
    if !attributes.contains_key(sys::ACCESS_LIST.as_bytes()) {
        // The directory's default list may have given the new file one.
        let _ = sys::remove_attribute(new, sys::ACCESS_LIST);
    }
    // Backwards: on Windows, the access list and the flags follow the streams that they may protect.
    for (name, value) in attributes.into_iter().rev() {
        sys::set_attribute(new, &name[..], &value).map_err(fail)?;
    }
    // After the owner, because changing the owner clears the set-user-ID bit.
    sys::change_mode(new, stat.mode).map_err(fail)?;
    sys::set_times(new, stat).map_err(fail)?;
    // Last: it may forbid the other changes.
    sys::copy_access_list(like.file.as_handle(), new.as_handle()).map_err(fail)
}

pub(super) fn changed(path: &Path) -> Error {
    Error::new(ErrorKind::Changed, "link", path, "modified after it was read")
}
