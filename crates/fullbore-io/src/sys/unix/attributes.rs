//! Attributes of files: status, modes, owners, times and extended attributes.

use std::os::fd::AsFd;

use rustix::fs::{Access, FileType, Gid, Stat, Timespec, Timestamps, Uid};

use super::code::calls;
use super::names::AtFlags;
#[cfg(target_os = "linux")]
use super::open::{OpenFlags, open_at};
use super::open::{PathArg, permissions};
use super::process::effective_user;
use crate::sys::code::{Code, Result};
#[cfg(target_os = "linux")]
use crate::sys::types::ACCESS_LIST;
use crate::sys::types::{FileKind, Status};

impl From<FileType> for FileKind {
    fn from(found: FileType) -> Self {
        Self::of_mode(found.as_raw_mode() as _)
    }
}

impl From<Stat> for Status {
    // The widths differ between systems.
    #[allow(clippy::unnecessary_cast)]
    fn from(stat: Stat) -> Self {
        Self {
            dev: stat.st_dev as u64,
            ino: number_of(&stat),
            mode: stat.st_mode as u32,
            nlink: stat.st_nlink as u64,
            uid: stat.st_uid,
            gid: stat.st_gid,
            rdev: stat.st_rdev as u64,
            size: stat.st_size as u64,
            blocks: stat.st_blocks as u64,
            blksize: stat.st_blksize as u64,
            atime: stat.st_atime as i64,
            atime_nsec: stat.st_atime_nsec as i64,
            mtime: stat.st_mtime as i64,
            mtime_nsec: stat.st_mtime_nsec as i64,
            ctime: stat.st_ctime as i64,
            ctime_nsec: stat.st_ctime_nsec as i64,
            sparse: (stat.st_blocks as u64).saturating_mul(512) < stat.st_size as u64,
        }
    }
}

/// Returns the number of a file. The drivers of FAT and exFAT on macOS have one number for all empty files, which differ in
/// their creation times.
#[allow(clippy::unnecessary_cast, reason = "the widths differ between systems")]
fn number_of(stat: &Stat) -> u64 {
    #[cfg(target_os = "macos")]
    if let (0, 1 | 999_999_999) = (stat.st_size, stat.st_ino) {
        let (seconds, rest) = (stat.st_birthtime as u64, stat.st_birthtime_nsec as u64);
        return stat.st_ino ^ seconds.wrapping_mul(1_000_000_000).wrapping_add(rest) << 1;
    }
    stat.st_ino as u64
}

calls! {
    fn status(file: impl AsFd) -> Status = rustix::fs::fstat;

    fn stat(path: impl PathArg) -> Status = rustix::fs::stat;
}

pub fn stat_at(directory: impl AsFd, name: impl PathArg, flags: AtFlags) -> Result<Status> {
    Ok(rustix::fs::statat(directory, name, flags.to_system())?.into())
}

/// Fails unless the effective user may write to a name in a directory: `faccessat(2)`.
pub fn writable_at(directory: impl AsFd, name: impl PathArg) -> Result<()> {
    Ok(rustix::fs::accessat(directory, name, Access::WRITE_OK, rustix::fs::AtFlags::EACCESS)?)
}

/// Returns a path of an open directory that this process and its children can use whatever takes its name; `None` where
/// the system has none.
#[cfg(target_os = "linux")]
pub fn shared_path(directory: &impl AsFd) -> Option<std::path::PathBuf> {
    // The number that `/proc` has for this process: it may belong to another namespace.
    let own = std::fs::read_link("/proc/self").ok()?;
    let path = std::path::PathBuf::from(format!(
        "/proc/{}/fd/{}",
        own.display(),
        std::os::fd::AsRawFd::as_raw_fd(&directory.as_fd())
    ));
    let found = stat(path.as_path()).ok()?;
    let held = status(directory.as_fd()).ok()?;
    (found.identity() == held.identity()).then_some(path)
}

/// A path of an open directory that this process and its children can use whatever takes its name; `None` where the system has
/// none.
#[cfg(not(target_os = "linux"))]
pub fn shared_path(_: &impl AsFd) -> Option<std::path::PathBuf> {
    None
}

pub fn change_mode(file: impl AsFd, mode: u32) -> Result<()> {
    Ok(rustix::fs::fchmod(file, permissions(mode))?)
}

/// Sets the mode of an entry that was opened with [`OpenFlags::PATH`].
#[cfg(target_os = "linux")]
fn change_mode_of(entry: &impl AsFd, mode: u32) -> Result<()> {
    use std::os::fd::AsRawFd;
    /// `fchmodat2`, Linux 6.6: the number on all architectures but MIPS, where this one returns `ENOSYS`.
    const FCHMODAT2: libc::c_long = 452;
    let (number, name) = (entry.as_fd().as_raw_fd(), c"");
    // SAFETY: the name is a string that lives; the call writes no memory.
    if unsafe { libc::syscall(FCHMODAT2, number, name.as_ptr(), mode & 0o7777, libc::AT_EMPTY_PATH) } == 0 {
        return Ok(());
    }
    // By a path under `/proc`.
    Ok(rustix::fs::chmod(super::open::handle_path(entry), permissions(mode))?)
}

/// Sets the mode of an entry that this process has just created in a directory; `STALE` if another file has taken the name.
pub fn change_mode_of_created(
    directory: impl AsFd,
    name: impl PathArg + Copy,
    kind: FileKind,
    mode: u32,
) -> Result<()> {
    // The descriptor is that of the entry that was inspected, whatever takes its name. macOS would need the right to read.
    #[cfg(target_os = "linux")]
    let entry = open_at(&directory, name, OpenFlags::PATH | OpenFlags::NOFOLLOW, 0)?;
    #[cfg(target_os = "linux")]
    let there = status(&entry)?;
    #[cfg(not(target_os = "linux"))]
    let there = stat_at(&directory, name, AtFlags::NOFOLLOW)?;
    if !there.is_new(kind) {
        return Err(Code::STALE);
    }
    #[cfg(target_os = "linux")]
    return change_mode_of(&entry, mode);
    #[cfg(not(target_os = "linux"))]
    return change_mode_at(directory, name, mode);
}

/// Sets the mode of a name in a directory; a link is not followed.
#[cfg(target_os = "linux")]
pub fn change_mode_at(directory: impl AsFd, name: impl PathArg + Copy, mode: u32) -> Result<()> {
    change_mode_of(&open_at(&directory, name, OpenFlags::PATH | OpenFlags::NOFOLLOW, 0)?, mode)
}

/// Sets the mode of a name in a directory; a link is not followed.
#[cfg(not(target_os = "linux"))]
pub fn change_mode_at(directory: impl AsFd, name: impl PathArg + Copy, mode: u32) -> Result<()> {
    Ok(rustix::fs::chmodat(directory, name, permissions(mode), AtFlags::NOFOLLOW.to_system())?)
}

/// Sets the owner and group of an open file; `None` keeps one.
pub fn change_owner(file: impl AsFd, user: Option<u32>, group: Option<u32>) -> Result<()> {
    Ok(rustix::fs::fchown(file, user.map(Uid::from_raw), group.map(Gid::from_raw))?)
}

/// Sets the owner and group of an entry that this process has just created in a directory; `NOT_PERMITTED` if it is not this
/// user's, because another file may have taken the name.
pub fn change_owner_of_created(
    directory: impl AsFd,
    name: impl PathArg + Copy,
    kind: FileKind,
    user: Option<u32>,
    group: Option<u32>,
) -> Result<()> {
    // The descriptor is that of the entry that was inspected, whatever takes its name.
    #[cfg(target_os = "linux")]
    let (directory, name, flags) =
        (open_at(&directory, name, OpenFlags::PATH | OpenFlags::NOFOLLOW, 0)?, "", AtFlags::EMPTY_PATH);
    #[cfg(not(target_os = "linux"))]
    let flags = AtFlags::NOFOLLOW;
    let there = stat_at(&directory, name, flags)?;
    let is_new = there.is_new(kind);
    if is_new && user.is_none_or(|id| id == there.uid) && group.is_none_or(|id| id == there.gid) {
        return Ok(());
    }
    if !is_new {
        return Err(Code::STALE);
    }
    if there.uid != effective_user() {
        return Err(Code::NOT_PERMITTED);
    }
    let (user, group) = (user.map(Uid::from_raw), group.map(Gid::from_raw));
    Ok(rustix::fs::chownat(&directory, name, user, group, flags.to_system())?)
}

fn times(of: &Status) -> Timestamps {
    let time = |seconds: i64, nanoseconds: i64| Timespec { tv_sec: seconds as _, tv_nsec: nanoseconds as _ };
    Timestamps {
        last_access: time(of.atime, of.atime_nsec),
        last_modification: time(of.mtime, of.mtime_nsec),
    }
}

pub fn set_times(file: impl AsFd, of: &Status) -> Result<()> {
    Ok(rustix::fs::futimens(file, &times(of))?)
}

pub fn set_modified(file: impl AsFd, of: &Status) -> Result<()> {
    let last_access = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT };
    Ok(rustix::fs::futimens(file, &Timestamps { last_access, ..times(of) })?)
}

pub fn set_times_at(directory: impl AsFd, name: impl PathArg, of: &Status) -> Result<()> {
    Ok(rustix::fs::utimensat(directory, name, &times(of), AtFlags::NOFOLLOW.to_system())?)
}

/// Does nothing: the mode of a new file lets nobody else open it.
pub fn make_private(_: impl AsFd) -> Result<()> {
    Ok(())
}

/// Sets or removes the access control list of a file that replaces another; mode and owner have calls of their own.
#[cfg(target_os = "linux")]
pub fn inherit(
    directory: impl AsFd,
    name: impl AsRef<std::ffi::OsStr>,
    file: impl AsFd,
    _owner: bool,
) -> Result<()> {
    const NONE: Code = Code(libc::ENODATA);
    let old = super::open::path_in(&directory, name.as_ref());
    // Five hundred entries.
    let mut list = [0; 4096];
    let found = match attribute_of_name(old.as_path(), ACCESS_LIST, &mut list) {
        // Removed meanwhile, or `/proc` is missing.
        Err(Code::NOT_FOUND) => {
            let flags = OpenFlags::READ | OpenFlags::NOFOLLOW | OpenFlags::NONBLOCK | OpenFlags::NOCTTY;
            match super::open::open_at(&directory, name.as_ref(), flags, 0) {
                // Its list stays unknown.
                Err(Code::ACCESS_DENIED) => Err(NONE),
                opened => attribute(opened?, ACCESS_LIST, &mut list),
            }
        }
        found => found,
    };
    match found {
        Ok(len) => set_attribute(file, ACCESS_LIST, &list[..len]),
        Err(Code::OUT_OF_RANGE) => Err(Code::OUT_OF_RANGE),
        // The directory's default list may have given it one.
        Err(NONE | Code::UNSUPPORTED) => {
            match remove_attribute(&file, ACCESS_LIST) {
                // It has one that cannot be removed, because the file was given away.
                Err(Code::NOT_PERMITTED) if attribute(&file, ACCESS_LIST, &mut list).is_ok() => {
                    Err(Code::NOT_PERMITTED)
                }
                _ => Ok(()),
            }
        }
        Err(error) => Err(error),
    }
}

/// Does nothing: a file that replaces another inherits only mode and owner, for which there are calls.
#[cfg(not(target_os = "linux"))]
pub fn inherit(_: impl AsFd, _: impl PathArg, _: impl AsFd, _owner: bool) -> Result<()> {
    Ok(())
}

#[cfg(not(target_os = "freebsd"))]
calls! {
    /// Lists the extended attributes of an open file, each with a zero byte at its end; returns the length of the list.
    fn attributes(file: impl AsFd, names: &mut [u8]) -> usize = rustix::fs::flistxattr;

    /// As [`attributes`], for a path whose last name is not followed.
    fn attributes_of_name(path: impl PathArg, names: &mut [u8]) -> usize = rustix::fs::llistxattr;

    /// Reads an extended attribute of an open file; returns its length.
    fn attribute(file: impl AsFd, name: impl PathArg, value: &mut [u8]) -> usize = rustix::fs::fgetxattr;

    fn attribute_of_name(path: impl PathArg, name: impl PathArg, value: &mut [u8]) -> usize = rustix::fs::lgetxattr;

    /// Removes an extended attribute of an open file.
    fn remove_attribute(file: impl AsFd, name: impl PathArg) -> () = rustix::fs::fremovexattr;

    /// As [`remove_attribute`], for a path whose last name is not followed.
    fn remove_attribute_of_name(path: impl PathArg, name: impl PathArg) -> () = rustix::fs::lremovexattr;
}

#[cfg(not(target_os = "freebsd"))]
pub fn set_attribute(file: impl AsFd, name: impl PathArg, value: &[u8]) -> Result<()> {
    Ok(rustix::fs::fsetxattr(file, name, value, rustix::fs::XattrFlags::empty())?)
}

#[cfg(not(target_os = "freebsd"))]
pub fn set_attribute_of_name(path: impl PathArg, name: impl PathArg, value: &[u8]) -> Result<()> {
    Ok(rustix::fs::lsetxattr(path, name, value, rustix::fs::XattrFlags::empty())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_of_another_user_is_not_given_away() {
        if effective_user() != 0 {
            return println!("skipped: giving files away needs root");
        }
        let room = tempfile::tempdir().unwrap();
        let directory = std::fs::File::open(room.path()).unwrap();
        let owner = |name: &str| stat_at(&directory, name, AtFlags::NOFOLLOW).unwrap().uid;
        let give = |name: &str, kind, user| change_owner_of_created(&directory, name, kind, Some(user), None);
        for name in ["own", "theirs"] {
            std::fs::write(room.path().join(name), "").unwrap();
        }
        std::os::unix::fs::symlink("theirs", room.path().join("link")).unwrap();
        give("theirs", FileKind::Regular, 7).unwrap();
        // Done already; then refused.
        give("theirs", FileKind::Regular, 7).unwrap();
        assert_eq!(give("theirs", FileKind::Regular, 8), Err(Code::NOT_PERMITTED));
        assert_eq!(give("own", FileKind::Fifo, 8), Err(Code::STALE));
        give("link", FileKind::Symlink, 8).unwrap();
        assert_eq!((owner("own"), owner("theirs"), owner("link")), (0, 7, 8));
        // A link is not followed.
        assert!(change_mode_at(&directory, "link", 0o777).is_err());
        change_mode_at(&directory, "own", 0o640).unwrap();
        assert_eq!(stat_at(&directory, "own", AtFlags::NOFOLLOW).unwrap().permissions(), 0o640);
    }
}
