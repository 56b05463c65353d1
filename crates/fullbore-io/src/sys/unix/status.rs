//! The status of files.

use std::fmt;
use std::os::fd::AsFd;

use rustix::fs::{Access, FileType, Stat};

use super::{AtFlags, PathArg, Result};

/// The kind of file that a path refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileKind {
    /// A regular file.
    Regular,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A pipe, named or not.
    Fifo,
    /// A socket.
    Socket,
    /// A character device.
    CharacterDevice,
    /// A block device.
    BlockDevice,
    /// Any other kind of the system.
    Other,
}

impl FileKind {
    /// The kind in the bits of a mode.
    #[doc(hidden)]
    pub fn of_mode(mode: u32) -> Self {
        FileType::from_raw_mode(mode).into()
    }
}

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

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Regular => "regular file",
            Self::Directory => "directory",
            Self::Symlink => "symbolic link",
            Self::Fifo => "pipe",
            Self::Socket => "socket",
            Self::CharacterDevice => "character device",
            Self::BlockDevice => "block device",
            Self::Other => "file of an unknown kind",
        })
    }
}

/// The status of a file, with the names and units of [`std::os::unix::fs::MetadataExt`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "as in the standard library")]
pub struct Status {
    pub dev: u64,
    pub ino: u64,
    pub mode: u32,
    pub nlink: u64,
    pub uid: u32,
    pub gid: u32,
    pub rdev: u64,
    pub size: u64,
    pub blocks: u64,
    pub blksize: u64,
    pub atime: i64,
    pub atime_nsec: i64,
    pub mtime: i64,
    pub mtime_nsec: i64,
    pub ctime: i64,
    pub ctime_nsec: i64,
}

impl Status {
    /// The kind of the file.
    pub fn kind(&self) -> FileKind {
        FileKind::of_mode(self.mode)
    }

    /// The permission bits, those of set-user-ID, set-group-ID and sticky included.
    pub fn permissions(&self) -> u32 {
        self.mode & 0o7777
    }

    /// The device and inode numbers.
    pub fn identity(&self) -> (u64, u64) {
        (self.dev, self.ino)
    }

    /// The allocated bytes.
    pub fn allocated(&self) -> u64 {
        self.blocks.saturating_mul(512)
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
