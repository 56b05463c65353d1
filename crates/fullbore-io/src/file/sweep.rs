//! Removal of names in held directories, by descriptors only: a link placed in the way is removed, not followed.

use std::ffi::{CStr, CString, OsStr, OsString};
use std::path::Path;
use std::sync::Arc;

use super::held::{HeldDir, directory_of};
use crate::lock::Mutex;
use crate::sys::{self, AsHandle, AtFlags, Code, FileKind, Handle, OpenFlags};

/// The number of attempts to empty a directory in which workers still create files: they run until the process ends.
const SWEEPS: usize = 100;

/// Removes a file or an empty directory; succeeds if it is already gone.
pub(super) fn remove(directory: &HeldDir, name: &OsStr) {
    let Ok(fd) = directory.fd() else { return };
    if sys::remove(&fd, name, AtFlags::empty()).is_err() {
        let _ = sys::remove(&fd, name, AtFlags::REMOVE_DIRECTORY);
    }
}

/// Descriptors reserved for emptying a directory, so that a run that fails for lack of descriptors can still clean up.
static RESERVE: Mutex<Vec<Handle>> = Mutex::new(Vec::new());

/// Reserves the descriptors needed to empty a directory, or releases them.
pub(super) fn reserve(keep: bool) {
    let mut reserve = RESERVE.lock();
    if !keep {
        reserve.clear();
    } else if reserve.is_empty()
        && let Ok((reader, writer)) = sys::pipe()
    {
        reserve.extend([reader, writer]);
    }
}

/// Returns the identity of a directory that this process has just created: another process may have exchanged it, but not for
/// one with content.
pub(super) fn new_directory(directory: &HeldDir, name: &OsStr) -> sys::Result<(u64, u64)> {
    let parent = directory.fd().map_err(|error| Code::of(&error).unwrap_or(Code::IO))?;
    let flags = OpenFlags::READ | OpenFlags::DIRECTORY | OpenFlags::NOFOLLOW;
    let created = sys::open_at(&parent, name, flags, 0)?;
    let found = identity(&created)?;
    for entry in sys::Directory::new(created)? {
        if !is_own(entry?.file_name()) {
            return Err(Code::NOT_EMPTY);
        }
    }
    Ok(found)
}

/// Removes a directory and its content if the name refers to the directory `expected`; else only an empty one.
pub(super) fn remove_tree(directory: &HeldDir, name: &OsStr, expected: Option<(u64, u64)>) {
    let Ok(fd) = directory.fd() else { return };
    if sys::remove(&fd, name, AtFlags::REMOVE_DIRECTORY).is_ok() {
        return;
    }
    let Some(expected) = expected else { return };
    reserve(false);
    for _ in 0..SWEEPS {
        match emptied(&fd, name, expected) {
            Err(Code::NOT_EMPTY | Code::EXISTS) => {}
            _ => return,
        }
    }
}

pub(super) fn identity(fd: impl AsHandle) -> sys::Result<(u64, u64)> {
    let stat = sys::status(fd)?;
    Ok(stat.identity())
}

fn open(directory: impl AsHandle, name: &OsStr) -> sys::Result<Handle> {
    let flags = OpenFlags::READ | OpenFlags::DIRECTORY | OpenFlags::NOFOLLOW;
    match sys::open_at(directory.as_handle(), name, flags, 0) {
        // The directory has the mode of the one that it is a copy of.
        Err(Code::ACCESS_DENIED) => {
            sys::change_mode_at(directory.as_handle(), name, 0o700)?;
            sys::open_at(directory, name, flags, 0)
        }
        other => other,
    }
}

/// Empties and removes a directory with at most two open descriptors: goes up through `..`, after checking that it is the
/// directory that it came from.
fn emptied(top: &Handle, name: &OsStr, expected: (u64, u64)) -> sys::Result<()> {
    let mut way = vec![(name.to_owned(), expected)];
    // Before its mode may be changed.
    if sys::stat_at(top, name, AtFlags::NOFOLLOW)?.identity() != expected {
        return Err(Code::STALE);
    }
    let mut inner = open(top, name)?;
    if identity(&inner)? != expected {
        return Err(Code::STALE);
    }
    loop {
        let names = sys::Directory::new(inner)?;
        let deeper = sweep(names)?;
        match deeper {
            (at, Some(name)) => {
                inner = open(&at, &name)?;
                way.push((name, identity(&inner)?));
            }
            (at, None) => {
                let Some((name, _)) = way.pop() else { return Ok(()) };
                let Some((_, above)) = way.last() else {
                    drop(at);
                    return sys::remove(top, &name, AtFlags::REMOVE_DIRECTORY);
                };
                inner = open(&at, OsStr::new(".."))?;
                if identity(&inner)? != *above {
                    return Err(Code::STALE);
                }
                sys::remove(&inner, &name, AtFlags::REMOVE_DIRECTORY)?;
            }
        }
    }
}

/// True for the names of a directory itself and of the one above it.
fn is_own(name: &CStr) -> bool {
    matches!(name.to_bytes(), b"." | b"..")
}

/// Removes the entries of a directory up to the first directory that is not empty, whose name it returns.
fn sweep(mut names: sys::Directory) -> sys::Result<(Handle, Option<OsString>)> {
    use crate::sys::OsStrExt;
    let at = names.handle()?;
    for entry in names.by_ref() {
        let entry = entry?;
        let name = entry.file_name();
        if is_own(name) {
            continue;
        }
        let name: CString = name.to_owned();
        let unlink = |flags| sys::remove(&at, &name, flags);
        let removed = match entry.kind() {
            FileKind::Directory => unlink(AtFlags::REMOVE_DIRECTORY),
            _ => match unlink(AtFlags::empty()) {
                Err(Code::IS_DIRECTORY | Code::NOT_PERMITTED) => unlink(AtFlags::REMOVE_DIRECTORY),
                other => other,
            },
        };
        match removed {
            Ok(()) | Err(Code::NOT_FOUND) => {}
            Err(Code::NOT_EMPTY | Code::EXISTS) => {
                return Ok((at, Some(OsStr::from_bytes(name.to_bytes()).to_owned())));
            }
            // The directory lacks a permission that removal needs.
            Err(Code::ACCESS_DENIED) if sys::change_mode(&at, 0o700).is_ok() => unlink(AtFlags::empty())
                .or_else(|_| unlink(AtFlags::REMOVE_DIRECTORY))
                .or_else(|error| if error == Code::NOT_EMPTY { Ok(()) } else { Err(error) })?,
            Err(error) => return Err(error),
        }
    }
    Ok((at, None))
}

/// A name in a held directory: neither a change of the working directory nor a rename of the directory changes its meaning.
#[derive(Debug)]
pub(super) struct Name {
    directory: Handle,
    name: OsString,
}

impl Name {
    pub(super) fn of(path: &Path) -> Result<Self, Code> {
        let name = sys::last_name(path).ok_or(Code::INVALID)?;
        let directory = sys::open(directory_of(path), OpenFlags::PATH | OpenFlags::DIRECTORY, 0)?;
        Ok(Self { directory, name })
    }

    /// The identity of the file that the name refers to.
    fn there(&self) -> Result<Option<(u64, u64)>, Code> {
        match sys::stat_at(&self.directory, &self.name, AtFlags::empty()) {
            Err(Code::NOT_FOUND) => Ok(None),
            there => Ok(Some(there?.identity())),
        }
    }

    /// Removes the name if it refers to `fd`'s file; another or a missing one is not an error. The system cannot compare and
    /// remove atomically: a process that renames between the two calls without the lock can lose a name.
    pub(super) fn remove(&self, fd: &Handle) -> Result<(), Code> {
        let removed = match self.there()? {
            Some(there) if there == identity(fd)? => sys::remove_open(fd, &self.directory, &self.name),
            _ => {
                sys::cancel_delete(fd);
                return Ok(());
            }
        };
        if removed == Err(Code::NOT_FOUND) { Ok(()) } else { removed }
    }

    /// As [`remove`](Self::remove), for a file that denies others its removal while it is open: closes it first.
    pub(super) fn remove_closed(&self, fd: Arc<Handle>) -> Result<(), Code> {
        let file = identity(&fd)?;
        drop(fd);
        match self.there()? {
            Some(there) if there == file => sys::remove(&self.directory, &self.name, AtFlags::empty()),
            _ => Ok(()),
        }
    }
}

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
