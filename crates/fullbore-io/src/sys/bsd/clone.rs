//! Clones: APFS clones whole files to new names only, and FreeBSD shares blocks by `copy_file_range` alone.

use std::os::fd::BorrowedFd;

use super::super::{Code, Result};

pub(crate) fn clone_range(_: BorrowedFd<'_>, _: u64, _: u64, _: BorrowedFd<'_>, _: u64) -> Result<()> {
    Err(Code::UNSUPPORTED)
}

#[cfg(target_os = "macos")]
pub use to_name::clone_to_name;

#[cfg(target_os = "macos")]
mod to_name {
    use std::ffi::OsStr;
    use std::os::fd::OwnedFd;

    use rustix::fs::{CloneFlags, Timespec, Timestamps, UTIME_NOW};

    use super::super::super::{
        AtFlags, OpenFlags, Status, change_mode, effective_user, open_at, remove, status, umask,
    };
    use super::*;

    /// Creates `name` in a directory as a clone of `source`, open for reading. It has the content and nothing else of the source:
    /// no extended attributes, today's times, and until it is published a mode for this user alone.
    ///
    /// The call gives the clone the source's mode at first, so a source that others may write, or that the umask would hide from
    /// them, is not cloned; neither is one with flags, which may forbid to rename it.
    pub fn clone_to_name(source: BorrowedFd<'_>, directory: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd> {
        let before = status(source)?;
        let for_others = before.permissions() & 0o077;
        if for_others & (umask() | 0o022) != 0 || rustix::fs::fstat(source)?.st_flags != 0 {
            return Err(Code::UNSUPPORTED);
        }
        rustix::fs::fclonefileat(source, directory, name, CloneFlags::NOOWNERCOPY)?;
        let begin = || {
            let file = open_at(directory, name, OpenFlags::READ | OpenFlags::NOFOLLOW, 0)?;
            // Somebody who may rename in the directory could have put another file there, which must not be changed.
            if !is_clone(&status(&file)?, &before) {
                return Err(Code::UNSUPPORTED);
            }
            change_mode(&file, 0o600)?;
            remove_attributes(&file)?;
            let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
            rustix::fs::futimens(&file, &Timestamps { last_access: now, last_modification: now })?;
            Ok(file)
        };
        begin().inspect_err(|_| {
            let _ = remove(directory, name, AtFlags::empty());
        })
    }

    fn is_clone(found: &Status, source: &Status) -> bool {
        found.kind() == source.kind()
            && found.uid == effective_user()
            && found.nlink == 1
            && found.permissions() == source.permissions() & 0o1777
            && (found.size, found.mtime, found.mtime_nsec) == (source.size, source.mtime, source.mtime_nsec)
    }

    fn remove_attributes(file: &OwnedFd) -> Result<()> {
        let mut names = vec![0; 64 << 10];
        let len = rustix::fs::flistxattr(file, &mut names[..])?;
        for name in names[..len].split_inclusive(|&byte| byte == 0) {
            let name = std::ffi::CStr::from_bytes_with_nul(name).map_err(|_| Code::INVALID)?;
            rustix::fs::fremovexattr(file, name)?;
        }
        Ok(())
    }
}
