//! What a run that is stopped must not leave behind.
//!
//! Every temporary name is entered here before it exists, under the lock that [`abandon_all`] takes and never
//! gives back: a signal's thread can remove all of them at any moment, and none can appear after it.

use std::mem;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::closing::Doomed;
use crate::error::Result;

/// Whether all is being removed.
static ABANDONED: AtomicBool = AtomicBool::new(false);

static STATE: Mutex<State> = Mutex::new(State { next: 0, files: Vec::new(), unfinished: Vec::new() });

#[derive(Debug)]
struct State {
    next: u64,
    files: Vec<(u64, Left)>,
    unfinished: Vec<(u64, PathBuf)>,
}

/// What would be left.
#[derive(Debug)]
enum Left {
    /// Whatever stands at this path.
    Path(PathBuf),
    /// A directory and all that is in it.
    Tree(PathBuf),
    /// The name of an open file, as long as it leads to it.
    Open(Arc<Doomed>),
}

impl State {
    fn enter(&mut self, left: Left) -> u64 {
        let id = self.next;
        self.next += 1;
        self.files.push((id, left));
        id
    }
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A path that is removed when this is dropped or the run is abandoned, unless it was [kept](Self::keep).
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
    path: PathBuf,
    tree: bool,
    kept: bool,
}

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
    /// Those of `make`.
    pub fn make<T>(path: PathBuf, make: impl FnOnce(&Path) -> Result<T>) -> Result<(Self, T)> {
        let mut state = state();
        let made = make(&path)?;
        let id = state.enter(Left::Path(path.clone()));
        Ok((Self { id, path, tree: false, kept: false }, made))
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
    /// Those of `make`.
    pub fn make_tree<T>(path: PathBuf, make: impl FnOnce(&Path) -> Result<T>) -> Result<(Self, T)> {
        let mut state = state();
        let made = make(&path)?;
        let id = state.enter(Left::Tree(path.clone()));
        Ok((Self { id, path, tree: true, kept: false }, made))
    }

    /// The path.
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

    /// Does what gives it another name, and gives up the duty if that was done: in one, so that a run that is abandoned
    /// meanwhile has it removed or has it whole.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::Temporary;
    /// # let (path, place) = (directory.path().join("part"), directory.path().join("place"));
    /// let (temporary, ()) = Temporary::make_tree(path, |path| Ok(std::fs::create_dir(path).unwrap()))?;
    /// temporary.settle(|path| std::fs::rename(path, &place))?;
    /// assert!(place.is_dir());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of `name`; then it is removed.
    pub fn settle<T, E>(
        mut self,
        name: impl FnOnce(&Path) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let state = state();
        let named = name(&self.path);
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
            (false, false) => remove(&self.path),
            (false, true) => remove_tree(&self.path),
        }
    }
}

/// An open file whose name is removed when the run is abandoned, until this is dropped.
#[derive(Debug)]
pub(super) struct Entered {
    id: u64,
    doomed: Arc<Doomed>,
}

impl Entered {
    /// The file.
    pub(super) fn doomed(&self) -> &Doomed {
        &self.doomed
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        state().files.retain(|(id, _)| *id != self.id);
    }
}

/// Enters the file that `open` opens. It runs under the lock, so that there is no moment at which a file that it made is
/// not entered: it must not wait for anybody.
///
/// # Errors
/// Those of `open`.
pub(super) fn enter<E>(
    open: impl FnOnce() -> std::result::Result<Doomed, E>,
) -> std::result::Result<Entered, E> {
    let mut state = state();
    let doomed = Arc::new(open()?);
    let id = state.enter(Left::Open(doomed.clone()));
    Ok(Entered { id, doomed })
}

/// A file that is being rewritten where it stands: until this is dropped, stopping leaves it part old, part
/// new, and [`abandon_all`] says so.
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
/// let half_written = fullbore::file::abandon_all();
/// assert!(half_written.is_empty());
/// ```
pub fn abandon_all() -> Vec<PathBuf> {
    ABANDONED.store(true, Ordering::Relaxed);
    let mut state = state();
    // Youngest first: files before the directory they were made in.
    for (_, left) in state.files.drain(..).rev() {
        match left {
            Left::Path(path) => remove(&path),
            Left::Tree(path) => remove_tree(&path),
            // Whoever holds it open may learn of it when they close it.
            Left::Open(doomed) => drop(doomed.remove()),
        }
    }
    // Nobody need be told of a half-written file that has just been removed.
    let unfinished = state.unfinished.drain(..).map(|(_, path)| path).filter(|path| path.exists()).collect();
    mem::forget(state);
    unfinished
}

/// Whether [`abandon_all`] was called: what fails from now on fails because of that.
pub(crate) fn abandoned() -> bool {
    ABANDONED.load(Ordering::Relaxed)
}

/// Removes a file or an empty directory. That it is gone already is as good.
fn remove(path: &Path) {
    if std::fs::remove_file(path).is_err() {
        let _ = std::fs::remove_dir(path);
    }
}

/// How often a directory is emptied again that somebody still makes files in: workers go on until the process ends.
const SWEEPS: usize = 100;

/// Removes a directory and all that is in it.
fn remove_tree(path: &Path) {
    for _ in 0..SWEEPS {
        match std::fs::remove_dir_all(path) {
            Err(error) if error.kind() == std::io::ErrorKind::DirectoryNotEmpty => {}
            _ => return,
        }
    }
}
