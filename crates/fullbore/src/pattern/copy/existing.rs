//! Existing targets: kept, written to, or replaced.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use super::backup::Saved;
use super::directory::path;
use super::entry::Entry;
use super::failure::{Copied, CopyError};
use super::hashed::STRIPE;
use super::journal::Journal;
use super::options::{BackupControl, CopyEvent, CopyKind, Existing, Overwrite};
use super::tree::{Job, Worker};
use fullbore_io::error::Error;
use fullbore_io::sys::{self, AtFlags, Code, FileKind, Status};

/// The state of a target.
pub(super) enum Found {
    /// The name is free.
    New,
    /// The name exists. The content is replaced; a symbolic link is followed.
    There,
    /// The copy replaces the name in one step; links are not followed.
    Replaced(Option<Saved>),
    Stays,
}

/// Sources and targets of a run with several sources, to recognise repeated ones.
#[derive(Default)]
pub(super) struct Seen {
    /// Sources by device, inode, directory and name.
    sources: Mutex<HashMap<(u64, u64), Vec<SourceName>>>,
    /// Targets created so far; true for symbolic links.
    targets: Mutex<HashMap<PathBuf, bool>>,
}

/// The directory of a source, and its name there.
type SourceName = (Option<(u64, u64)>, Vec<u8>);

impl Seen {
    /// Notes a source; true if it was noted before.
    fn source(&self, entry: &Entry<'_>, stat: &Status) -> bool {
        let name = (entry.source_directory(), entry.names().0.to_vec());
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        let names = sources.entry(stat.identity()).or_default();
        let known = names.contains(&name);
        if !known {
            names.push(name);
        }
        known
    }

    fn target(&self, entry: &Entry<'_>) -> Option<bool> {
        self.targets.lock().unwrap_or_else(PoisonError::into_inner).get(&entry.target_path()).copied()
    }
}

impl Job<'_> {
    /// Reports a source that was named before; true if so.
    pub(super) fn is_repeated(&self, entry: &Entry<'_>, stat: &Status) -> bool {
        let directory = stat.kind() == FileKind::Directory;
        let counts = self.several && entry.directory.is_outermost();
        if !counts || !directory && self.options.backup.is_some() || !self.seen.source(entry, stat) {
            return false;
        }
        (self.tell)(CopyEvent::Repeated { source: entry.source_path(), directory });
        true
    }

    /// Notes a target created for a named source.
    pub(super) fn created(&self, entry: &Entry<'_>, link: bool) {
        if self.several && entry.directory.is_outermost() {
            let mut targets = self.seen.targets.lock().unwrap_or_else(PoisonError::into_inner);
            targets.insert(entry.target_path(), link);
        }
    }

    /// Examines a target and applies the options to it. `plain`: the source's bytes are copied, not the source as such.
    pub(super) fn existing(&self, worker: &mut Worker, entry: &Entry<'_>, plain: bool) -> Copied<Found> {
        let options = self.options;
        if entry.directory.fresh {
            return Ok(Found::New);
        }
        let links = matches!(options.kind, CopyKind::HardLink | CopyKind::SymbolicLink);
        let itself = !plain || links || options.backup.is_some() || options.remove_destination;
        let within = entry.within()?;
        let of_target = |error: Code| Error::io("stat", entry.target_path(), error.into());
        let named = match sys::stat_at(&within, entry.target, AtFlags::NOFOLLOW) {
            Ok(stat) => stat,
            Err(Code::NOT_FOUND) => return Ok(Found::New),
            Err(error) => return Err(of_target(error).into()),
        };
        let is_link = |stat: &Status| stat.kind() == FileKind::Symlink;
        let created =
            if self.several && entry.directory.is_outermost() { self.seen.target(entry) } else { None };
        let through =
            CopyError::ThroughCreatedLink { source: entry.source_path(), target: entry.target_path() };
        let there = if is_link(&named) && !itself {
            match sys::stat_at(&within, entry.target, AtFlags::empty()) {
                Ok(stat) => stat,
                Err(Code::NOT_FOUND) if created.is_some() => return Err(through),
                Err(Code::NOT_FOUND) if options.through_dangling => return Ok(Found::New),
                Err(Code::NOT_FOUND) => return Err(CopyError::DanglingLink { target: entry.target_path() }),
                Err(Code::LINK_LOOP) if options.force => return Ok(Found::Replaced(None)),
                Err(error) => return Err(of_target(error).into()),
            }
        } else {
            named
        };
        let stat = entry.stat()?;
        match options.existing {
            Existing::Skip => return Ok(self.stays(worker, entry)),
            Existing::Refuse => return Err(CopyError::NotReplaced { target: entry.target_path() }),
            Existing::Replace | Existing::Update => {}
        }
        let nothing_to_do = self.collides(entry, &stat, &there)?;
        let (new, old) = ((stat.mtime, stat.mtime_nsec), (there.mtime, there.mtime_nsec));
        let whole = options.resume && new == old && stat.size == there.size;
        if whole && stat.size >= STRIPE {
            Journal::discard(&entry.directory.target, path(entry.target).as_os_str());
        }
        if whole || options.existing == Existing::Update && new <= old {
            // Other names of the source may follow, and become names of this target.
            if self.has_names(entry, &stat) && self.linked(worker, entry, &stat)? {
                self.first(entry, &stat, Ok::<_, CopyError>(()))?;
            }
            return Ok(self.stays(worker, entry));
        }
        if let Some(confirm) = &options.confirm {
            let writable = is_link(&there) || sys::writable_at(&within, entry.target).is_ok();
            let overwrite = Overwrite { path: &entry.target_path(), mode: there.permissions(), writable };
            if !confirm.confirms(&overwrite) {
                return Ok(self.stays(worker, entry));
            }
        }
        if nothing_to_do {
            return Ok(Found::Stays);
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
            return Ok(Found::Replaced(Some(self.back_up(entry, &stat, backup)?)));
        }
        let source_plain = stat.kind() == FileKind::Regular;
        let gives_way = options.remove_destination
            || options.kind != CopyKind::Attributes
                && (options.preserve.links && there.nlink > 1 || !entry.follow && !source_plain);
        if !gives_way {
            return Ok(Found::There);
        }
        if options.tell_names {
            (self.tell)(CopyEvent::Removed(entry.target_path()));
        }
        Ok(Found::Replaced(None))
    }

    fn stays(&self, worker: &mut Worker, entry: &Entry<'_>) -> Found {
        worker.stats.skipped += 1;
        if self.options.tell_names {
            (self.tell)(CopyEvent::Skipped(entry.target_path()));
        }
        Found::Stays
    }

    /// Fails if the copy would destroy its source. True if both are one file already, as intended.
    fn collides(&self, entry: &Entry<'_>, stat: &Status, there: &Status) -> Copied<bool> {
        let options = self.options;
        let same_file = || CopyError::SameFile { source: entry.source_path(), target: entry.target_path() };
        let identity = |stat: &Status| stat.identity();
        let is_link = |stat: &Status| stat.kind() == FileKind::Symlink;
        let same = identity(stat) == identity(there);
        let hard = options.kind == CopyKind::HardLink;
        if stat.kind() == FileKind::CharacterDevice {
            return Ok(false);
        }
        if same && hard {
            return Ok(true);
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

    /// Copies to a target unless it stays. A backup is reverted if the copy fails.
    pub(super) fn over_existing(
        &self,
        worker: &mut Worker,
        entry: &Entry<'_>,
        plain: bool,
        copy: impl FnOnce(&mut Worker, &Found) -> Copied<()>,
    ) -> Copied<()> {
        let found = self.existing(worker, entry, plain)?;
        if matches!(found, Found::Stays) {
            return Ok(());
        }
        let result = copy(worker, &found);
        if result.is_err()
            && let Found::Replaced(Some(saved)) = &found
        {
            saved.undo(entry);
        }
        result
    }
}
