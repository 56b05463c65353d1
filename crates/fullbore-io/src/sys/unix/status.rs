//! The status of files.

use std::os::fd::AsFd;

use rustix::fs::{Access, FileType, Stat};

use super::super::{FileKind, Result, Status};
use super::{AtFlags, PathArg};

impl From<FileType> for FileKind {
    fn from(found: FileType) -> Self {
        match found {
            FileType::RegularFile => Self::Regular,
            FileType::Directory => Self::Directory,
            FileType::Symlink => Self::Symlink,
            FileType::Fifo => Self::Fifo,
            FileType::Socket => Self::Socket,
            FileType::CharacterDevice => Self::CharacterDevice,
            FileType::BlockDevice => Self::BlockDevice,
            FileType::Unknown => Self::Other,
        }
    }
}

impl From<Stat> for Status {
    // The widths differ between systems.
    #[allow(clippy::unnecessary_cast)]
    fn from(stat: Stat) -> Self {
        Self {
            dev: stat.st_dev as u64,
            ino: stat.st_ino as u64,
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
        }
    }
}

/// The status of an open file: `fstat(2)`.
pub fn status(file: impl AsFd) -> Result<Status> {
    Ok(rustix::fs::fstat(file)?.into())
}

/// The status of a path's target: `stat(2)`.
pub fn stat(path: impl PathArg) -> Result<Status> {
    Ok(rustix::fs::stat(path)?.into())
}

/// The status of a name in a directory: `fstatat(2)`.
pub fn stat_at(directory: impl AsFd, name: impl PathArg, flags: AtFlags) -> Result<Status> {
    Ok(rustix::fs::statat(directory, name, flags.to_system())?.into())
}

/// Fails unless the effective user may write to a name in a directory: `faccessat(2)`.
pub fn writable_at(directory: impl AsFd, name: impl PathArg) -> Result<()> {
    Ok(rustix::fs::accessat(directory, name, Access::WRITE_OK, rustix::fs::AtFlags::EACCESS)?)
}
