//! What a run that is stopped must not leave behind.
//!
//! Every temporary name is entered here before it exists, under the lock that [`cleanup`] takes and never
//! gives back: a signal's thread can remove all of them at any moment, and none can appear after it.

use std::ffi::{OsStr, OsString};
use std::hash::BuildHasher;
use std::mem;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

use super::held::HeldDir;
use super::on_close::DeleteOnExit;
use super::sweep::{remove, remove_tree, reserve};
use crate::error::{Error, Result};

/// Whether all is being removed.
static CLEANING_UP: AtomicBool = AtomicBool::new(false);

static STATE: Mutex<Registry> = Mutex::new(Registry { next: 0, files: Vec::new(), unfinished: Vec::new() });

#[derive(Debug)]
struct Registry {
    next: u64,
    files: Vec<(u64, Leftover)>,
    unfinished: Vec<(u64, PathBuf)>,
}

/// What would be left.
#[derive(Debug)]
enum Leftover {
    /// Whatever has this name in the directory.
    Name(HeldDir, OsString),
    /// A directory and all that is in it.
    Tree(HeldDir, OsString),
    /// The name of an open file, as long as it leads to it.
    Open(Arc<DeleteOnExit>),
}

impl Registry {
    fn register(&mut self, left: Leftover) -> u64 {
        let id = self.next;
        self.next += 1;
        self.files.push((id, left));
        id
    }
}

fn state() -> MutexGuard<'static, Registry> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A name in a held directory that is removed when this is dropped or the run is cleaned up, unless it was
/// [kept](Self::keep).
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// use fullbore::file::Temporary;
/// # let path = directory.path().join("part");
/// let (temporary, ()) = Temporary::make(path.clone(), |path| Ok(std::fs::write(path, "part").unwrap()))?;
/// drop(temporary);
/// assert!(!path.exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Temporary {
    id: u64,
    directory: HeldDir,
    name: OsString,
    path: PathBuf,
    tree: bool,
    kept: bool,
}

/// How many names are tried that somebody else may have.
const ATTEMPTS: usize = 16;

impl Temporary {
    /// Makes something at `path` with `make`, and takes the duty to remove it. If `make` fails, there is
    /// nothing to remove: it must not have made anything.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::Temporary;
    /// # let path = directory.path().join("part");
    /// let (temporary, ()) = Temporary::make(path.clone(), |path| Ok(std::fs::write(path, "part").unwrap()))?;
    /// assert!(path.exists());
    /// # drop(temporary);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of `make`, and that there is no such directory.
    pub fn make<T>(path: PathBuf, make: impl FnOnce(&Path) -> Result<T>) -> Result<(Self, T)> {
        Self::at(path, false, make)
    }

    /// As [`make`](Self::make), for a directory that goes with all that is in it.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::Temporary;
    /// # let path = directory.path().join("part");
    /// let (temporary, ()) = Temporary::make_tree(path.clone(), |path| Ok(std::fs::create_dir(path).unwrap()))?;
    /// std::fs::write(path.join("file"), "in it")?;
    /// drop(temporary);
    /// assert!(!path.exists());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`make`](Self::make).
    pub fn make_tree<T>(path: PathBuf, make: impl FnOnce(&Path) -> Result<T>) -> Result<(Self, T)> {
        Self::at(path, true, make)
    }

    fn at<T>(path: PathBuf, tree: bool, make: impl FnOnce(&Path) -> Result<T>) -> Result<(Self, T)> {
        let (directory, name) = HeldDir::of(&path).map_err(|error| Error::io("create", &path, error))?;
        let mut state = state();
        let made = make(&path)?;
        Ok((Self::registered(&mut state, directory, name, path, tree), made))
    }

    /// Makes something in a held directory, under a hidden name like `stem` that nobody can foresee, and takes the duty to
    /// remove it. `make` gets the directory and the name, and fails with `EEXIST` if somebody has the name: then it is
    /// called again with another. It must make what only this user can open, and nothing if it fails.
    ///
    /// ```
    /// use fullbore::file::{HeldDir, Temporary};
    /// use rustix::fs::{Mode, OFlags, openat};
    /// # let directory = tempfile::tempdir()?;
    /// let held = HeldDir::open(directory.path())?;
    /// let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY;
    /// let make = |directory: std::os::fd::BorrowedFd<'_>, name: &std::ffi::OsStr| openat(directory, name, flags, Mode::RUSR);
    /// let (temporary, _file) = Temporary::create(&held, "result".as_ref(), false, make)?;
    /// assert!(temporary.path().exists());
    /// drop(temporary);
    /// assert_eq!(std::fs::read_dir(directory.path())?.count(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of `make`.
    pub fn create<T>(
        directory: &HeldDir,
        stem: &OsStr,
        tree: bool,
        mut make: impl FnMut(BorrowedFd<'_>, &OsStr) -> rustix::io::Result<T>,
    ) -> std::io::Result<(Self, T)> {
        use std::os::fd::AsFd;
        let fd = directory.fd()?;
        for _ in 0..ATTEMPTS {
            let name = hidden_name(stem);
            let mut state = state();
            match make(fd.as_fd(), &name) {
                Err(Errno::EXIST) => {}
                made => {
                    let made = made?;
                    let path = directory.path().join(&name);
                    return Ok((Self::registered(&mut state, directory.clone(), name, path, tree), made));
                }
            }
        }
        Err(Errno::EXIST.into())
    }

    fn registered(
        state: &mut Registry,
        directory: HeldDir,
        name: OsString,
        path: PathBuf,
        tree: bool,
    ) -> Self {
        let (place, of) = (directory.clone(), name.clone());
        let id = state.register(if tree { Leftover::Tree(place, of) } else { Leftover::Name(place, of) });
        if tree {
            reserve(true);
        }
        Self { id, directory, name, path, tree, kept: false }
    }

    /// The path, for messages.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::Temporary;
    /// # let path = directory.path().join("part");
    /// let (temporary, ()) = Temporary::make(path.clone(), |path| Ok(std::fs::write(path, "part").unwrap()))?;
    /// assert_eq!(temporary.path(), path);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory it is in.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::Temporary;
    /// # let path = directory.path().join("part");
    /// let (temporary, ()) = Temporary::make(path.clone(), |path| Ok(std::fs::write(path, "part").unwrap()))?;
    /// assert_eq!(temporary.directory().path(), directory.path());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn directory(&self) -> &HeldDir {
        &self.directory
    }

    /// The name in the directory.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::Temporary;
    /// # let path = directory.path().join("part");
    /// let (temporary, ()) = Temporary::make(path.clone(), |path| Ok(std::fs::write(path, "part").unwrap()))?;
    /// assert_eq!(temporary.name(), "part");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// Does what gives it another name, and gives up the duty if that was done: in one, so that a run that is cleaned up
    /// meanwhile has it removed or has it whole.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::Temporary;
    /// # let path = directory.path().join("part");
    /// let (temporary, ()) = Temporary::make_tree(path, |path| Ok(std::fs::create_dir(path).unwrap()))?;
    /// temporary.persist_with(|held, name| {
    ///     let fd = held.fd()?;
    ///     std::io::Result::Ok(rustix::fs::renameat(&fd, name, &fd, "place")?)
    /// })?;
    /// assert!(directory.path().join("place").is_dir());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of `name`; then it is removed.
    pub fn persist_with<T, E>(
        mut self,
        name: impl FnOnce(&HeldDir, &OsStr) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let state = state();
        let named = name(&self.directory, &self.name);
        self.kept = named.is_ok();
        drop(state);
        named
    }

    /// Gives up the duty: the path is somebody's file now, or has another name.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::Temporary;
    /// # let path = directory.path().join("part");
    /// let (temporary, ()) = Temporary::make(path.clone(), |path| Ok(std::fs::write(path, "part").unwrap()))?;
    /// temporary.keep();
    /// assert!(path.exists());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let mut state = state();
        state.files.retain(|(id, _)| *id != self.id);
        match (self.kept, self.tree) {
            (true, _) => {}
            (false, false) => remove(&self.directory, &self.name),
            (false, true) => remove_tree(&self.directory, &self.name),
        }
        if self.tree {
            reserve(state.files.iter().any(|(_, left)| matches!(left, Leftover::Tree(..))));
        }
    }
}

/// A hidden name like `stem` that nobody can foresee.
pub(crate) fn hidden_name(stem: &OsStr) -> OsString {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    // Its keys are random, and differ each time.
    let random = std::hash::RandomState::new().hash_one(std::process::id());
    // A name may be 255 bytes long; the stem may be that already.
    let stem = stem.as_bytes();
    let mut name = b".".to_vec();
    name.extend_from_slice(&stem[..stem.len().min(180)]);
    name.extend_from_slice(format!(".fullbore-{random:016x}").as_bytes());
    OsString::from_vec(name)
}

/// An open file whose name is removed when the run is cleaned up, until this is dropped.
#[derive(Debug)]
pub(super) struct CleanupGuard {
    id: u64,
    delete_on_exit: Arc<DeleteOnExit>,
}

impl CleanupGuard {
    /// The file.
    pub(super) fn delete_on_exit(&self) -> &DeleteOnExit {
        &self.delete_on_exit
    }
}

impl Drop for CleanupGuard {
    fn drop(&mut self) {
        state().files.retain(|(id, _)| *id != self.id);
    }
}

/// Enters the file that `open` opens. It runs under the lock, so that there is no moment at which a file that it made is
/// not entered: it must not wait for anybody.
///
/// # Errors
/// Those of `open`.
pub(super) fn register<E>(
    open: impl FnOnce() -> std::result::Result<DeleteOnExit, E>,
) -> std::result::Result<CleanupGuard, E> {
    let mut state = state();
    let delete_on_exit = Arc::new(open()?);
    let id = state.register(Leftover::Open(delete_on_exit.clone()));
    Ok(CleanupGuard { id, delete_on_exit })
}

/// A file that is being rewritten where it stands: until this is dropped, stopping leaves it part old, part
/// new, and [`cleanup`] says so.
///
/// ```
/// let half_way = fullbore::file::unfinished("Cargo.toml".as_ref());
/// // … it is rewritten …
/// drop(half_way);
/// ```
#[derive(Debug)]
pub struct Unfinished(u64);

/// Notes that `path` is being rewritten where it stands.
///
/// ```
/// let half_way = fullbore::file::unfinished("Cargo.toml".as_ref());
/// // … it is rewritten …
/// drop(half_way);
/// ```
pub fn unfinished(path: &Path) -> Unfinished {
    let mut state = state();
    let id = state.next;
    state.next += 1;
    state.unfinished.push((id, path.to_owned()));
    Unfinished(id)
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        state().unfinished.retain(|(id, _)| *id != self.0);
    }
}

/// Removes every temporary path and every file opened with [delete-on-close](super::OpenOptions::delete_on_close), and returns the files that are left part old, part new. No temporary path can
/// be made any more: for the moment before the process ends.
///
/// ```
/// // Where the process ends before its time, in a thread that waits for signals.
/// let half_written = fullbore::file::cleanup();
/// assert!(half_written.is_empty());
/// ```
pub fn cleanup() -> Vec<PathBuf> {
    CLEANING_UP.store(true, Ordering::Relaxed);
    let mut state = state();
    // Youngest first: files before the directory they were made in.
    for (_, left) in state.files.drain(..).rev() {
        match left {
            Leftover::Name(directory, name) => remove(&directory, &name),
            Leftover::Tree(directory, name) => remove_tree(&directory, &name),
            // Whoever holds it open may learn of it when they close it.
            Leftover::Open(delete_on_exit) => drop(delete_on_exit.remove()),
        }
    }
    // Nobody need be told of a half-written file that has just been removed.
    let unfinished = state.unfinished.drain(..).map(|(_, path)| path).filter(|path| path.exists()).collect();
    mem::forget(state);
    unfinished
}

/// Whether [`cleanup`] was called: what fails from now on fails because of that.
pub(crate) fn is_cleaning_up() -> bool {
    CLEANING_UP.load(Ordering::Relaxed)
}
