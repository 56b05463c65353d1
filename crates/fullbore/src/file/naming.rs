//! Names for files that are whole: given in one step, and kept by syncing their directory.

use std::ffi::OsString;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, CWD, Mode, OFlags};

use super::abandon::Temporary;
use super::{Durability, File, Receipt, Step};
use crate::error::{Error, Result};

/// Whether files without a name can get one here: that goes through `/proc`.
pub(crate) fn linkable() -> bool {
    Path::new("/proc/self/fd").exists()
}

/// Gives an unnamed file the name `target`; `false` if something has that name.
pub(super) fn link(file: &File, target: &Path) -> Result<bool> {
    let source = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    match rustix::fs::linkat(CWD, source, CWD, target, AtFlags::SYMLINK_FOLLOW) {
        Ok(()) => {
            file.before_name(None, target).map_err(|error| Error::io("create", target, error))?;
            Ok(true)
        }
        Err(rustix::io::Errno::EXIST) => Ok(false),
        Err(error) => Err(Error::io("create", target, error.into())),
    }
}

/// Gives a file that has a temporary name the name `target`, over whatever has it.
pub(super) fn rename(file: &File, temporary: Temporary, target: &Path, receipt: &mut Receipt) -> Result<()> {
    rename_to(file, temporary.path(), target, receipt)?;
    temporary.keep();
    Ok(())
}

/// Gives a file that has the name `part` the name `target`, over whatever has it.
pub(super) fn rename_to(file: &File, part: &Path, target: &Path, receipt: &mut Receipt) -> Result<()> {
    file.before_name(Some(part), target)
        .and_then(|()| Ok(rustix::fs::rename(part, target)?))
        .map_err(|error| Error::io("replace", target, error))?;
    receipt.note(Step::Renamed);
    Ok(())
}

/// Syncs the directory of a name that `file` was given, if that is asked for.
pub(super) fn sync_directory(
    file: &File,
    target: &Path,
    durability: Durability,
    receipt: &mut Receipt,
) -> Result<()> {
    if durability != Durability::Full {
        return Ok(());
    }
    let directory = directory_of(target);
    file.before_sync_directory(directory)
        .and_then(|()| {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            Ok(rustix::fs::open(directory, flags, Mode::empty()).and_then(rustix::fs::fsync)?)
        })
        .map_err(|error| {
            Error::io("sync", directory, error).advise(format!(
                "{} is new, but a power failure may bring the old one back",
                target.display()
            ))
        })?;
    receipt.note(Step::SyncedDirectory);
    Ok(())
}

/// The directory a path's last name stands in.
pub(crate) fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// A hidden name beside `target` that nobody else has.
pub(crate) fn temporary_name(target: &Path) -> PathBuf {
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_nanos());
    // A name may be 255 bytes long; the target's own may be that already.
    let stem: Vec<u8> = target
        .file_name()
        .map(|name| std::os::unix::ffi::OsStrExt::as_bytes(name).iter().copied().take(180).collect())
        .unwrap_or_default();
    let mut name = OsString::from(".");
    name.push(<OsString as std::os::unix::ffi::OsStringExt>::from_vec(stem));
    name.push(format!(".fullbore-{}-{nanos:x}", std::process::id()));
    directory_of(target).join(name)
}
