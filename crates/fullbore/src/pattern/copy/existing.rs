//! Existing targets: kept, written to, replaced, or kept under another name as backups.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use fullbore_io::error::{Error, Result};
use fullbore_io::file::{BackupName, HeldDir, PendingBackup, Temporary};
use fullbore_io::sys::{self, AtFlags, Code, FileKind, Handle, OpenFlags, OsStrExt, OsStringExt, Status};

use super::directory::{Entry, path};
use super::failure::{Copied, CopyError};
use super::journal::Journal;
use super::options::{Backup, BackupControl, CopyEvent, CopyKind, Existing, Overwrite};
use super::tree_copy::{TargetState, TreeCopy, Worker};

impl TreeCopy<'_> {
    /// Reports a source that was named before; true if so.
    pub(super) fn is_repeated(&self, entry: &Entry<'_>, stat: &Status) -> bool {
        let directory = stat.kind() == FileKind::Directory;
        let counts = self.several && entry.directory.outermost;
        if !counts || !directory && self.options.backup.is_some() || !self.seen.source(entry, stat) {
            return false;
        }
        (self.report)(CopyEvent::Repeated { source: entry.source_path(), directory });
        true
    }

    /// Notes a target created for a named source.
    pub(super) fn created(&self, entry: &Entry<'_>, link: bool) {
        if self.several && entry.directory.outermost {
            let mut targets = self.seen.targets.lock();
            targets.insert(entry.target_path(), link);
        }
    }

    /// Examines a target and applies the options to it. `plain`: the source's bytes are copied, not the source as such.
    pub(super) fn existing(
        &self,
        worker: &mut Worker,
        entry: &Entry<'_>,
        plain: bool,
    ) -> Copied<TargetState> {
        let options = self.options;
        if entry.directory.fresh {
            return Ok(TargetState::New);
        }
        let links = matches!(options.kind, CopyKind::HardLink | CopyKind::SymbolicLink);
        let itself = !plain || links || options.backup.is_some() || options.remove_destination;
        let within = entry.within()?;
        let of_target = |error: Code| Error::io("stat", entry.target_path(), error.into());
        let named = match sys::stat_at(&within, entry.target, AtFlags::NOFOLLOW) {
            Ok(stat) => stat,
            Err(Code::NOT_FOUND) => return Ok(TargetState::New),
            Err(error) => return Err(of_target(error).into()),
        };
        let is_link = |stat: &Status| stat.kind() == FileKind::Symlink;
        let created = if self.several && entry.directory.outermost { self.seen.target(entry) } else { None };
        let through =
            CopyError::ThroughCreatedLink { source: entry.source_path(), target: entry.target_path() };
        let mut further = false;
        let there = if is_link(&named) && !itself {
            match sys::stat_at(&within, entry.target, AtFlags::empty()) {
                Ok(stat) => stat,
                Err(Code::NOT_FOUND) if created.is_some() => return Err(through),
                Err(Code::NOT_FOUND) if options.follow_dangling_links => return Ok(TargetState::New),
                // A further name of the copy replaces the link itself.
                Err(Code::NOT_FOUND) if self.has_copy(entry, &entry.stat()?) => {
                    further = true;
                    named
                }
                Err(Code::NOT_FOUND) => return Err(CopyError::DanglingLink { target: entry.target_path() }),
                Err(Code::LINK_LOOP) if options.force => return Ok(TargetState::Replaced(None)),
                Err(error) => return Err(of_target(error).into()),
            }
        } else {
            named
        };
        let stat = entry.stat()?;
        match options.existing {
            Existing::Skip => return Ok(self.stays(worker, entry, &stat)),
            Existing::Refuse => return Err(CopyError::NotReplaced { target: entry.target_path() }),
            Existing::Replace | Existing::Update => {}
        }
        let nothing_to_do = self.collides(entry, &stat, &there)?;
        let (new, old) = ((stat.mtime, stat.mtime_nsec), (there.mtime, there.mtime_nsec));
        let whole = self.is_whole(worker, entry, &stat, &there)?;
        if whole || options.existing == Existing::Update && new <= old {
            // Other names of the source may follow, and become names of this target.
            if self.has_names(entry.directory, &stat) {
                match self.linked(worker, entry, &stat)? {
                    None => self.first(entry, &stat, Ok::<_, CopyError>(((), Some(there.identity()))))?,
                    Some(_) => return Ok(TargetState::Stays),
                }
            }
            return Ok(self.stays(worker, entry, &stat));
        }
        if let Some(confirm) = &options.confirm {
            let writable = is_link(&there) || sys::writable_at(&within, entry.target).is_ok();
            let overwrite = Overwrite { path: &entry.target_path(), mode: there.permissions(), writable };
            if !confirm.confirms(&overwrite) {
                return Ok(self.stays(worker, entry, &stat));
            }
        }
        if nothing_to_do {
            return Ok(TargetState::Stays);
        }
        let numbered =
            options.backup.as_ref().is_some_and(|backup| backup.control == BackupControl::Numbered);
        match created {
            Some(_) if is_link(&named) && !itself => return Err(through),
            Some(_) if !numbered => {
                let (source, target) = (entry.source_path(), entry.target_path());
                return Err(CopyError::JustCreated { source, target });
            }
            _ => {}
        }
        if there.kind() == FileKind::Directory {
            return Err(CopyError::FileOverDirectory { target: entry.target_path() });
        }
        if let Some(backup) = &options.backup
            && !matches!(entry.names().0, b"." | b"..")
        {
            return Ok(TargetState::Replaced(Some(self.back_up(entry, &stat, backup)?)));
        }
        let source_plain = stat.kind() == FileKind::Regular;
        let gives_way = options.remove_destination
            || further
            || options.kind != CopyKind::Attributes
                && (options.preserve.links && there.nlink > 1 || !entry.follow && !source_plain);
        if !gives_way {
            return Ok(TargetState::There);
        }
        if options.report_names {
            (self.report)(CopyEvent::Removed(entry.target_path()));
        }
        Ok(TargetState::Replaced(None))
    }

    fn stays(&self, worker: &mut Worker, entry: &Entry<'_>, stat: &Status) -> TargetState {
        worker.stats.skipped += 1;
        if stat.kind() == FileKind::Regular {
            self.progress.add(stat.size);
        }
        if self.options.report_names {
            (self.report)(CopyEvent::Skipped(entry.target_path()));
        }
        TargetState::Stays
    }

    /// Fails if the copy would destroy its source. True if both are one file already, as intended.
    fn collides(&self, entry: &Entry<'_>, stat: &Status, there: &Status) -> Copied<bool> {
        let options = self.options;
        let same_file = || CopyError::SameFile { source: entry.source_path(), target: entry.target_path() };
        let identity = |stat: &Status| stat.identity();
        let is_link = |stat: &Status| stat.kind() == FileKind::Symlink;
        let same = identity(stat) == identity(there);
        let hard = options.kind == CopyKind::HardLink;
        if same && hard {
            return Ok(true);
        }
        // Bytes written to the device itself, such as a terminal, do not destroy it.
        let contents = options.kind == CopyKind::Data && (!options.recursive || options.special_contents);
        let in_place = contents && !options.remove_destination && options.backup.is_none();
        if stat.kind() == FileKind::CharacterDevice && in_place {
            return Ok(false);
        }
        // The source and the target themselves, without following links.
        let (source, target) = if entry.follow {
            if !same {
                return Ok(false);
            }
            let within = entry.within()?;
            let named = sys::stat_at(&within, entry.target, AtFlags::NOFOLLOW);
            let (Ok(source), Ok(target)) = (entry.stat_itself(), named) else { return Ok(false) };
            if is_link(&source) && is_link(&target) && options.remove_destination {
                return Ok(false);
            }
            (source, target)
        } else {
            if is_link(stat) && is_link(there) {
                return match (entry.is_one_name(), same && options.backup.is_none()) {
                    (true, _) => Err(same_file()),
                    (false, one_file) => Ok(one_file),
                };
            }
            (*stat, *there)
        };
        let one_file = identity(&source) == identity(&target);
        if options.backup.is_some() {
            let lost = match one_file {
                true => entry.is_one_name(),
                // The source's link would point to the copy.
                false => entry.follow && is_link(&source) && !is_link(&target),
            };
            return if lost { Err(same_file()) } else { Ok(false) };
        }
        if options.remove_destination
            && (is_link(&target) || one_file && target.nlink > 1 && !entry.is_one_name())
        {
            return Ok(false);
        }
        if !is_link(&source) && !is_link(&target) && !one_file {
            return Ok(false);
        }
        if options.kind == CopyKind::SymbolicLink && is_link(&target) {
            return Ok(false);
        }
        if !entry.follow {
            // The final targets of links.
            let leads = |entry: &Entry<'_>| Entry { follow: true, ..*entry }.stat();
            let within = entry.within()?;
            let (Ok(source), Ok(aim)) = (leads(entry), sys::stat_at(&within, entry.target, AtFlags::empty()))
            else {
                return Ok(false);
            };
            if identity(&source) != identity(&aim) {
                return Ok(false);
            }
            if hard {
                return Ok(!is_link(&target));
            }
        }
        Err(same_file())
    }

    /// Copies to a target unless it stays. A backup is reverted if `copy` fails before the target is replaced, or returns `false`:
    /// it has postponed the entry.
    pub(super) fn over_existing(
        &self,
        worker: &mut Worker,
        entry: &Entry<'_>,
        plain: bool,
        copy: impl FnOnce(&mut Worker, &TargetState) -> Copied<bool>,
    ) -> Copied<()> {
        let found = self.existing(worker, entry, plain)?;
        let result = match found {
            TargetState::Stays => Ok(true),
            _ => copy(worker, &found),
        };
        if !matches!(result, Ok(true))
            && let TargetState::Replaced(Some(saved)) = &found
        {
            saved.undo();
        }
        if self.options.resume && matches!(result, Ok(true)) {
            // An earlier run may have left a journal, even if the entry is not a regular file now.
            Journal::discard(&entry.directory.target, path(entry.target).as_os_str());
        }
        result.map(drop)
    }
}

impl TreeCopy<'_> {
    /// Gives the target a second name; it keeps its first one until the copy replaces it.
    pub(super) fn back_up(&self, entry: &Entry<'_>, stat: &Status, backup: &Backup) -> Copied<PendingBackup> {
        let (source, target) = entry.names();
        let within = entry.within()?;
        let refuse_source = |name: &[u8]| {
            if backup.control != BackupControl::Numbered && source == name {
                let older = sys::stat_at(&within, OsStr::from_bytes(name), AtFlags::empty());
                if older.is_ok_and(|older| older.identity() == stat.identity()) {
                    let (source, target) = (entry.source_path(), entry.target_path());
                    return Err(CopyError::BackupOverSource { source, target });
                }
            }
            Ok(())
        };
        let simple = [target, backup.suffix.as_bytes()].concat();
        refuse_source(&simple)?;
        let failed = |error: Code| Error::io("back up", entry.target_path(), error.into());
        let link = |name: &OsStr| {
            sys::hard_link(&within, OsStr::from_bytes(target), &within, name, AtFlags::empty())
        };
        let moves = |backup: &BackupName| sys::rename(&within, &*backup.target, &within, &*backup.name);
        // The file system has no hard links, or permits none to this file.
        let links_not = |error| {
            matches!(
                error,
                Code::NOT_PERMITTED | Code::UNSUPPORTED | Code::NOT_IMPLEMENTED | Code::TOO_MANY_NAMES
            )
        };
        let pending = |name: &[u8], moved, fresh| BackupName {
            directory: entry.directory.target.clone(),
            target: OsStr::from_bytes(target).to_owned(),
            name: OsStr::from_bytes(name).to_owned(),
            moved,
            fresh,
        };
        let mut number = last_number(&within, target, backup.control).map_err(failed)?;
        loop {
            number = number.map(|last| last + 1);
            let usual = number.map_or_else(|| simple.clone(), |number| numbered(target, number));
            let name = fitting(&within, target, &usual);
            refuse_source(&name)?;
            match PendingBackup::make(pending(&name, false, true), |backup| link(&backup.name)) {
                Ok(made) => return Ok(made),
                // Another process took the number.
                Err(Code::EXISTS) if number.is_some() && name == usual => {}
                Err(Code::EXISTS) if number.is_none() => {
                    let stem = OsStr::from_bytes(&name);
                    match Temporary::create(&entry.directory.target, stem, false, |_, name| link(name)) {
                        // Renaming one name of a file to another of its names does nothing: then the backup exists already.
                        Ok((temporary, ())) => {
                            let rename = |_: &_| sys::rename(&within, temporary.name(), &within, stem);
                            let made = PendingBackup::make(pending(&name, false, false), rename);
                            return Ok(made.map_err(failed)?);
                        }
                        Err(error) if Code::of(&error).is_some_and(links_not) => {
                            return Ok(
                                PendingBackup::make(pending(&name, true, false), moves).map_err(failed)?
                            );
                        }
                        Err(error) => return Err(Error::io("back up", entry.target_path(), error).into()),
                    }
                }
                Err(error) if links_not(error) => {
                    return Ok(PendingBackup::make(pending(&name, true, true), moves).map_err(failed)?);
                }
                Err(error) => return Err(failed(error).into()),
            }
        }
    }
}

/// Returns the name of the next backup of a regular file; `None` if there is no such file.
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
    let name = name.as_bytes();
    let usual = match last {
        Some(last) => numbered(name, last + 1),
        None => [name, backup.suffix.as_bytes()].concat(),
    };
    Ok(Some(path.with_file_name(OsString::from_vec(fitting(&within, name, &usual)))))
}

fn numbered(target: &[u8], number: u64) -> Vec<u8> {
    [target, format!(".~{number}~").as_bytes()].concat()
}

/// Returns the usual name of a backup if it is short enough for the file system; otherwise, as gnulib does, the target's
/// name with `~`, cut at the end as far as necessary.
fn fitting(within: &Handle, target: &[u8], usual: &[u8]) -> Vec<u8> {
    let is_too_long = |name: &[u8]| {
        // gnulib leaves the last possible byte of a name unused.
        let longer = [name, b"~"].concat();
        let found = sys::stat_at(within, OsStr::from_bytes(&longer), AtFlags::NOFOLLOW);
        matches!(found, Err(Code::NAME_TOO_LONG))
    };
    if !is_too_long(usual) {
        return usual.to_vec();
    }
    let with_tilde = |len: usize| [&target[..len], b"~"].concat();
    let names = (1..=target.len()).rev().map(with_tilde);
    names.take(3).find(|name| !is_too_long(name)).unwrap_or_else(|| usual.to_vec())
}

/// The highest number among the target's numbered backups, if the next one is numbered.
fn last_number(within: &Handle, target: &[u8], control: BackupControl) -> sys::Result<Option<u64>> {
    if control == BackupControl::Simple {
        return Ok(None);
    }
    let flags = OpenFlags::READ | OpenFlags::DIRECTORY;
    let mut last = 0;
    match sys::open_at(within, ".", flags, 0) {
        // As with `cp`: backups in a directory that may not be listed do not count.
        Err(Code::ACCESS_DENIED) => {}
        directory => {
            for found in sys::Directory::new(directory?)? {
                last = last.max(number_of(found?.file_name().to_bytes(), target).unwrap_or(0));
            }
        }
    }
    Ok((last > 0 || control == BackupControl::Numbered).then_some(last))
}

fn number_of(name: &[u8], target: &[u8]) -> Option<u64> {
    let digits = name.strip_prefix(target)?.strip_prefix(b".~")?.strip_suffix(b"~")?;
    let plain = digits.first().is_some_and(|&first| first != b'0') && digits.iter().all(u8::is_ascii_digit);
    let number = if plain { std::str::from_utf8(digits).ok()?.parse().ok() } else { None };
    // The last number has no next one.
    number.filter(|&number| number < u64::MAX)
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
