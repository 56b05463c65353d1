//! Backups: an existing target is kept under another name.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::entry::Entry;
use super::failure::{Copied, CopyError};
use super::options::{Backup, BackupControl};
use super::tree::Job;
use fullbore_io::error::{Error, Result};
use fullbore_io::file::{HeldDir, Temporary};
use fullbore_io::sys::{self, AtFlags, Code, FileKind, Handle, OpenFlags, OsStrExt, OsStringExt, Status};

pub(super) struct Saved {
    name: OsString,
    /// Its path, for messages.
    pub(super) path: PathBuf,
    /// True if the target was renamed to it.
    moved: bool,
    /// True if the backup's name was free.
    fresh: bool,
}

impl Saved {
    /// Reverts the backup after the target was not replaced.
    pub(super) fn undo(&self, entry: &Entry<'_>) {
        let Ok(within) = entry.within() else { return };
        // One of the two names keeps the bytes in any case.
        if self.moved {
            let _ = sys::rename(&within, &self.name, &within, entry.target);
        } else if self.fresh {
            let _ = sys::remove(&within, &self.name, AtFlags::empty());
        }
    }
}

impl Job<'_> {
    /// Gives the target a second name; it keeps its first one until the copy replaces it.
    pub(super) fn back_up(&self, entry: &Entry<'_>, stat: &Status, backup: &Backup) -> Copied<Saved> {
        let (source, target) = entry.names();
        let within = entry.within()?;
        let simple = [target, backup.suffix.as_bytes()].concat();
        if backup.control != BackupControl::Numbered && source == simple {
            let older = sys::stat_at(&within, OsStr::from_bytes(&simple), AtFlags::empty());
            if older.is_ok_and(|older| older.identity() == stat.identity()) {
                let (source, target) = (entry.source_path(), entry.target_path());
                return Err(CopyError::BackupOverSource { source, target });
            }
        }
        let failed = |error: Code| Error::io("back up", entry.target_path(), error.into());
        let link = |name: &OsStr| {
            sys::hard_link(&within, OsStr::from_bytes(target), &within, name, AtFlags::empty())
        };
        let saved = |name: Vec<u8>, moved, fresh| {
            let name = OsString::from_vec(name);
            let path = entry.directory.target.path().join(&name);
            Ok(Saved { name, path, moved, fresh })
        };
        let mut number = last_number(&within, target, backup.control).map_err(failed)?;
        let mut name = simple;
        loop {
            if let Some(last) = &mut number {
                *last += 1;
                name = [target, format!(".~{last}~").as_bytes()].concat();
            }
            match link(OsStr::from_bytes(&name)) {
                Ok(()) => return saved(name, false, true),
                // Another process took the number.
                Err(Code::EXISTS) if number.is_some() => {}
                Err(Code::EXISTS) => {
                    let stem = OsStr::from_bytes(&name);
                    let (temporary, ()) =
                        Temporary::create(&entry.directory.target, stem, false, |_, name| link(name))
                            .map_err(|error| Error::io("back up", entry.target_path(), error))?;
                    // Renaming one name of a file to another of its names does nothing: then the backup exists already.
                    sys::rename(&within, temporary.name(), &within, stem).map_err(failed)?;
                    return saved(name, false, false);
                }
                // The file system has no hard links.
                Err(
                    Code::NOT_PERMITTED | Code::UNSUPPORTED | Code::NOT_IMPLEMENTED | Code::TOO_MANY_NAMES,
                ) => {
                    sys::rename(&within, OsStr::from_bytes(target), &within, OsStr::from_bytes(&name))
                        .map_err(failed)?;
                    return saved(name, true, true);
                }
                Err(error) => return Err(failed(error).into()),
            }
        }
    }
}

/// The name of the next backup of a regular file; `None` if there is no such file.
///
/// ```
/// use fullbore::pattern::{Backup, BackupControl, backup_name};
/// let backup = Backup { control: BackupControl::Simple, suffix: "~".into() };
/// assert_eq!(backup_name("Cargo.toml".as_ref(), &backup)?, Some("Cargo.toml~".into()));
/// assert_eq!(backup_name("src".as_ref(), &backup)?, None);
/// # Ok::<(), fullbore::Error>(())
/// ```
///
/// # Errors
/// If the directory cannot be read.
pub fn backup_name(path: &Path, backup: &Backup) -> Result<Option<PathBuf>> {
    let regular = sys::stat(path).is_ok_and(|stat| stat.kind() == FileKind::Regular);
    let Some(name) = path.file_name().filter(|_| regular) else { return Ok(None) };
    let failed = |error| Error::io("back up", path, error);
    let (directory, _) = HeldDir::of(path).map_err(failed)?;
    let within = directory.fd().map_err(failed)?;
    let last = last_number(&within, name.as_bytes(), backup.control).map_err(|error| failed(error.into()))?;
    let mut name = name.to_owned();
    match last {
        Some(last) => name.push(format!(".~{}~", last + 1)),
        None => name.push(&backup.suffix),
    }
    Ok(Some(path.with_file_name(name)))
}

/// The highest number among the target's numbered backups, if the next one is numbered.
fn last_number(within: &Handle, target: &[u8], control: BackupControl) -> sys::Result<Option<u64>> {
    if control == BackupControl::Simple {
        return Ok(None);
    }
    let flags = OpenFlags::READ | OpenFlags::DIRECTORY;
    let mut last = 0;
    for found in sys::Directory::new(sys::open_at(within, ".", flags, 0)?)? {
        last = last.max(number_of(found?.file_name().to_bytes(), target).unwrap_or(0));
    }
    Ok((last > 0 || control == BackupControl::Numbered).then_some(last))
}

fn number_of(name: &[u8], target: &[u8]) -> Option<u64> {
    let digits = name.strip_prefix(target)?.strip_prefix(b".~")?.strip_suffix(b"~")?;
    let plain = digits.first().is_some_and(|&first| first != b'0') && digits.iter().all(u8::is_ascii_digit);
    if plain { std::str::from_utf8(digits).ok()?.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_backups_are_recognised_by_name() {
        for (name, wanted) in [
            ("file.~1~", Some(1)),
            ("file.~120~", Some(120)),
            ("file.~01~", None),
            ("file.~~", None),
            ("file.~1", None),
            ("file~", None),
            ("file.~x~", None),
            ("files.~1~", None),
            ("file.~99999999999999999999999~", None),
        ] {
            assert_eq!(number_of(name.as_bytes(), b"file"), wanted, "{name}");
        }
    }
}
