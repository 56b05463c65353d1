//! What a path leads to, and what a file looks like at one moment.

use std::fmt;
use std::path::Path;

use rustix::fs::{AtFlags, FileType};

use crate::error::{Error, Result};

/// What a path leads to.
///
/// ```
/// use fullbore::file::{File, FileKind};
/// let kind = File::open("/dev/zero")?.kind();
/// assert_eq!((kind, kind.to_string()), (FileKind::CharacterDevice, "character device".into()));
/// # Ok::<(), fullbore::Error>(())
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
/// # let directory = tempfile::tempdir()?;
/// let file = fullbore::file::File::create_new(directory.path().join("file"))?;
/// let before = file.snapshot()?;
/// assert_eq!(file.snapshot()?, before, "nothing has changed");
/// file.set_len(10)?;
/// assert_ne!(file.snapshot()?, before);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Snapshot {
    /// The device and inode numbers, which name the file.
    pub identity: (u64, u64),
    /// The length in bytes; for what is no regular file, whatever the system says.
    pub len: u64,
    /// When it was modified last: seconds and nanoseconds.
    pub modified: (i64, i64),
}

/// Looks at a path without opening it, following symbolic links; `None` if nothing is there.
///
/// ```
/// use std::path::Path;
/// use fullbore::file::{FileKind, look};
/// let (kind, _) = look(Path::new("/"))?.unwrap();
/// assert_eq!(kind, FileKind::Directory);
/// assert!(look(Path::new("/nowhere"))?.is_none());
/// # Ok::<(), fullbore::Error>(())
/// ```
///
/// # Errors
/// If the system refuses for another reason.
pub fn look(path: &Path) -> Result<Option<(FileKind, Snapshot)>> {
    match rustix::fs::statat(rustix::fs::CWD, path, AtFlags::empty()) {
        Ok(stat) => Ok(Some((
            FileKind::of(stat.st_mode),
            Snapshot {
                identity: (stat.st_dev, stat.st_ino),
                len: stat.st_size as u64,
                modified: (stat.st_mtime, i64::from(stat.st_mtime_nsec as i32)),
            },
        ))),
        Err(rustix::io::Errno::NOENT) => Ok(None),
        Err(error) => Err(Error::io("inspect", path, error.into())),
    }
}
