//! What a path leads to, and what a file looks like at one moment.

use std::fmt;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Stat};

use crate::error::{Error, Result};

/// What a path leads to.
///
/// ```
/// use fullbore::file::{File, FileKind};
/// assert_eq!(File::open("Cargo.toml")?.kind(), FileKind::Regular);
/// assert_eq!(File::open("/dev/null")?.kind().to_string(), "character device");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    /// Something this system has besides.
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

/// What a file looked like at one moment, to tell whether it has changed since and whether two are one.
///
/// ```
/// use fullbore::file::File;
/// let (one, two) = (File::open("Cargo.toml")?, File::open("./Cargo.toml")?);
/// assert_eq!(one.stamp()?.identity, two.stamp()?.identity);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStamp {
    /// The device and inode numbers, which name the file.
    pub identity: (u64, u64),
    /// The length in bytes; for what is no regular file, whatever the system says.
    pub len: u64,
    /// When it was modified last: seconds and nanoseconds.
    pub modified: (i64, i64),
}

impl FileStamp {
    pub(crate) fn of(stat: &Stat) -> Self {
        Self {
            identity: (stat.st_dev, stat.st_ino),
            len: stat.st_size as u64,
            // The type of the nanoseconds differs between the ways to make the call.
            modified: (stat.st_mtime, i64::from(stat.st_mtime_nsec as i32)),
        }
    }
}

/// Looks at a path without opening it, following symbolic links; `None` if nothing is there.
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
/// If the system refuses for another reason.
pub fn stat(path: &Path) -> Result<Option<(FileKind, FileStamp)>> {
    match rustix::fs::statat(rustix::fs::CWD, path, AtFlags::empty()) {
        Ok(stat) => Ok(Some((FileKind::of(stat.st_mode), FileStamp::of(&stat)))),
        Err(rustix::io::Errno::NOENT) => Ok(None),
        Err(error) => Err(Error::io("inspect", path, error.into())),
    }
}
