//! A directory: made, under a hidden name where it is new, and finished when all that is in it is there.

use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::attributes::{self, Place};
use super::directory::{Directory, path};
use super::options::CopyEvent;
use super::tree::{Job, Worker};
use crate::error::{Error, Kind, Result};
use crate::file::{Durability, Temporary, temporary_name};

impl Job<'_> {
    /// Makes a directory and copies what is in it.
    pub(super) fn enter(
        &self,
        worker: &mut Worker,
        parent: &Arc<Directory>,
        source_name: &CStr,
        target_name: &CStr,
        follow: bool,
    ) -> Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let once = if follow { OFlags::empty() } else { OFlags::NOFOLLOW };
        let of_source = |error: Errno| Error::io("open", parent.source_path(source_name), error.into());
        let of_target = |error: Errno| Error::io("create", parent.target_path(target_name), error.into());
        let source = rustix::fs::openat(parent.source(), source_name, flags | once, Mode::empty())
            .map_err(of_source)?;
        let stat = rustix::fs::fstat(&source).map_err(of_source)?;
        let identity = (stat.st_dev, stat.st_ino);
        let into_itself = || {
            let what = format!(
                "a directory cannot be copied into itself, {}",
                parent.target_path(target_name).display()
            );
            Error::new(Kind::Invalid, "copy", parent.source_path(source_name), what)
        };
        if parent.goes_to(identity) || parent.is_outermost() && stands_in(path(target_name), identity) {
            return Err(into_itself());
        }
        if follow && parent.is_in(identity) {
            let what = "the symbolic link leads to a directory that it is in";
            return Err(Error::new(Kind::Invalid, "copy", parent.source_path(source_name), what));
        }
        let kept = self.options.preserve.mode || self.options.preserve.owner;
        let mode = Mode::from_raw_mode(if kept { 0o700 } else { stat.st_mode & 0o1777 | 0o700 });
        let mut hidden = None;
        let mut new = true;
        let target = if parent.fresh {
            rustix::fs::mkdirat(parent.target(), target_name, mode).map_err(of_target)?;
            rustix::fs::openat(parent.target(), target_name, flags | OFlags::NOFOLLOW, Mode::empty())
        } else {
            match rustix::fs::statat(parent.target(), target_name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(there) if FileType::from_raw_mode(there.st_mode) == FileType::Directory => {
                    if (there.st_dev, there.st_ino) == identity {
                        let what = "source and target are the same directory";
                        let path = parent.source_path(source_name);
                        return Err(Error::new(Kind::SameFile, "copy", path, what));
                    }
                    new = false;
                    rustix::fs::openat(parent.target(), target_name, flags, Mode::empty())
                }
                Ok(_) => {
                    let what = format!(
                        "it is no directory, and {} is one",
                        parent.source_path(source_name).display()
                    );
                    let path = parent.target_path(target_name);
                    return Err(Error::new(Kind::Unsupported, "overwrite", path, what));
                }
                Err(Errno::NOENT) if self.options.resume => {
                    rustix::fs::mkdirat(parent.target(), target_name, mode).map_err(of_target)?;
                    rustix::fs::openat(parent.target(), target_name, flags, Mode::empty())
                }
                Err(Errno::NOENT) => {
                    let place = trimmed(parent.present_path(target_name));
                    let (temporary, fd) = Temporary::make_tree(temporary_name(&place), |path| {
                        rustix::fs::mkdir(path, mode).map_err(of_target)?;
                        Ok(rustix::fs::open(path, flags | OFlags::NOFOLLOW, Mode::empty()))
                    })?;
                    hidden = Some(temporary);
                    fd
                }
                Err(error) => return Err(of_target(error)),
            }
        }
        .map_err(of_target)?;
        let made = rustix::fs::fstat(&target).map_err(of_target)?;
        let names = Dir::read_from(&source).map_err(of_source)?;
        worker.account.directories += u64::from(new);
        let directory = Arc::new(Directory::new(
            parent.clone(),
            (source_name, target_name),
            source,
            target,
            hidden,
            stat,
            (made.st_dev, made.st_ino),
            !self.options.resume,
        ));
        if self.options.tell_names && new {
            let (source, target) = directory.own_paths();
            (self.tell)(CopyEvent::Copied { source, target });
        }
        self.scan(worker, &directory, names);
        self.release(worker, directory);
        Ok(())
    }

    /// Lets go of a directory. Whoever is the last finishes it, and so what it is in.
    pub(super) fn release(&self, worker: &mut Worker, directory: Arc<Directory>) {
        let mut next = Some(directory);
        while let Some(directory) = next.take().and_then(Arc::into_inner) {
            if let Err(error) = self.settle(&directory) {
                self.fail(worker, error);
            }
            let place = directory.own_paths().1;
            let Directory { parent, hidden, .. } = directory;
            let hidden = hidden.into_inner().unwrap_or_else(PoisonError::into_inner);
            match (hidden, parent) {
                (Some(hidden), Some(parent)) => {
                    let name = trimmed(place);
                    let place = match name.file_name() {
                        Some(name) => hidden.path().with_file_name(name),
                        None => name,
                    };
                    // It keeps its parent: that shall get its times after this got its name.
                    self.whole.lock().unwrap_or_else(PoisonError::into_inner).push((hidden, place, parent));
                }
                (_, parent) => next = parent,
            }
        }
    }

    /// Gives a directory its attributes, which changes in it would change again.
    fn settle(&self, directory: &Directory) -> Result<()> {
        let Some(stat) = &directory.stat else { return Ok(()) };
        let preserve = &self.options.preserve;
        let (source, target) = (directory.source(), directory.target());
        let paths = || directory.own_paths().1;
        if !preserve.mode && stat.st_mode & 0o700 != 0o700 {
            let now = rustix::fs::fstat(target).map_or(0, |now| now.st_mode & 0o7077);
            let mode = Mode::from_raw_mode(now | attributes::usual(stat) & 0o700);
            rustix::fs::fchmod(target, mode)
                .map_err(|error| Error::io("set the mode of", paths(), error.into()))?;
        }
        attributes::keep(preserve, Place::Open(source), stat, Place::Open(target), &paths, false)
    }

    /// Gives a directory that is whole its name.
    pub(super) fn unveil(&self, hidden: Temporary, place: &Path) -> Result<()> {
        let failed = |doing: &'static str| move |error: Errno| Error::io(doing, place, error.into());
        let open = |path: &Path| {
            rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        };
        if self.options.durability != Durability::Process {
            // One call for the whole tree; a file at a time would wait for the device as often as there are files.
            open(hidden.path()).and_then(rustix::fs::syncfs).map_err(failed("sync"))?;
        }
        let cwd = rustix::fs::CWD;
        hidden
            .settle(|hidden| {
                match rustix::fs::renameat_with(cwd, hidden, cwd, place, RenameFlags::NOREPLACE) {
                    // The file system does not know the flag: an empty directory would be replaced, nothing else.
                    Err(Errno::INVAL | Errno::NOSYS) => rustix::fs::rename(hidden, place),
                    other => other,
                }
            })
            .map_err(failed("create"))?;
        if self.options.durability == Durability::Full {
            open(crate::file::directory_of(place))
                .and_then(rustix::fs::fsync)
                .map_err(failed("sync the directory of"))?;
        }
        Ok(())
    }
}

/// Whether a path will stand in the directory that is meant, or is it.
fn stands_in(place: &Path, identity: (u64, u64)) -> bool {
    let mut above = match trimmed(place.to_owned()).parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    let mut last = None;
    while let Ok(stat) = rustix::fs::stat(&above) {
        let found = (stat.st_dev, stat.st_ino);
        if found == identity {
            return true;
        }
        if last == Some(found) {
            return false;
        }
        last = Some(found);
        above.push("..");
    }
    false
}

/// The path without the slashes and dots at its end.
fn trimmed(path: PathBuf) -> PathBuf {
    path.components().collect()
}
