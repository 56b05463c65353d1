//! What a copy takes over from its source besides its bytes: owner, extended attributes, mode, times, in the order in which
//! none undoes another.

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

/// The mode of a copy whose source's is not kept, before the mask of the process or the directory's list.
pub(super) fn usual(preserve: &Preserve, stat: &Stat) -> u32 {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory | FileType::Socket if preserve.default_mode => 0o777,
        _ if preserve.default_mode => 0o666,
        FileType::Directory => stat.st_mode & 0o1777,
        _ => stat.st_mode & 0o777,
    }
}

/// The mode that a copy is made with: nobody else can open what is not theirs yet.
pub(super) fn creation_mode(preserve: &Preserve, stat: &Stat) -> u32 {
    if preserve.mode || preserve.owner { stat.st_mode & 0o700 } else { usual(preserve, stat) }
}

/// Gives a new file in a directory, made with [`creation_mode`], the mode that it is to have if the source's is not kept.
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

/// Something open or a name in an open directory, as calls take it.
#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    /// An open file or directory.
    Open(BorrowedFd<'a>),
    /// A name, which is not followed.
    Name(BorrowedFd<'a>, &'a CStr),
}

impl Place<'_> {
    /// A path of the name, for the calls that have no form with a directory.
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

/// Gives `target`, which messages call `path`, what `stat` and `source` have, as `preserve` says. `link`: it is a symbolic
/// link, which has no mode.
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

/// Sets the mode of what was made under a name, and of nothing that somebody put there since.
fn chmod(directory: BorrowedFd<'_>, name: &CStr, stat: &Stat, mode: Mode) -> rustix::io::Result<()> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(directory, name, flags, Mode::empty())?;
    let there = rustix::fs::fstat(&fd)?;
    let kind = |stat: &Stat| FileType::from_raw_mode(stat.st_mode);
    if kind(&there) != kind(stat) || there.st_nlink != 1 {
        return Err(Errno::STALE);
    }
    // No call sets a mode by such a descriptor alone.
    rustix::fs::chmod(format!("/proc/self/fd/{}", fd.as_raw_fd()), mode)
}

/// Gives away what was made; whether it has the owner now that it should. That nobody but root may do that is no error.
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

/// Tells a directory, whose set-group-ID bit makes nobody run anything.
fn directory(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

/// Compares owner and group of what was made with those of the source.
fn belongs(stat: &Stat, target: Place<'_>) -> rustix::io::Result<bool> {
    let made = match target {
        Place::Open(fd) => rustix::fs::fstat(fd),
        Place::Name(directory, name) => rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW),
    }?;
    Ok((made.st_uid, made.st_gid) == (stat.st_uid, stat.st_gid))
}

/// Does what needs a file that its mode lets its owner write to, whatever the file was opened for.
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

/// Copies extended attributes; the first that cannot be kept is the error, after all others were.
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
            // A file system that has none.
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

/// Gives a file that takes another's place the access control list that the other has, as its mode.
pub(super) fn inherit_list(directory: &OwnedFd, name: &OsStr, target: impl AsFd) {
    let old = Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string()).join(name);
    if let Ok(list) = {
        let mut value = vec![0; 4096];
        rustix::fs::getxattr(&old, LISTS[0], value.as_mut_slice()).map(|len| {
            value.truncate(len);
            value
        })
    } {
        // Where it cannot be kept there is the mode, which allows no more.
        let _ = rustix::fs::fsetxattr(target, LISTS[0], &list, XattrFlags::empty());
    }
}
