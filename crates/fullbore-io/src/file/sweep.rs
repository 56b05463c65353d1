//! Removal of names in held directories, by descriptors only: a link placed in the way is removed, not followed.

use std::ffi::{CString, OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use rustix::event::EventfdFlags;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::held::HeldDir;

/// The number of attempts to empty a directory in which workers still create files: they run until the process ends.
const SWEEPS: usize = 100;

/// Removes a file or an empty directory; succeeds if it is already gone.
pub(super) fn remove(directory: &HeldDir, name: &OsStr) {
    let Ok(fd) = directory.fd() else { return };
    if rustix::fs::unlinkat(&fd, name, AtFlags::empty()).is_err() {
        let _ = rustix::fs::unlinkat(&fd, name, AtFlags::REMOVEDIR);
    }
}

/// Descriptors reserved for emptying a directory, so that a run that fails for lack of descriptors can still clean up.
static RESERVE: Mutex<Vec<OwnedFd>> = Mutex::new(Vec::new());

/// Reserves the descriptors needed to empty a directory, or releases them.
pub(super) fn reserve(keep: bool) {
    const NEEDED: usize = 2;
    let mut reserve = RESERVE.lock().unwrap_or_else(PoisonError::into_inner);
    if !keep {
        reserve.clear();
    }
    while keep
        && reserve.len() < NEEDED
        && let Ok(fd) = rustix::event::eventfd(0, EventfdFlags::CLOEXEC)
    {
        reserve.push(fd);
    }
}

/// Removes a directory and its content.
pub(super) fn remove_tree(directory: &HeldDir, name: &OsStr) {
    let Ok(fd) = directory.fd() else { return };
    if rustix::fs::unlinkat(&fd, name, AtFlags::REMOVEDIR).is_ok() {
        return;
    }
    reserve(false);
    for _ in 0..SWEEPS {
        match emptied(&fd, name) {
            Err(Errno::NOTEMPTY | Errno::EXIST) => {}
            _ => return,
        }
    }
}

fn identity(fd: impl AsFd) -> rustix::io::Result<(u64, u64)> {
    let stat = rustix::fs::fstat(fd)?;
    Ok((stat.st_dev, stat.st_ino))
}

fn open(directory: impl AsFd, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::openat(directory.as_fd(), name, flags, Mode::empty()) {
        // The directory has the mode of the one that it is a copy of.
        Err(Errno::ACCESS) => {
            rustix::fs::chmodat(directory.as_fd(), name, Mode::RWXU, AtFlags::empty())?;
            rustix::fs::openat(directory, name, flags, Mode::empty())
        }
        other => other,
    }
}

/// Empties and removes a directory. At any depth, at most two descriptors are open: the way up is `..`, if that is the
/// directory that the way down came through.
fn emptied(top: &OwnedFd, name: &OsStr) -> rustix::io::Result<()> {
    let mut way: Vec<(OsString, (u64, u64))> = Vec::new();
    let mut inner = open(top, name)?;
    way.push((name.to_owned(), identity(&inner)?));
    loop {
        let names = Dir::new(inner)?;
        let deeper = sweep(names)?;
        match deeper {
            (at, Some(name)) => {
                inner = open(&at, &name)?;
                way.push((name, identity(&inner)?));
            }
            (at, None) => {
                let Some((name, _)) = way.pop() else { return Ok(()) };
                let Some((_, above)) = way.last() else {
                    drop(at);
                    return rustix::fs::unlinkat(top, &name, AtFlags::REMOVEDIR);
                };
                inner = open(&at, OsStr::new(".."))?;
                if identity(&inner)? != *above {
                    return Err(Errno::STALE);
                }
                rustix::fs::unlinkat(&inner, &name, AtFlags::REMOVEDIR)?;
            }
        }
    }
}

/// Removes the entries of a directory up to the first directory that is not empty, whose name it returns.
fn sweep(mut names: Dir) -> rustix::io::Result<(OwnedFd, Option<OsString>)> {
    use std::os::unix::ffi::OsStrExt;
    let at = rustix::io::fcntl_dupfd_cloexec(names.fd()?, 3)?;
    while let Some(entry) = names.read() {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let name: CString = name.to_owned();
        let unlink = |flags| rustix::fs::unlinkat(&at, &name, flags);
        let removed = match entry.file_type() {
            FileType::Directory => unlink(AtFlags::REMOVEDIR),
            _ => match unlink(AtFlags::empty()) {
                Err(Errno::ISDIR | Errno::PERM) => unlink(AtFlags::REMOVEDIR),
                other => other,
            },
        };
        match removed {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(Errno::NOTEMPTY | Errno::EXIST) => {
                return Ok((at, Some(OsStr::from_bytes(name.to_bytes()).to_owned())));
            }
            // The directory lacks a permission that removal needs.
            Err(Errno::ACCESS) if rustix::fs::fchmod(&at, Mode::RWXU).is_ok() => unlink(AtFlags::empty())
                .or_else(|_| unlink(AtFlags::REMOVEDIR))
                .or_else(|error| if error == Errno::NOTEMPTY { Ok(()) } else { Err(error) })?,
            Err(error) => return Err(error),
        }
    }
    Ok((at, None))
}
