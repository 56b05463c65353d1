//! Modes, owners and times.

use std::os::fd::AsFd;

use rustix::fs::{AtFlags, Gid, Timespec, Timestamps, Uid};

use super::super::{Result, Status};
use super::PathArg;
use super::open::permissions;

/// Sets the permission bits of an open file.
pub fn change_mode(file: impl AsFd, mode: u32) -> Result<()> {
    Ok(rustix::fs::fchmod(file, permissions(mode))?)
}

/// Sets the permission bits of a path's target.
pub fn change_mode_of(path: impl PathArg, mode: u32) -> Result<()> {
    Ok(rustix::fs::chmod(path, permissions(mode))?)
}

/// Sets the permission bits of the target of a name in a directory.
pub fn change_mode_at(directory: impl AsFd, name: impl PathArg, mode: u32) -> Result<()> {
    Ok(rustix::fs::chmodat(directory, name, permissions(mode), AtFlags::empty())?)
}

/// Sets the owner and group of an open file; `None` keeps one.
pub fn change_owner(file: impl AsFd, user: Option<u32>, group: Option<u32>) -> Result<()> {
    Ok(rustix::fs::fchown(file, user.map(Uid::from_raw), group.map(Gid::from_raw))?)
}

/// Sets the owner and group of a name in a directory, which is not followed.
pub fn change_owner_at(
    directory: impl AsFd,
    name: impl PathArg,
    user: Option<u32>,
    group: Option<u32>,
) -> Result<()> {
    let (user, group) = (user.map(Uid::from_raw), group.map(Gid::from_raw));
    Ok(rustix::fs::chownat(directory, name, user, group, AtFlags::SYMLINK_NOFOLLOW)?)
}

fn times(of: &Status) -> Timestamps {
    let time = |seconds: i64, nanoseconds: i64| Timespec { tv_sec: seconds as _, tv_nsec: nanoseconds as _ };
    Timestamps {
        last_access: time(of.atime, of.atime_nsec),
        last_modification: time(of.mtime, of.mtime_nsec),
    }
}

/// Sets the times of an open file to those of `of`.
pub fn set_times(file: impl AsFd, of: &Status) -> Result<()> {
    Ok(rustix::fs::futimens(file, &times(of))?)
}

/// Sets the modification time of an open file to that of `of`.
pub fn set_modified(file: impl AsFd, of: &Status) -> Result<()> {
    let last_access = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT };
    Ok(rustix::fs::futimens(file, &Timestamps { last_access, ..times(of) })?)
}

/// Sets the times of a name in a directory, which is not followed, to those of `of`.
pub fn set_times_at(directory: impl AsFd, name: impl PathArg, of: &Status) -> Result<()> {
    Ok(rustix::fs::utimensat(directory, name, &times(of), AtFlags::SYMLINK_NOFOLLOW)?)
}

/// A file that replaces another inherits mode and owner from it, for which there are calls, and nothing else.
pub fn inherit(_: impl AsFd, _: impl PathArg, _: impl AsFd) -> Result<()> {
    Ok(())
}
