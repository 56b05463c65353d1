//! Copying: files and trees, by the fastest method available, with all attributes, and complete or not at all.
//!
//! `content` moves the bytes of one file (shared blocks, holes, parallel blocks); `hashed` verifies and resumes, with
//! `journal`. `tree` walks trees, with `regular`, `special`, `links` and `directories` for the entries, `existing` and
//! `backup` for existing targets, over `directory`, `entry` and `queue`.

mod attributes;
mod backup;
mod begun;
mod content;
mod directories;
mod directory;
mod entry;
mod existing;
mod failure;
mod hashed;
mod journal;
mod links;
mod note;
mod options;
mod parents;
mod queue;
mod regular;
mod segments;
mod special;
mod stats;
mod tree;

use std::path::{Path, PathBuf};
use std::sync::Mutex;

pub use backup::backup_name;
pub use failure::CopyError;
pub use options::{
    Backup, BackupControl, Confirm, CopyEvent, CopyKind, CopyOptions, Existing, Follow, Overwrite, Preserve,
    Reflink, Sparse,
};
pub use stats::CopyStats;

use super::Progress;
#[cfg(doc)]
use fullbore_io::error::ErrorKind;
use fullbore_io::error::Result;
use fullbore_io::file::{File, Output};

/// Copies each source to its target, path to path: an existing directory is not copied into. An entry that cannot be
/// copied is reported to `tell` and counted in the result; the others are copied all the same.
///
/// Files appear complete: a new directory is created under a hidden name and renamed when its content is complete; in
/// existing directories each file is.
///
/// ```
/// use fullbore::pattern::{CopyEvent, CopyOptions, Follow, Progress, Preserve, copy};
/// # let directory = tempfile::tempdir()?;
/// # let (old, new) = (directory.path().join("old"), directory.path().join("new"));
/// std::fs::create_dir(&old)?;
/// std::fs::write(old.join("file"), "bytes")?;
/// let options = CopyOptions { recursive: true, follow: Follow::None, preserve: Preserve::ALL, ..CopyOptions::default() };
/// let tell = |event: CopyEvent| println!("{event}");
/// let stats = copy(&[(old, new.clone())], &options, &Progress::default(), &tell)?;
/// assert_eq!((stats.files, stats.directories, stats.failed, stats.bytes()), (1, 1, 0, 5));
/// assert_eq!(std::fs::read(new.join("file"))?, b"bytes");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Cancelled`] if it was cancelled. Everything else is reported to `tell` and counted.
pub fn copy(
    pairs: &[(PathBuf, PathBuf)],
    options: &CopyOptions,
    progress: &Progress,
    tell: &(dyn Fn(CopyEvent) + Sync),
) -> Result<CopyStats> {
    tree::copy(pairs, options, progress, tell)
}

/// True if `target` is a directory that an earlier [`copy`] of the directory `source` with `resume` began and did not
/// finish: the next one continues in it, even where an existing directory is otherwise copied into.
///
/// # Errors
/// [`ErrorKind::Locked`] if another run is copying it, and the system's.
pub fn copy_was_begun(source: &Path, target: &Path) -> Result<bool> {
    begun::was_begun(source, target)
}

/// Copies an open file to `output`, which is complete and has its name on return. Only options on one file's bytes and
/// attributes apply; resuming needs paths ([`copy`]).
///
/// ```
/// use fullbore::file::{File, Output};
/// use fullbore::pattern::{CopyOptions, Progress, copy_file};
/// # let directory = tempfile::tempdir()?;
/// let source = File::create_new(directory.path().join("source"))?;
/// source.write_all_at(b"bytes", 1 << 30)?;
/// let output = Output::replace(directory.path().join("target"))?;
/// let stats = copy_file(&source, output, &CopyOptions::default(), &Progress::default())?;
/// assert!(stats.copied + stats.cloned < 1 << 20 || stats.cloned == stats.bytes());
/// assert_eq!(stats.bytes(), (1 << 30) + 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The system's, with path and offset; [`ErrorKind::Changed`] if the input was modified meanwhile; [`ErrorKind::SameFile`] if the
/// output is the input; [`ErrorKind::Unsupported`] if blocks must be shared and cannot be. The old output is unchanged then.
pub fn copy_file(
    input: &File,
    output: Output,
    options: &CopyOptions,
    progress: &Progress,
) -> Result<CopyStats> {
    let turn = Mutex::new(());
    content::Content { input, options, progress, tell: &|_| (), turn: &turn }.copy(output, None)
}
