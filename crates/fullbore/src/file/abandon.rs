//! What a run that is stopped must not leave behind.
//!
//! Every temporary name is entered here before it exists, under the lock that [`abandon_all`] takes and never
//! gives back: a signal's thread can remove all of them at any moment, and none can appear after it.

use std::mem;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::Result;

static STATE: Mutex<State> = Mutex::new(State { next: 0, files: Vec::new(), unfinished: Vec::new() });

#[derive(Debug)]
struct State {
    next: u64,
    files: Vec<(u64, PathBuf)>,
    unfinished: Vec<(u64, PathBuf)>,
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A path that is removed when this is dropped or the run is abandoned, unless it was [kept](Self::keep).
///
/// ```
/// use fullbore::file::{File, Temporary};
/// # let directory = tempfile::tempdir()?;
/// let (temporary, file) = Temporary::make(directory.path().join("scratch"), |path| File::create_new(path))?;
/// assert!(temporary.path().exists());
/// drop(temporary);
/// assert_eq!(std::fs::read_dir(&directory)?.count(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Temporary {
    id: u64,
    path: PathBuf,
    kept: bool,
}

impl Temporary {
    /// Makes something at `path` with `make`, and takes the duty to remove it. If `make` fails, there is
    /// nothing to remove: it must not have made anything.
    ///
    /// ```
    /// use fullbore::file::{File, Temporary};
    /// # let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("scratch");
    /// let (temporary, file) = Temporary::make(path.clone(), |path| File::create_new(path))?;
    /// assert!(Temporary::make(path.clone(), |path| File::create_new(path)).is_err(), "it exists");
    /// assert!(path.exists(), "what the second did not make, it did not remove");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of `make`.
    pub fn make<T>(path: PathBuf, make: impl FnOnce(&Path) -> Result<T>) -> Result<(Self, T)> {
        let mut state = state();
        let made = make(&path)?;
        let id = state.next;
        state.next += 1;
        state.files.push((id, path.clone()));
        Ok((Self { id, path, kept: false }, made))
    }

    /// The path.
    ///
    /// ```
    /// use fullbore::file::{File, Temporary};
    /// # let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("scratch");
    /// let (temporary, _file) = Temporary::make(path.clone(), |path| File::create_new(path))?;
    /// assert_eq!(temporary.path(), path);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives up the duty: the path is somebody's file now, or has another name.
    ///
    /// ```
    /// use fullbore::file::{File, Temporary};
    /// # let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("scratch");
    /// let (temporary, _file) = Temporary::make(path.clone(), |path| File::create_new(path))?;
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
        if !self.kept {
            remove(&self.path);
        }
    }
}

/// A file that is being rewritten where it stands: until this is dropped, stopping leaves it part old, part
/// new, and [`abandon_all`] says so.
#[derive(Debug)]
pub struct Unfinished(u64);

/// Notes that `path` is being rewritten where it stands.
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

/// Removes every temporary path and returns the files that are left part old, part new. No temporary path can
/// be made any more: for the moment before the process ends.
///
/// ```
/// use fullbore::file::{File, Output, Temporary, abandon_all};
/// # let directory = tempfile::tempdir()?;
/// let rewritten = directory.path().join("rewritten");
/// std::fs::write(&rewritten, "old")?;
/// let output = Output::in_place(&rewritten)?;
/// let made = Temporary::make(directory.path().join("scratch"), |path| File::create_new(path))?;
/// // In the thread that a signal woke:
/// assert_eq!(abandon_all(), [rewritten]);
/// assert!(!directory.path().join("scratch").exists());
/// # std::mem::forget((output, made)); // as when the process ends now: dropping them would wait for the lock
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn abandon_all() -> Vec<PathBuf> {
    let mut state = state();
    // Youngest first: files before the directory they were made in.
    for (_, path) in state.files.drain(..).rev() {
        remove(&path);
    }
    // Nobody need be told of a half-written file that has just been removed.
    let unfinished = state.unfinished.drain(..).map(|(_, path)| path).filter(|path| path.exists()).collect();
    mem::forget(state);
    unfinished
}

/// Removes a file or an empty directory. That it is gone already is as good.
fn remove(path: &Path) {
    if std::fs::remove_file(path).is_err() {
        let _ = std::fs::remove_dir(path);
    }
}
