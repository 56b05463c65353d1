//! Attributes that a copy takes from its source: owner, extended attributes, mode, times, in an order in which none
//! undoes another.

use std::ffi::{CStr, OsStr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, Stat, Timespec, Timestamps, Uid, XattrFlags};
use rustix::io::Errno;

use super::options::Preserve;
use crate::error::{Error, Result};
use crate::file::{lawful, usual_mode};

/// The access control lists, which belong to the mode.
const LISTS: [&[u8]; 2] = [b"system.posix_acl_access", b"system.posix_acl_default"];

/// The mode of a copy that does not keep the source's, before the process's mask or the directory's default list.
pub(super) fn usual(preserve: &Preserve, stat: &Stat) -> u32 {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory | FileType::Socket if preserve.default_mode => 0o777,
        _ if preserve.default_mode => 0o666,
        FileType::Directory => stat.st_mode & 0o1777,
        _ => stat.st_mode & 0o777,
    }
}

/// The mode that a copy is created with: no other user can open it before it has its owner.
pub(super) fn creation_mode(preserve: &Preserve, stat: &Stat) -> u32 {
    if preserve.mode || preserve.owner { stat.st_mode & 0o700 } else { usual(preserve, stat) }
}

/// Sets the final mode of a file created with [`creation_mode`], if the source's mode is not kept.
pub(super) fn widen(
    preserve: &Preserve,
    stat: &Stat,
    within: &OwnedFd,
    target: Place<'_>,
) -> rustix::io::Result<()> {
    if preserve.mode || !preserve.owner {
        return Ok(());
    }
    let bits = Mode::from_raw_mode(usual_mode(within, usual(preserve, stat)));
    match target {
        Place::Open(fd) => rustix::fs::fchmod(fd, bits),
        Place::Name(directory, name) => rustix::fs::chmodat(directory, name, bits, AtFlags::empty()),
    }
}

/// An open file, or a name in an open directory.
#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    /// An open file or directory.
    Open(BorrowedFd<'a>),
    /// A name; symbolic links are not followed.
    Name(BorrowedFd<'a>, &'a CStr),
}

impl Place<'_> {
    /// The path of the name, for calls that take no directory.
    fn path(&self) -> Option<PathBuf> {
        match self {
            Self::Open(_) => None,
            Self::Name(directory, name) => {
                let name: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(name.to_bytes());
                Some(match directory.as_raw_fd() {
                    fd if fd == rustix::fs::CWD.as_raw_fd() => PathBuf::from(name),
                    fd => Path::new("/proc/self/fd").join(fd.to_string()).join(name),
                })
            }
        }
    }
}

/// Gives `target` (`path` in messages) the attributes in `stat` and of `source` that `preserve` selects. `link`: it is
/// a symbolic link, which has no mode.
pub(super) fn keep(
    preserve: &Preserve,
    source: Place<'_>,
    stat: &Stat,
    target: Place<'_>,
    path: &dyn Fn() -> PathBuf,
    link: bool,
) -> Result<()> {
    let failed = |doing: &'static str| move |error: Errno| Error::io(doing, path(), error.into());
    let mut mode = stat.st_mode & 0o7777;
    if preserve.owner {
        mode = lawful(mode, give(stat, target).map_err(failed("preserve the owner of"))?);
    } else if preserve.mode && mode & 0o6000 != 0 && !directory(stat) {
        mode = lawful(mode, belongs(stat, target).map_err(failed("inspect"))?);
    }
    if preserve.attributes || preserve.mode {
        extended(preserve, source, target)
            .or_else(|error| {
                if error == Errno::ACCESS {
                    writable(target, || extended(preserve, source, target))
                } else {
                    Err(error)
                }
            })
            .or_else(|error| if preserve.insist { Err(error) } else { Ok(()) })
            .map_err(failed("preserve the extended attributes of"))?;
    }
    if preserve.mode && !link {
        let bits = Mode::from_raw_mode(mode);
        match target {
            Place::Open(fd) => rustix::fs::fchmod(fd, bits),
            Place::Name(directory, name) => chmod(directory, name, stat, bits),
        }
        .map_err(failed("preserve the mode of"))?;
    }
    if preserve.times {
        times(stat, target).map_err(failed("preserve the times of"))?;
    }
    Ok(())
}

/// Sets the mode of a file just created under a name, unless another file has taken the name since.
fn chmod(directory: BorrowedFd<'_>, name: &CStr, stat: &Stat, mode: Mode) -> rustix::io::Result<()> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(directory, name, flags, Mode::empty())?;
    let there = rustix::fs::fstat(&fd)?;
    let kind = |stat: &Stat| FileType::from_raw_mode(stat.st_mode);
    if kind(&there) != kind(stat) || there.st_nlink != 1 {
        return Err(Errno::STALE);
    }
    // No call sets the mode of an `O_PATH` descriptor directly.
    rustix::fs::chmod(format!("/proc/self/fd/{}", fd.as_raw_fd()), mode)
}

/// Changes the owner; true if the file has the source's owner now. Missing permission is not an error.
fn give(stat: &Stat, target: Place<'_>) -> rustix::io::Result<bool> {
    let change = |user: Option<Uid>| {
        let group = Some(Gid::from_raw(stat.st_gid));
        match target {
            Place::Open(fd) => rustix::fs::fchown(fd, user, group),
            Place::Name(directory, name) => {
                rustix::fs::chownat(directory, name, user, group, AtFlags::SYMLINK_NOFOLLOW)
            }
        }
    };
    match change(Some(Uid::from_raw(stat.st_uid))) {
        Ok(()) => Ok(true),
        Err(Errno::PERM | Errno::INVAL | Errno::OPNOTSUPP) => {
            let _ = change(None);
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// True for a directory: its set-group-ID bit gives nobody rights.
fn directory(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

/// True if owner and group equal those of the source.
fn belongs(stat: &Stat, target: Place<'_>) -> rustix::io::Result<bool> {
    let made = match target {
        Place::Open(fd) => rustix::fs::fstat(fd),
        Place::Name(directory, name) => rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW),
    }?;
    Ok((made.st_uid, made.st_gid) == (stat.st_uid, stat.st_gid))
}

/// Runs `set` while the mode lets the owner write to the file, for calls that check the mode even of an open file.
fn writable(target: Place<'_>, set: impl Fn() -> rustix::io::Result<()>) -> rustix::io::Result<()> {
    let Place::Open(fd) = target else { return set() };
    let mode = Mode::from_raw_mode(rustix::fs::fstat(fd)?.st_mode & 0o7777);
    rustix::fs::fchmod(fd, mode | Mode::WUSR)?;
    let result = set();
    rustix::fs::fchmod(fd, mode)?;
    result
}

fn times(stat: &Stat, target: Place<'_>) -> rustix::io::Result<()> {
    let times = Timestamps {
        last_access: Timespec { tv_sec: stat.st_atime as _, tv_nsec: stat.st_atime_nsec as _ },
        last_modification: Timespec { tv_sec: stat.st_mtime as _, tv_nsec: stat.st_mtime_nsec as _ },
    };
    match target {
        Place::Open(fd) => rustix::fs::futimens(fd, &times),
        Place::Name(directory, name) => {
            rustix::fs::utimensat(directory, name, &times, AtFlags::SYMLINK_NOFOLLOW)
        }
    }
}

/// Copies all extended attributes it can; returns the first error.
fn extended(preserve: &Preserve, source: Place<'_>, target: Place<'_>) -> rustix::io::Result<()> {
    let (from, to) = (source.path(), target.path());
    let mut names = vec![0; 1 << 10];
    let len = loop {
        let listed = match (&source, &from) {
            (Place::Open(fd), _) => rustix::fs::flistxattr(fd, names.as_mut_slice()),
            (_, Some(path)) => rustix::fs::llistxattr(path.as_path(), names.as_mut_slice()),
            _ => Ok(0),
        };
        match listed {
            Ok(len) => break len,
            Err(Errno::RANGE) if names.len() < 1 << 20 => names.resize(names.len() * 4, 0),
            // The file system has no extended attributes.
            Err(Errno::OPNOTSUPP) => return Ok(()),
            Err(error) => return Err(error),
        }
    };
    let mut first = Ok(());
    for name in names[..len].split(|&byte| byte == 0).filter(|name| !name.is_empty()) {
        let wanted = if LISTS.contains(&name) { preserve.mode } else { preserve.attributes };
        if !wanted {
            continue;
        }
        let one = value(source, from.as_deref(), name).and_then(|value| match (&target, &to) {
            (Place::Open(fd), _) => rustix::fs::fsetxattr(fd, name, &value, XattrFlags::empty()),
            (_, Some(path)) => rustix::fs::lsetxattr(path.as_path(), name, &value, XattrFlags::empty()),
            _ => Ok(()),
        });
        if first.is_ok() {
            first = one;
        }
    }
    first
}

fn value(source: Place<'_>, path: Option<&Path>, name: &[u8]) -> rustix::io::Result<Vec<u8>> {
    let mut value = vec![0; 256];
    loop {
        let read = match (&source, path) {
            (Place::Open(fd), _) => rustix::fs::fgetxattr(fd, name, value.as_mut_slice()),
            (_, Some(path)) => rustix::fs::lgetxattr(path, name, value.as_mut_slice()),
            _ => Ok(0),
        };
        match read {
            Ok(len) => {
                value.truncate(len);
                return Ok(value);
            }
            Err(Errno::RANGE) if value.len() < 1 << 20 => value.resize(value.len() * 16, 0),
            Err(error) => return Err(error),
        }
    }
}

/// Gives a file that replaces another the access control list of the other as its mode.
pub(super) fn inherit_list(directory: &OwnedFd, name: &OsStr, target: impl AsFd) {
    let old = Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string()).join(name);
    if let Ok(list) = {
        let mut value = vec![0; 4096];
        rustix::fs::getxattr(&old, LISTS[0], value.as_mut_slice()).map(|len| {
            value.truncate(len);
            value
        })
    } {
        // If the list cannot be kept, the mode still applies, which allows no more.
        let _ = rustix::fs::fsetxattr(target, LISTS[0], &list, XattrFlags::empty());
    }
}
