//! Linking: a name is given to another file of the same content, by one rename, or stays what it is.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use fullbore::error::{Error, Kind, Result};
use fullbore::file::Temporary;
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;

use super::How;
use super::find::{Group, Known, equal};
use super::kinship::{Kin, changed, dress};

/// What to do with the files of a group.
#[derive(Debug, Clone, Copy)]
pub(super) struct Links {
    pub(super) how: How,
    pub(super) any_metadata: bool,
    pub(super) dry_run: bool,
}

/// What became of a name.
#[derive(Debug)]
pub(super) enum Outcome {
    /// It is what the others are replaced by.
    Kept,
    Linked,
    /// It would be, without `--dry-run`.
    Would,
    /// It must not be, and why.
    Left(&'static str),
    Failed(Error),
}

impl Outcome {
    pub(super) fn is_trouble(&self) -> bool {
        matches!(self, Self::Failed(_))
    }
}

impl Links {
    /// Replaces every name of the group that is not of its first file; the names with what became of them, in their order.
    pub(super) fn group(self, group: &Group) -> Vec<(PathBuf, Outcome)> {
        let mut outcomes = Vec::new();
        let mut keep = &group.files[0];
        for file in &group.files {
            for name in &file.inode.names {
                let outcome = if std::ptr::eq(keep, file) {
                    Outcome::Kept
                } else {
                    match self.replace(keep, file, name) {
                        Ok(Some(reason)) => Outcome::Left(reason),
                        Ok(None) if self.dry_run => Outcome::Would,
                        Ok(None) => Outcome::Linked,
                        Err(error) if error.raw_os_error() == Some(Errno::MLINK.raw_os_error()) => {
                            // That file has all the names it may have: from here on this one is kept.
                            keep = file;
                            Outcome::Kept
                        }
                        Err(error) => Outcome::Failed(error),
                    }
                };
                outcomes.push((name.clone(), outcome));
            }
        }
        outcomes
    }

    /// Replaces one name, or says why it must not be.
    fn replace(self, keep: &Known, file: &Known, name: &Path) -> Result<Option<&'static str>> {
        let source = &keep.inode.names[0];
        let (one, other) = (Kin::open(source)?, Kin::open(name)?);
        for (kin, known, path) in [(&one, keep, source.as_path()), (&other, file, name)] {
            let stat = &kin.stat;
            let now = (
                (stat.st_dev, stat.st_ino),
                stat.st_size as u64,
                (stat.st_mtime, i64::from(stat.st_mtime_nsec as i32)),
            );
            if now != (known.inode.identity, known.inode.len, known.modified) {
                return Err(changed(path));
            }
        }
        if one.stat.st_dev != other.stat.st_dev {
            return Ok(Some("it is on another file system"));
        }
        if !one.is_free() || !other.is_free() {
            return Ok(Some("one of them is immutable or may only be appended to"));
        }
        if self.how == How::Hard
            && !self.any_metadata
            && let Some(reason) = one.differs(&other, name)?
        {
            return Ok(Some(reason));
        }
        if self.dry_run {
            return Ok(None);
        }
        let made = match self.how {
            How::Hard => beside(name, |path| {
                rustix::fs::linkat(CWD, source, CWD, path, AtFlags::empty())
                    .map_err(|error| Error::io("link", source, error.into()))
            })
            .map(|(temporary, ())| temporary),
            How::Reflink => match shared(&one, &other, name) {
                Err(error) if refuses(&error) => {
                    return Ok(Some("this file system does not share blocks between these"));
                }
                other => other,
            },
        };
        let temporary = match made {
            Err(error) if error.raw_os_error() == Some(Errno::XDEV.raw_os_error()) => {
                return Ok(Some("it is on another file system"));
            }
            other => other?,
        };
        // What will stand there is compared with what stands there, however long ago the hashes were made.
        if !equal(temporary.path(), name)? || !other.is_still(name)? {
            return Err(changed(name));
        }
        if self.how == How::Hard && !one.is_still(temporary.path())? {
            return Err(changed(source));
        }
        rustix::fs::renameat(CWD, temporary.path(), CWD, name)
            .map_err(|error| Error::io("replace", name, error.into()))?;
        temporary.keep();
        Ok(None)
    }
}

/// A file beside `name` that shares the blocks of `one` and is otherwise as `other`.
fn shared(one: &Kin, other: &Kin, name: &Path) -> Result<Temporary> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let (temporary, fd): (Temporary, OwnedFd) = beside(name, |path| {
        rustix::fs::openat(CWD, path, flags, Mode::from_raw_mode(0o600))
            .map_err(|error| Error::io("create a file beside", name, error.into()))
    })?;
    rustix::fs::ioctl_ficlone(&fd, &one.fd)
        .map_err(|error| Error::io("share the blocks of", name, error.into()))?;
    dress(&fd, other, name)?;
    Ok(temporary)
}

/// Whether blocks cannot be shared here, whatever is tried.
fn refuses(error: &Error) -> bool {
    let refusals = [Errno::NOTSUP, Errno::NOTTY, Errno::XDEV, Errno::INVAL, Errno::NOSYS];
    refusals.iter().any(|refusal| error.raw_os_error() == Some(refusal.raw_os_error()))
}

/// Makes something under a name of its own in the directory of `name`.
fn beside<T>(name: &Path, make: impl Fn(&Path) -> Result<T>) -> Result<(Temporary, T)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let directory = name.parent().unwrap_or(Path::new(""));
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let own = OsString::from(format!(".fullbore-{}-{number}", std::process::id()));
        match Temporary::make(directory.join(own), &make) {
            Err(error)
                if error.raw_os_error() == Some(Errno::EXIST.raw_os_error()) && error.kind() == Kind::Io => {}
            other => return other,
        }
    }
}
