//! Inodes and their attributes: files that differ in more than their names must not be linked.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::Path;

use fullbore::error::{Error, ErrorKind, Result};
use fullbore::file::File;
use rustix::fs::{IFlags, Mode, Stat};
use rustix::io::Errno;

use super::directories::Entry;

/// An open file with its status; it cannot be replaced by another while it is open.
pub(super) struct OpenInode {
    pub(super) file: File,
    pub(super) stat: Stat,
}

impl OpenInode {
    /// Opens a name of a regular file that is not a symbolic link, without blocking.
    pub(super) fn open(entry: &Entry<'_>) -> Result<Self> {
        let file = entry.open()?;
        let stat = rustix::fs::fstat(&file).map_err(|error| Error::io("open", entry.path, error.into()))?;
        Ok(Self { file, stat })
    }

    /// True if the status of a name is still that of this file when it was opened.
    pub(super) fn is_still(&self, now: &Stat) -> bool {
        let mark = |stat: &Stat| {
            (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime, stat.st_mtime_nsec, stat.st_mode)
        };
        mark(now) == mark(&self.stat)
    }

    /// True if the file may be replaced, and may replace others.
    pub(super) fn is_free(&self) -> bool {
        match rustix::fs::ioctl_getflags(&self.file) {
            Ok(flags) => !flags.intersects(IFlags::IMMUTABLE | IFlags::APPEND),
            // A file system without such flags.
            Err(_) => true,
        }
    }

    /// Returns the reason why one inode must not replace the other; `None` if it may.
    pub(super) fn differs(&self, other: &Self, path: &Path) -> Result<Option<&'static str>> {
        Ok(if (self.stat.st_uid, self.stat.st_gid) != (other.stat.st_uid, other.stat.st_gid) {
            Some("different owner")
        } else if self.stat.st_mode != other.stat.st_mode {
            Some("different mode")
        } else if self.attributes(path)? != other.attributes(path)? {
            Some("different extended attributes")
        } else {
            None
        })
    }

    /// Returns the extended attributes, access lists included.
    pub(super) fn attributes(&self, path: &Path) -> Result<BTreeMap<Vec<u8>, Vec<u8>>> {
        let fail = |error: Errno| Error::io("read the extended attributes of", path, error.into());
        let mut names = vec![0; 64 << 10];
        let len = match rustix::fs::flistxattr(&self.file, &mut names[..]) {
            Ok(len) => len,
            Err(Errno::NOTSUP | Errno::NOSYS) => 0,
            Err(error) => return Err(fail(error)),
        };
        let mut value = vec![0; 64 << 10];
        let mut all = BTreeMap::new();
        for name in names[..len].split(|&byte| byte == 0).filter(|name| !name.is_empty()) {
            let len = rustix::fs::fgetxattr(&self.file, name, &mut value[..]).map_err(fail)?;
            all.insert(name.to_vec(), value[..len].to_vec());
        }
        Ok(all)
    }
}

/// Copies owner, mode, attributes and times of a file to a new one.
pub(super) fn copy_metadata(new: &OwnedFd, like: &OpenInode, path: &Path) -> Result<()> {
    let fail = |error: Errno| Error::io("copy the owner, mode and attributes of", path, error.into());
    let stat = &like.stat;
    let made = rustix::fs::fstat(new).map_err(fail)?;
    if (made.st_uid, made.st_gid) != (stat.st_uid, stat.st_gid) {
        let owner = rustix::fs::Uid::from_raw(stat.st_uid);
        let group = rustix::fs::Gid::from_raw(stat.st_gid);
        rustix::fs::fchown(new, Some(owner), Some(group)).map_err(fail)?;
    }
    for (name, value) in like.attributes(path)? {
        rustix::fs::fsetxattr(new, &name[..], &value, rustix::fs::XattrFlags::empty()).map_err(fail)?;
    }
    // After the owner, because changing the owner clears the set-user-ID bit.
    rustix::fs::fchmod(new, Mode::from_raw_mode(stat.st_mode)).map_err(fail)?;
    let times = rustix::fs::Timestamps {
        last_access: rustix::fs::Timespec { tv_sec: stat.st_atime, tv_nsec: stat.st_atime_nsec as _ },
        last_modification: rustix::fs::Timespec { tv_sec: stat.st_mtime, tv_nsec: stat.st_mtime_nsec as _ },
    };
    rustix::fs::futimens(new, &times).map_err(fail)
}

/// Returns the error for a file that changed.
pub(super) fn changed(path: &Path) -> Error {
    Error::new(ErrorKind::Changed, "link", path, "modified after it was read")
}
