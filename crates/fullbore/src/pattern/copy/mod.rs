//! Copying: files and trees, by the fastest way there is, with all that belongs to a file, and nothing half.
//!
//! What moves the bytes of one file is in `content` (sharing blocks, leaving holes out, parallel blocks) and `hashed`
//! (verifying and resuming, with `journal`); what walks trees is in `tree`, with
//! `regular`, `special`, `links` and `directories` for what it comes to, `existing` and `backup` for targets that exist,
//! over `directory`, `entry` and `queue`.

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
use crate::error::Kind;
use crate::error::Result;
use crate::file::{File, Output};

/// Copies each source to its target, a path to a path: what is a directory there is not gone into. What cannot be copied is
/// told, and the others are copied all the same; the account says how many.
///
/// Files appear whole: a directory that is new is made under a hidden name and named when all is in it, and so is each file
/// in a directory that is there already.
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
/// [`Kind::Interrupted`] if it was cancelled. Everything else is told and counted.
pub fn copy(
    pairs: &[(PathBuf, PathBuf)],
    options: &CopyOptions,
    progress: &Progress,
    tell: &(dyn Fn(CopyEvent) + Sync),
) -> Result<CopyStats> {
    tree::copy(pairs, options, progress, tell)
}

/// Tells whether `target` is a directory that an earlier [`copy`] of the directory `source` with `resume` began and did not end:
/// then the next one goes on with it, also where a target that is a directory is otherwise copied into.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// # let (source, target) = (directory.path().join("source"), directory.path().join("target"));
/// # std::fs::create_dir(&source)?;
/// std::fs::create_dir(&target)?;
/// assert!(!fullbore::pattern::copy_was_begun(&source, &target)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Kind::Locked`] if another run is at it, and those of the system.
pub fn copy_was_begun(source: &Path, target: &Path) -> Result<bool> {
    begun::was_begun(source, target)
}

/// Copies an open file to `output`, which is whole and has its name when this returns. Of the options those hold that are
/// about one file's bytes and attributes; resuming needs paths ([`copy`]).
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
/// Those of the system with path and offset; [`Kind::Changed`] if the input was modified meanwhile; [`Kind::SameFile`] if
/// the output is the input; [`Kind::Unsupported`] if blocks must be shared and cannot. The old output is as it was then.
pub fn copy_file(
    input: &File,
    output: Output,
    options: &CopyOptions,
    progress: &Progress,
) -> Result<CopyStats> {
    let turn = Mutex::new(());
    content::Content { input, options, progress, tell: &|_| (), turn: &turn }.copy(output, None)
}
