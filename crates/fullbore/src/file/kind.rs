//! The kind of a path's target, and stamps of files.

use std::fmt;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Stat};

use crate::error::{Error, Result};

/// The kind of file that a path refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    Regular,
    /// A directory.
    Directory,
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
    pub(super) fn of(mode: rustix::fs::RawMode) -> Self {
        match FileType::from_raw_mode(mode) {
            FileType::RegularFile => Self::Regular,
            FileType::Directory => Self::Directory,
            FileType::Fifo => Self::Fifo,
            FileType::Socket => Self::Socket,
            FileType::CharacterDevice => Self::CharacterDevice,
            FileType::BlockDevice => Self::BlockDevice,
            _ => Self::Other,
        }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Regular => "regular file",
            Self::Directory => "directory",
            Self::Fifo => "pipe",
            Self::Socket => "socket",
            Self::CharacterDevice => "character device",
            Self::BlockDevice => "block device",
            Self::Other => "file of an unknown kind",
        })
    }
}

/// The identity, length and modification time of a file at one moment. Different stamps mean a changed file; equal
/// identities mean the same file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStamp {
    /// The device and inode numbers.
    pub identity: (u64, u64),
    /// The length in bytes; for anything but a regular file, the value that the system reports.
    pub len: u64,
    /// The time of the last modification: seconds and nanoseconds.
    pub modified: (i64, i64),
}

impl FileStamp {
    pub(crate) fn of(stat: &Stat) -> Self {
        Self {
            identity: (stat.st_dev, stat.st_ino),
            len: stat.st_size as u64,
            // The type of the nanoseconds differs between rustix's backends.
            modified: (stat.st_mtime, i64::from(stat.st_mtime_nsec as i32)),
        }
    }
}

/// The kind and stamp of a path, with symbolic links followed and without opening it; `None` if it does not exist.
///
/// ```
/// use fullbore::file::{FileKind, stat};
/// let (kind, _) = stat("src".as_ref())?.expect("it is there");
/// assert_eq!(kind, FileKind::Directory);
/// assert_eq!(stat("missing".as_ref())?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the system call fails for another reason.
pub fn stat(path: &Path) -> Result<Option<(FileKind, FileStamp)>> {
    match rustix::fs::statat(rustix::fs::CWD, path, AtFlags::empty()) {
        Ok(stat) => Ok(Some((FileKind::of(stat.st_mode), FileStamp::of(&stat)))),
        Err(rustix::io::Errno::NOENT) => Ok(None),
        Err(error) => Err(Error::io("inspect", path, error.into())),
    }
}
