//! Linking: a name is replaced by a link to another file of the same content, by one rename, or left as it is.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use fullbore::error::{Error, Result};
use fullbore::file::{File, Temporary};
use fullbore::sys::{self, AsHandle, AtFlags, Code};

use super::content::equal;
use super::find::{Group, HashedFile};
use super::inode::{Directories, Entry, OpenInode, changed, copy_metadata, stat};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ReplaceMethod {
    Hard,
    Reflink,
}

/// Options for replacing the files of a group.
#[derive(Debug, Clone, Copy)]
pub(super) struct Links {
    pub(super) how: ReplaceMethod,
    pub(super) any_metadata: bool,
    pub(super) dry_run: bool,
}

#[derive(Debug)]
pub(super) enum LinkResult {
    /// The file that replaces the others.
    Kept,
    Linked,
    /// Not replaced because of `--dry-run`.
    Would,
    /// Must not be replaced, with the reason.
    Left(&'static str),
    Failed(Error),
}

impl LinkResult {
    pub(super) fn is_failure(&self) -> bool {
        matches!(self, Self::Failed(_))
    }
}

impl Links {
    /// Replaces every name of the group that is not a name of the first file on its device. Returns the names with
    /// their results, in order.
    pub(super) fn group(self, group: &Group, directories: &Directories) -> Vec<(PathBuf, LinkResult)> {
        let mut outcomes = Vec::new();
        let device = |file: &HashedFile| file.inode.identity.0;
        let first = device(&group.files[0]);
        // Of each device, the file that replaces the others, and a name that it keeps.
        let mut kept: HashMap<u64, (&HashedFile, &Path)> = HashMap::new();
        for file in &group.files {
            let alone = || group.files.iter().filter(|other| device(other) == device(file)).count() == 1;
            if device(file) != first && alone() {
                let left = |name: &PathBuf| (name.clone(), LinkResult::Left("on another file system"));
                outcomes.extend(file.inode.names.iter().map(left));
                continue;
            }
            for name in &file.inode.names {
                let keep = *kept.entry(device(file)).or_insert((file, name));
                let outcome = if std::ptr::eq(keep.0, file) {
                    LinkResult::Kept
                } else {
                    match self.replace(keep, file, name, directories) {
                        Ok(Some(reason)) => LinkResult::Left(reason),
                        Ok(None) if self.dry_run => LinkResult::Would,
                        Ok(None) => LinkResult::Linked,
                        Err(error) if error.code() == Some(Code::TOO_MANY_NAMES) => {
                            // The file has reached its maximum number of links: from here on this one is kept.
                            kept.insert(device(file), (file, name));
                            LinkResult::Kept
                        }
                        Err(error) => LinkResult::Failed(error),
                    }
                };
                outcomes.push((name.clone(), outcome));
            }
        }
        outcomes
    }

    /// Replaces one name, or returns the reason why it must not be replaced. Uses the files and directories held open
    /// since they were found, so changes of paths in the meantime have no effect.
    fn replace(
        self,
        (keep, kept_name): (&HashedFile, &Path),
        file: &HashedFile,
        name: &Path,
        directories: &Directories,
    ) -> Result<Option<&'static str>> {
        let source = directories.of(kept_name)?;
        let target = directories.of(name)?;
        let (one, other) = (OpenInode::open(&source)?, OpenInode::open(&target)?);
        for (kin, known, path) in [(&one, keep, source.path), (&other, file, name)] {
            let stat = &kin.stat;
            let now = (stat.identity(), stat.size, (stat.mtime, stat.mtime_nsec));
            if now != (known.inode.identity, known.inode.len, known.modified) {
                return Err(changed(path));
            }
        }
        if !one.is_free() || !other.is_free() {
            return Ok(Some("one of the files is immutable or append-only"));
        }
        // The names of one file stay names of one file.
        match self.how {
            // An interrupted run would leave some names with the old file.
            ReplaceMethod::Reflink if other.stat.nlink > 1 => return Ok(Some("the file has several names")),
            ReplaceMethod::Hard if other.stat.nlink > file.inode.names.len() as u64 => {
                return Ok(Some("the file has other names outside the search"));
            }
            _ => {}
        }
        if self.how == ReplaceMethod::Hard
            && !self.any_metadata
            && let Some(reason) = one.differs(&other, name)?
        {
            return Ok(Some(reason));
        }
        if self.dry_run {
            return Ok(None);
        }
        let made = match self.how {
            ReplaceMethod::Hard => linked(&one, &other.file, &source, &target),
            ReplaceMethod::Reflink => match shared(&one, &other, &target) {
                Err(error) if cannot_reflink(&error) => {
                    return Ok(Some("the file system cannot share their blocks"));
                }
                other => other,
            },
        };
        let temporary = match made {
            Err(error) if error.code() == Some(Code::CROSSES_DEVICES) => {
                return Ok(Some("on another file system"));
            }
            other => other?,
        };
        // The replacement was compared with the file under this name; the name must still lead to that file.
        if !other.is_still(&target.stat()?) {
            return Err(changed(name));
        }
        // Windows before 10 does not replace an open file.
        drop((one, other));
        let failed = |error: std::io::Error| Error::io("replace", name, error);
        let held = target.held.fd().map_err(failed)?;
        temporary
            .persist_with(|_, made| sys::rename(&held, made, &held, target.name))
            .map_err(|error| failed(error.into()))?;
        Ok(None)
    }
}

/// Creates another name of `one` in the directory of `target`, which has the same bytes.
fn linked(one: &OpenInode, other: &File, source: &Entry<'_>, target: &Entry<'_>) -> Result<Temporary> {
    let from = source.held.fd().map_err(|error| Error::io("link", source.path, error))?;
    let (temporary, ()) = Temporary::create(target.held, target.name, false, |directory, name| {
        sys::hard_link(&from, source.name, directory, name, AtFlags::empty())
    })
    .map_err(|error| Error::io("link", target.path, error))?;
    if !equal(&one.file, other, &mut 0)? {
        return Err(changed(target.path));
    }
    // The name that was linked may no longer have led to the file.
    if !one.is_still(&stat(temporary.directory(), temporary.name(), source.path)?) {
        return Err(changed(source.path));
    }
    Ok(temporary)
}

/// Creates a file in the directory of `target` that shares the blocks of `one`, has the bytes of `other` and its
/// attributes.
fn shared(one: &OpenInode, other: &OpenInode, target: &Entry<'_>) -> Result<Temporary> {
    let (temporary, fd) = Temporary::create(target.held, target.name, false, |directory, name| {
        sys::clone_to_name(one.file.as_handle(), directory, name)
    })
    .map_err(|error| Error::io("share the blocks of", target.path, error))?;
    let read = sys::try_clone(&fd).map_err(|error| Error::io("read", target.path, error.into()))?;
    if !equal(&File::from_fd(read, target.path)?, &other.file, &mut 0)? {
        return Err(changed(target.path));
    }
    copy_metadata(&fd, other, target.path)?;
    Ok(temporary)
}

/// True if the error means that the file system cannot share blocks of these files.
fn cannot_reflink(error: &Error) -> bool {
    let refusals =
        [Code::UNSUPPORTED, Code::INAPPROPRIATE, Code::CROSSES_DEVICES, Code::INVALID, Code::NOT_IMPLEMENTED];
    error.code().is_some_and(|code| refusals.contains(&code))
}
