//! Clones of whole files on macOS: APFS clones them to new names only.

use std::ffi::OsStr;
use std::os::fd::AsRawFd;

use rustix::fs::{CloneFlags, Timespec, Timestamps, UTIME_NOW};

use crate::sys::code::{Code, Result};
use crate::sys::types::Status;
use crate::sys::unix::attributes::{change_mode, status};
use crate::sys::unix::names::{AtFlags, remove};
use crate::sys::unix::open::{BorrowedHandle, Handle, OpenFlags, open_at};
use crate::sys::unix::process::{effective_user, umask};

/// Creates `name` in a directory as a clone of `source`, open for reading. It has only the content of the source: no
/// extended attributes, new times and, until it is published, a mode for this user only.
///
/// The call gives the clone the source's mode at first, so a source that others may write, or that the umask would hide from
/// them, is not cloned; neither is one with flags, which may forbid renaming it.
pub fn clone_to_name(
    source: BorrowedHandle<'_>,
    directory: BorrowedHandle<'_>,
    name: &OsStr,
) -> Result<Handle> {
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

/// Copies the access control list of an open file to another. On macOS it is not an extended attribute.
pub fn copy_access_list(source: BorrowedHandle<'_>, target: BorrowedHandle<'_>) -> Result<()> {
    let (from, to) = (source.as_raw_fd(), target.as_raw_fd());
    // SAFETY: a call with two borrowed descriptors, without a state of its own.
    match unsafe { libc::fcopyfile(from, to, std::ptr::null_mut(), libc::COPYFILE_ACL) } {
        0 => Ok(()),
        _ => match Code::last() {
            // The file system has no lists.
            Code::UNSUPPORTED => Ok(()),
            error => Err(error),
        },
    }
}

fn is_clone(found: &Status, source: &Status) -> bool {
    found.kind() == source.kind()
        && found.uid == effective_user()
        && found.nlink == 1
        && found.permissions() == source.permissions() & 0o1777
        && (found.size, found.mtime, found.mtime_nsec) == (source.size, source.mtime, source.mtime_nsec)
}

fn remove_attributes(file: &Handle) -> Result<()> {
    let mut names = vec![0; 64 << 10];
    let len = rustix::fs::flistxattr(file, &mut names[..])?;
    for name in names[..len].split_inclusive(|&byte| byte == 0) {
        let name = std::ffi::CStr::from_bytes_with_nul(name).map_err(|_| Code::INVALID)?;
        match rustix::fs::fremovexattr(file, name) {
            // macOS 13 and later put it on files, and keep it.
            Err(rustix::io::Errno::PERM | rustix::io::Errno::ACCESS) if name == c"com.apple.provenance" => {}
            removed => removed?,
        }
    }
    Ok(())
}
