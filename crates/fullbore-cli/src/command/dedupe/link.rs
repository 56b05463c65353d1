//! Linking: a name is replaced by a link to another file of the same content, by one rename, or left as it is.

use std::collections::HashMap;
use std::path::PathBuf;

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
    /// A file that would be replaced without `--dry-run`.
    Would,
    /// A file that must not be replaced, with the reason.
    Left(&'static str),
    Failed(Error),
}

/// Files of a group on one device that a further file is compared with. Bounds the work in a group of files that all
/// differ in their metadata.
const KEPT: usize = 16;

impl Links {
    /// Replaces every name of the group that can be a name of an earlier file on its device. Returns the names with
    /// their results, in order.
    pub(super) fn group(self, group: &Group, directories: &Directories) -> Vec<(PathBuf, LinkResult)> {
        let mut outcomes = Vec::new();
        let device = |file: &HashedFile| file.inode.identity.0;
        let first = device(&group.files[0]);
        // For each device, the files that replace others.
        let mut kept: HashMap<u64, Vec<&HashedFile>> = HashMap::new();
        for file in &group.files {
            let alone = || group.files.iter().filter(|other| device(other) == device(file)).nth(1).is_none();
            let results = if device(file) != first && !kept.contains_key(&device(file)) && alone() {
                all(file, || LinkResult::Left("on another file system"))
            } else {
                self.link(kept.entry(device(file)).or_default(), file, directories)
            };
            outcomes.extend(file.inode.names.iter().cloned().zip(results));
        }
        outcomes
    }

    /// Replaces the names of `file` by the first of the kept files that can replace it. Adds `file` to them if none can,
    /// so that files with its metadata are linked to it.
    fn link<'g>(
        self,
        kept: &mut Vec<&'g HashedFile>,
        file: &'g HashedFile,
        directories: &Directories,
    ) -> Vec<LinkResult> {
        let mut left = None;
        for keep in kept.iter_mut() {
            match self.replace(keep, file, directories) {
                Ok(results) if matches!(results[..], [LinkResult::Left(_), ..]) => {
                    _ = left.get_or_insert(results)
                }
                Ok(results) => return results,
                Err(error) if error.code() == Some(Code::TOO_MANY_NAMES) => {
                    // The kept file has reached its maximum number of links: from here on this one is kept.
                    *keep = file;
                    return all(file, || LinkResult::Kept);
                }
                Err(error) => {
                    let at = file.inode.names.iter().position(|name| name == error.path()).unwrap_or(0);
                    let mut results =
                        all(file, || LinkResult::Left("not all names of the file can be replaced"));
                    results[at] = LinkResult::Failed(error);
                    return results;
                }
            }
        }
        if kept.len() < KEPT {
            kept.push(file);
        }
        left.unwrap_or_else(|| all(file, || LinkResult::Kept))
    }

    /// Replaces all names of a file, or none: every replacement is complete before the first rename. Returns the results
    /// of the names. Uses the files and directories held open since they were found, so changes of paths in the meantime
    /// have no effect.
    fn replace(
        self,
        keep: &HashedFile,
        file: &HashedFile,
        directories: &Directories,
    ) -> Result<Vec<LinkResult>> {
        let source = directories.of(&keep.inode.names[0])?;
        let targets: Vec<Entry<'_>> =
            file.inode.names.iter().map(|name| directories.of(name)).collect::<Result<_>>()?;
        let (one, other) = (OpenInode::open(&source)?, OpenInode::open(&targets[0])?);
        for (kin, known, path) in [(&one, keep, source.path), (&other, file, targets[0].path)] {
            let stat = &kin.stat;
            let now = (stat.identity(), stat.size, (stat.mtime, stat.mtime_nsec));
            if now != (known.inode.identity, known.inode.len, known.modified) {
                return Err(changed(path));
            }
        }
        let left = |reason| Ok(all(file, || LinkResult::Left(reason)));
        if !one.is_free() || !other.is_free() {
            return left("one of the files is immutable or append-only");
        }
        match self.how {
            // An interrupted run would leave some names with the old file.
            ReplaceMethod::Reflink if other.stat.nlink > 1 => return left("the file has several names"),
            ReplaceMethod::Hard if other.stat.nlink > targets.len() as u64 => {
                return left("the file has other names outside the search");
            }
            _ => {}
        }
        if self.how == ReplaceMethod::Hard
            && !self.any_metadata
            && let Some(reason) = one.differs(&other, targets[0].path)?
        {
            return left(reason);
        }
        if self.dry_run {
            return Ok(all(file, || LinkResult::Would));
        }
        let made = match self.how {
            ReplaceMethod::Hard => linked(&one, &other.file, &source, &targets),
            ReplaceMethod::Reflink => {
                match targets.iter().map(|target| shared(&one, &other, target)).collect() {
                    Err(error) if cannot_reflink(&error) => {
                        return left("the file system cannot share their blocks");
                    }
                    made => made,
                }
            }
        };
        let temporaries: Vec<Temporary> = match made {
            Err(error) if error.code() == Some(Code::CROSSES_DEVICES) => {
                return left("on another file system");
            }
            made => made?,
        };
        // The replacements were compared with the file; the names must still lead to that file.
        for target in &targets {
            if !other.is_still(&target.stat()?) {
                return Err(changed(target.path));
            }
        }
        // Windows before 10 does not replace an open file.
        drop((one, other));
        let rename = |(temporary, target): (Temporary, &Entry<'_>)| match replace_by(temporary, target) {
            Ok(()) => LinkResult::Linked,
            Err(error) => LinkResult::Failed(Error::io("replace", target.path, error)),
        };
        Ok(temporaries.into_iter().zip(&targets).map(rename).collect())
    }
}

/// Returns the same result for all names of a file.
fn all(file: &HashedFile, result: impl Fn() -> LinkResult) -> Vec<LinkResult> {
    file.inode.names.iter().map(|_| result()).collect()
}

fn replace_by(temporary: Temporary, target: &Entry<'_>) -> std::io::Result<()> {
    let held = target.held.fd()?;
    Ok(temporary.persist_with(|_, made| sys::rename(&held, made, &held, target.name))?)
}

/// Creates another name of `one` in the directory of each target; all of them are names of `other`, which has the same
/// bytes.
fn linked(
    one: &OpenInode,
    other: &File,
    source: &Entry<'_>,
    targets: &[Entry<'_>],
) -> Result<Vec<Temporary>> {
    let from = source.held.fd().map_err(|error| Error::io("link", source.path, error))?;
    let mut temporaries = Vec::new();
    for target in targets {
        let (temporary, ()) = Temporary::create(target.held, target.name, false, |directory, name| {
            sys::hard_link(&from, source.name, directory, name, AtFlags::empty())
        })
        .map_err(|error| Error::io("link", target.path, error))?;
        temporaries.push(temporary);
    }
    if !equal(&one.file, other, &mut 0)? {
        return Err(changed(targets[0].path));
    }
    // The name that was linked may no longer have led to the file.
    for temporary in &temporaries {
        if !one.is_still(&stat(temporary.directory(), temporary.name(), source.path)?) {
            return Err(changed(source.path));
        }
    }
    Ok(temporaries)
}

/// Creates a file in the directory of `target` that shares the blocks of `one`, has the bytes of `other` and its
/// attributes.
fn shared(one: &OpenInode, other: &OpenInode, target: &Entry<'_>) -> Result<Temporary> {
    let (temporary, fd) = Temporary::create(target.held, target.name, false, |directory, name| {
        sys::clone_to_name(one.file.as_handle(), directory, name)
    })
    .map_err(|error| Error::io("share the blocks of", target.path, error))?;
    // It has the access list of its directory; a network share may withhold the right to change that.
    let _ = sys::make_private(&fd);
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
