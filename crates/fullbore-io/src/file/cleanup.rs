//! The list of files that an interrupted run must remove.
//!
//! Every temporary name is created and entered here under the lock that [`cleanup`] takes and never releases. So
//! the signal thread can remove all of them at any moment, and none can appear afterwards.

use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::hash::BuildHasher;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, MutexGuard};

use super::held::HeldDir;
use super::sweep::{DeleteOnExit, new_directory, remove, remove_tree, reserve};
use crate::error::{Error, Result};
use crate::lock::Mutex;
use crate::sys::{self, AtFlags, BorrowedHandle, Code, Handle, OpenFlags};

static CLEANING_UP: AtomicBool = AtomicBool::new(false);

static STATE: Mutex<Registry> = Mutex::new(Registry { next: 0, files: Vec::new(), unfinished: Vec::new() });

/// The number of the signal that ends the process, from its handler on; 0 before. No output is completed any more: the process
/// that wrote a piped input may have ended by the same signal, so that the input seems complete.
pub fn ending_signal() -> &'static Arc<AtomicUsize> {
    static SIGNAL: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);
    &SIGNAL
}

thread_local! {
    /// True in the thread that called [`cleanup`], and so holds the lock.
    static CLEANED_UP: Cell<bool> = const { Cell::new(false) };
}

/// Locks the list. From the cleanup to the end of the process other threads wait, and the thread of the cleanup gets `None`.
fn registry() -> Option<MutexGuard<'static, Registry>> {
    (!CLEANED_UP.get()).then(|| STATE.lock())
}

#[derive(Debug)]
struct Registry {
    next: u64,
    files: Vec<(u64, Leftover)>,
    unfinished: Vec<(u64, PathBuf)>,
}

#[derive(Debug)]
enum Leftover {
    /// Any file with this name in the directory.
    Name(HeldDir, OsString),
    /// A directory and its content, as long as the name refers to that directory; without an identity, only if it is empty.
    Tree(HeldDir, OsString, Option<(u64, u64)>),
    /// The name of an open file, as long as it refers to that file.
    Open(Arc<DeleteOnExit>),
    /// A backup of a file that was not replaced yet.
    Backup(BackupName),
}

impl Leftover {
    fn remove(self) {
        match self {
            Self::Name(directory, name) => remove(&directory, &name),
            Self::Tree(directory, name, identity) => remove_tree(&directory, &name, identity),
            // `File::close` reports the error to the owner, if any.
            Self::Open(delete_on_exit) => drop(delete_on_exit.remove()),
            Self::Backup(backup) => backup.undo(),
        }
    }
}

impl Registry {
    fn register(&mut self, left: Leftover) -> u64 {
        let id = self.next;
        self.next += 1;
        self.files.push((id, left));
        id
    }
}

/// A name in a held directory that is removed on drop or at cleanup, unless it was [kept](Self::keep).
#[derive(Debug)]
pub struct Temporary {
    id: u64,
    directory: HeldDir,
    name: OsString,
    path: PathBuf,
    kept: bool,
    /// Number of forks when it was created.
    forks: u32,
}

const ATTEMPTS: usize = 16;

impl Temporary {
    /// Creates a file at `path`, in an existing directory, with `make`, to be removed later. If `make` fails, it must have created
    /// nothing.
    pub fn make<T>(path: PathBuf, make: impl FnOnce(&Path) -> Result<T>) -> Result<(Self, T)> {
        Self::at(path, false, make)
    }

    /// As [`make`](Self::make), for a directory that is removed with its content.
    pub fn make_tree<T>(path: PathBuf, make: impl FnOnce(&Path) -> Result<T>) -> Result<(Self, T)> {
        Self::at(path, true, make)
    }

    fn at<T>(path: PathBuf, tree: bool, make: impl FnOnce(&Path) -> Result<T>) -> Result<(Self, T)> {
        let (directory, name) = HeldDir::of(&path).map_err(|error| Error::io("create", &path, error))?;
        let mut state = registry().ok_or_else(Error::cancelled)?;
        let made = make(&path)?;
        Ok((Self::registered(&mut state, directory, name, path, tree), made))
    }

    /// Creates a file in a held directory under a hidden, unpredictable name from `stem`, to be removed later. `make` creates it
    /// for this user alone or fails and creates nothing; with `EEXIST` it is called again with another name.
    pub fn create<T>(
        directory: &HeldDir,
        stem: &OsStr,
        tree: bool,
        mut make: impl FnMut(BorrowedHandle<'_>, &OsStr) -> sys::Result<T>,
    ) -> std::io::Result<(Self, T)> {
        use crate::sys::AsHandle;
        let fd = directory.fd()?;
        for _ in 0..ATTEMPTS {
            let name = hidden_name(stem);
            let mut state = registry().ok_or(Code::CANCELLED)?;
            match make(fd.as_handle(), &name) {
                Err(Code::EXISTS) => {}
                made => {
                    let made = made?;
                    let path = directory.path().join(&name);
                    return Ok((Self::registered(&mut state, directory.clone(), name, path, tree), made));
                }
            }
        }
        Err(Code::EXISTS.into())
    }

    fn registered(
        state: &mut Registry,
        directory: HeldDir,
        name: OsString,
        path: PathBuf,
        tree: bool,
    ) -> Self {
        let (place, of) = (directory.clone(), name.clone());
        let identity = if tree { new_directory(&directory, &name).ok() } else { None };
        let left = if tree { Leftover::Tree(place, of, identity) } else { Leftover::Name(place, of) };
        let id = state.register(left);
        if tree {
            reserve(true);
        }
        Self { id, directory, name, path, kept: false, forks: sys::forks() }
    }

    /// Returns the path, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the directory that contains it.
    pub fn directory(&self) -> &HeldDir {
        &self.directory
    }

    /// Returns the name in the directory.
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// Renames the file with `name`, and keeps it if that succeeds; else it is removed. A concurrent cleanup leaves it removed or
    /// complete.
    ///
    /// # Errors
    /// Those of `name`; the file is removed then.
    pub fn persist_with<T, E>(
        mut self,
        name: impl FnOnce(&HeldDir, &OsStr) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let state = registry();
        let named = name(&self.directory, &self.name);
        self.kept = named.is_ok();
        drop(state);
        named
    }

    /// Keeps the file: it will not be removed.
    pub fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // In a forked child the name is the parent's.
        if sys::forks() != self.forks {
            return;
        }
        let Some(mut state) = registry() else { return };
        let Some(at) = state.files.iter().position(|(id, _)| *id == self.id) else { return };
        let (_, left) = state.files.remove(at);
        let is_tree = matches!(left, Leftover::Tree(..));
        if !self.kept {
            left.remove();
        }
        if is_tree {
            reserve(state.files.iter().any(|(_, left)| matches!(left, Leftover::Tree(..))));
        }
    }
}

/// Opens a nameless file in a directory, or a named one if the file system has no nameless files.
pub(crate) fn nameless(
    directory: &Path,
    flags: OpenFlags,
    mode: u32,
) -> std::io::Result<(Handle, Option<Temporary>)> {
    match sys::open(directory, flags | OpenFlags::UNNAMED, mode) {
        Err(Code::UNSUPPORTED | Code::IS_DIRECTORY | Code::INVALID) => {
            let flags = flags | OpenFlags::CREATE | OpenFlags::EXCLUSIVE;
            let held = HeldDir::open(directory)?;
            // No other user can open it while it has a name.
            let make = |at: BorrowedHandle<'_>, name: &OsStr| sys::open_at(at, name, flags, mode & 0o600);
            let (name, file) = Temporary::create(&held, "temporary".as_ref(), false, make)?;
            Ok((file, Some(name)))
        }
        opened => Ok((opened?, None)),
    }
}

/// Returns at most the first `most` bytes of a name. No character is cut.
pub fn beginning(name: &[u8], most: usize) -> &[u8] {
    let ends = |at: &usize| name.get(*at).is_none_or(|byte| byte & 0xc0 != 0x80);
    &name[..(0..=name.len().min(most)).rev().find(ends).unwrap_or(0)]
}

/// Returns a hidden, unpredictable name derived from `stem`.
pub fn hidden_name(stem: &OsStr) -> OsString {
    use crate::sys::{OsStrExt, OsStringExt};
    // The keys of `RandomState` are random and differ each time.
    let random = std::hash::RandomState::new().hash_one(std::process::id());
    // A name is limited to 255 bytes, or 143 (eCryptfs), which the stem alone may have.
    let mut name = b".".to_vec();
    name.extend_from_slice(beginning(stem.as_bytes(), 100));
    name.extend_from_slice(format!(".fullbore-{random:016x}").as_bytes());
    OsString::from_vec(name)
}

fn deregister(id: u64) {
    if let Some(mut state) = registry() {
        state.files.retain(|(entered, _)| *entered != id);
    }
}

#[derive(Debug)]
pub(super) struct CleanupGuard {
    id: u64,
    /// Number of forks when it was registered.
    forks: u32,
    delete_on_exit: Arc<DeleteOnExit>,
}

impl CleanupGuard {
    pub(super) fn delete_on_exit(&self) -> &DeleteOnExit {
        &self.delete_on_exit
    }
}

impl Drop for CleanupGuard {
    fn drop(&mut self) {
        // At a fork another thread may have held the lock, which stays locked in the child.
        if sys::forks() == self.forks {
            deregister(self.id);
        }
    }
}

/// Enters the file that `open` opens under the lock, so that a file it creates is always in the list; it must not block.
pub(super) fn register(open: impl FnOnce() -> sys::Result<DeleteOnExit>) -> sys::Result<CleanupGuard> {
    let mut state = registry().ok_or(Code::CANCELLED)?;
    let delete_on_exit = Arc::new(open()?);
    let id = state.register(Leftover::Open(delete_on_exit.clone()));
    Ok(CleanupGuard { id, forks: sys::forks(), delete_on_exit })
}

/// The backup of a file that a run is about to replace.
#[derive(Debug, Clone)]
pub struct BackupName {
    /// The directory of both names.
    pub directory: HeldDir,
    /// The name of the file.
    pub target: OsString,
    /// The name of the backup.
    pub name: OsString,
    /// True if the file was renamed to it, false if it got a second name.
    pub moved: bool,
    /// True if the backup's name was free.
    pub fresh: bool,
}

impl BackupName {
    /// Reverts the backup unless the file was replaced: then the backup is the only name of the old bytes.
    fn undo(&self) {
        let Ok(within) = self.directory.fd() else { return };
        let found = |name: &OsStr| sys::stat_at(&within, name, AtFlags::NOFOLLOW).map(|stat| stat.identity());
        let target = found(&self.target);
        if self.moved && matches!(target, Err(Code::NOT_FOUND)) {
            let _ = sys::rename(&within, &*self.name, &within, &*self.target);
        } else if self.fresh && target.is_ok() && target == found(&self.name) {
            let _ = sys::remove(&within, &*self.name, AtFlags::empty());
        }
    }
}

/// A backup that [`cleanup`] reverts until this is dropped.
#[derive(Debug)]
pub struct PendingBackup {
    id: u64,
    backup: BackupName,
}

impl PendingBackup {
    /// Enters a backup, which `make` makes under the lock; it must not block.
    pub fn make(backup: BackupName, make: impl FnOnce(&BackupName) -> sys::Result<()>) -> sys::Result<Self> {
        let mut state = registry().ok_or(Code::CANCELLED)?;
        make(&backup)?;
        let id = state.register(Leftover::Backup(backup.clone()));
        Ok(Self { id, backup })
    }

    /// Returns the path of the backup, for messages.
    pub fn path(&self) -> PathBuf {
        self.backup.directory.path().join(&self.backup.name)
    }

    /// Reverts the backup unless the file was replaced.
    pub fn undo(&self) {
        self.backup.undo();
    }
}

impl Drop for PendingBackup {
    fn drop(&mut self) {
        deregister(self.id);
    }
}

/// A file being rewritten in place: until this is dropped, [`cleanup`] returns its path as one that is part old, part new.
#[derive(Debug)]
pub struct Unfinished(Option<u64>);

/// Enters `path` as a file that is being rewritten in place.
pub fn unfinished(path: &Path) -> Unfinished {
    let entered = registry().map(|mut state| {
        let id = state.next;
        state.next += 1;
        state.unfinished.push((id, path.to_owned()));
        id
    });
    Unfinished(entered)
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(mut state) = registry() {
            state.unfinished.retain(|(id, _)| Some(*id) != self.0);
        }
    }
}

/// Removes every temporary file and every file opened with [delete-on-close](super::OpenOptions::delete_on_close); returns the
/// files that are left part old, part new. No such file can be created afterwards: this thread gets an error, and other threads that
/// create or drop one wait until the process ends. So call this just before the process exits.
///
/// ```
/// // In the thread that waits for signals, before it ends the process.
/// let half_written = fullbore_io::file::cleanup();
/// assert!(half_written.is_empty());
/// ```
pub fn cleanup() -> Vec<PathBuf> {
    CLEANING_UP.store(true, Ordering::Relaxed);
    let Some(mut state) = registry() else { return Vec::new() };
    // Newest first: files before their directories.
    for (_, left) in state.files.drain(..).rev() {
        left.remove();
    }
    // A half-written file that was just removed is not reported.
    let unfinished = state.unfinished.drain(..).map(|(_, path)| path).filter(|path| path.exists()).collect();
    mem::forget(state);
    CLEANED_UP.set(true);
    unfinished
}

/// True after a call of [`cleanup`] or a signal that leads to one, which may be the cause of later failures.
pub fn is_cleaning_up() -> bool {
    CLEANING_UP.load(Ordering::Relaxed) || ending_signal().load(Ordering::Relaxed) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_names_are_short_and_have_whole_characters() {
        for stem in ["x".repeat(255), "ß".repeat(127), format!("x{}", "ß".repeat(127))] {
            let name = hidden_name(OsStr::new(&stem)).into_string().unwrap();
            assert!(name.len() <= 143 && name.as_bytes()[1..].starts_with(&stem.as_bytes()[..98]), "{name}");
        }
    }

    #[test]
    fn a_temporary_tree_is_removed_with_its_content() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("tree");
        let (temporary, ()) = Temporary::make_tree(path.clone(), |path| {
            std::fs::create_dir(path).unwrap();
            Ok(())
        })
        .unwrap();
        std::fs::write(path.join("file"), "content").unwrap();
        drop(temporary);
        assert!(!path.exists());
    }

    #[test]
    fn a_directory_that_took_the_name_of_a_temporary_tree_remains() {
        let room = tempfile::tempdir().unwrap();
        let [path, moved, other] = ["tree", "moved", "other"].map(|name| room.path().join(name));
        let (temporary, ()) = Temporary::make_tree(path.clone(), |path| {
            std::fs::create_dir(path).unwrap();
            Ok(())
        })
        .unwrap();
        std::fs::create_dir(&other).unwrap();
        std::fs::write(other.join("file"), "content").unwrap();
        std::fs::rename(&path, &moved).unwrap();
        std::fs::rename(&other, &path).unwrap();
        drop(temporary);
        assert_eq!(std::fs::read(path.join("file")).unwrap(), b"content");
    }
}
