//! Entries without bytes of their own: further names of files, and symbolic links, pipes, sockets and devices.

use std::ffi::{CStr, CString};

use fullbore_io::error::{Error, Result};
use fullbore_io::file::{Durability, Temporary};
use fullbore_io::sys::{self, AsHandle, AtFlags, Code, FileKind, OsStrExt, Status};

use super::attributes::{self, AttributeTarget};
use super::directory::{Directory, Entry, c_name, path};
use super::failure::{Copied, CopyError};
use super::tree_copy::{LinkAction, TargetState, TreeCopy, Worker, Written};

impl TreeCopy<'_> {
    /// Handles a name of a file with several names: `true` if it is a name of the copy now, `false` if it is postponed because the
    /// copy is in progress, `None` if the file is to be copied to it.
    pub(super) fn linked(
        &self,
        worker: &mut Worker,
        entry: &Entry<'_>,
        stat: &Status,
    ) -> Copied<Option<bool>> {
        // Names of several sources may be reached twice.
        let names = (!self.several && !self.follows(entry.directory)).then_some(stat.nlink);
        let place = match self.links.claim(stat.identity(), names) {
            LinkAction::First => return Ok(None),
            LinkAction::Later => {
                self.postpone(entry);
                return Ok(Some(false));
            }
            LinkAction::Linked(place) => place,
        };
        let failed = |error: Code| CopyError::Link {
            source: place.0.path().join(path(&place.1)),
            target: entry.target_path(),
            symbolic: false,
            error: error.into(),
        };
        let first = place.0.fd().map_err(|error| Error::io("open", place.0.path(), error))?;
        // The copy may have been written through a symbolic link that had the name: then the file behind it gets the further name.
        let leads = |flags: AtFlags| {
            sys::stat_at(&first, &place.1, flags).is_ok_and(|there| there.identity() == place.2)
        };
        let reachable = place.2.0 == entry.directory.target.identity().0;
        let flags = if leads(AtFlags::NOFOLLOW) {
            AtFlags::empty()
        } else if reachable && leads(AtFlags::empty()) {
            AtFlags::FOLLOW
        } else {
            // The name leads to another file by now: a later source of this run may have the same target.
            self.links.restart(stat.identity());
            return Ok(None);
        };
        let target = entry.within()?;
        let link = |name: &CStr| {
            sys::hard_link(&first, &place.1, &target, name, flags)?;
            // Another user may have given the name to another file since.
            let linked = sys::stat_at(&target, name, AtFlags::NOFOLLOW)?;
            if linked.identity() != place.2 {
                let _ = sys::remove(&target, name, AtFlags::empty());
                return Err(Code::STALE);
            }
            Ok(())
        };
        match link(entry.target) {
            Err(Code::EXISTS) => self.over(entry, link, |_| Ok(()))?,
            Err(Code::STALE) => {
                self.links.restart(stat.identity());
                return Ok(None);
            }
            other => other.map_err(failed)?,
        }
        self.sync_name(entry)?;
        worker.stats.hard_links += 1;
        self.report_copied(entry, None, None);
        Ok(Some(true))
    }

    /// Leaves an entry to the end of the walk.
    pub(super) fn postpone(&self, entry: &Entry<'_>) {
        let later = (entry.directory.clone(), entry.source.to_owned(), entry.target.to_owned());
        self.later.lock().push(later);
    }

    /// Syncs the directory of a name that was just created, if names are to be on the device too.
    pub(super) fn sync_name(&self, entry: &Entry<'_>) -> Result<()> {
        if self.settings.durability != Durability::Full || entry.directory.fresh {
            return Ok(());
        }
        let failed = |error| Error::io("sync the directory of", entry.target_path(), error);
        entry.directory.target.sync().map_err(failed)
    }

    /// Notes the result for the first name if the file has several: the identity of its copy, as its handle has it, because another
    /// user may give the name to another file.
    pub(super) fn first<T, E>(
        &self,
        entry: &Entry<'_>,
        stat: &Status,
        result: std::result::Result<Written<T>, E>,
    ) -> std::result::Result<T, E> {
        match &result {
            _ if !self.has_names(entry.directory, stat) => {}
            Ok((_, Some(copy))) => {
                let directory = entry.directory.target.clone();
                self.links.done(stat.identity(), (directory, entry.target.to_owned(), *copy));
            }
            _ => self.links.failed(stat.identity()),
        }
        result.map(|(done, _)| done)
    }

    /// True if other names of the file may follow, to be linked to the copy.
    pub(super) fn has_names(&self, directory: &Directory, stat: &Status) -> bool {
        self.options.preserve.links && (stat.nlink > 1 || self.follows(directory))
    }

    /// True if the entry is to be a further name of a copy.
    pub(super) fn has_copy(&self, entry: &Entry<'_>, stat: &Status) -> bool {
        self.has_names(entry.directory, stat) && self.links.contains(stat.identity())
    }

    pub(super) fn hard_link(&self, worker: &mut Worker, entry: &Entry<'_>) -> Copied<()> {
        let source = entry.directory.source()?;
        let target = entry.within()?;
        let flags = if entry.follow { AtFlags::FOLLOW } else { AtFlags::empty() };
        self.link(worker, entry, false, |name| sys::hard_link(&source, entry.source, &target, name, flags))
    }

    pub(super) fn symbolic_link(&self, worker: &mut Worker, entry: &Entry<'_>) -> Copied<()> {
        let path = entry.source_path();
        let target = entry.within()?;
        self.link(worker, entry, true, |name| sys::symbolic_link(&path, &target, name))
    }

    fn link(
        &self,
        worker: &mut Worker,
        entry: &Entry<'_>,
        symbolic: bool,
        make: impl Fn(&CStr) -> sys::Result<()>,
    ) -> Copied<()> {
        let failed = |error: Code| {
            let (source, target) = (entry.source_path(), entry.target_path());
            CopyError::Link { source, target, symbolic, error: error.into() }
        };
        // A symbolic link has times of its own; a hard link, those of the source.
        let finish = |name: &CStr| -> Result<()> {
            if !symbolic || !self.options.preserve.times {
                return Ok(());
            }
            let within = entry.directory.target()?;
            attributes::set_times(&entry.stat()?, AttributeTarget::Name(within.as_handle(), name))
                .map_err(|error| Error::io("preserve the times of", entry.target_path(), error.into()))
        };
        let replaces = self.options.force || !symbolic && self.options.confirm.is_some();
        self.over_existing(worker, entry, false, |worker, found| {
            // After the options for existing targets: one that stays needs no link.
            if symbolic {
                leads_from_target(entry)?;
            }
            match found {
                TargetState::Stays => return Ok(true),
                TargetState::New => {
                    make(entry.target).map_err(failed)?;
                    finish(entry.target)?;
                }
                TargetState::There if !replaces => return Err(failed(Code::EXISTS)),
                TargetState::There | TargetState::Replaced(_) => self.over(entry, make, finish)?,
            }
            self.sync_name(entry)?;
            if symbolic {
                worker.stats.others += 1;
            } else {
                worker.stats.hard_links += 1;
            }
            self.created(entry, symbolic);
            self.report_copied(entry, Some(found), None);
            Ok(true)
        })
    }

    pub(super) fn special(&self, worker: &mut Worker, entry: &Entry<'_>) -> Copied<()> {
        self.over_existing(worker, entry, false, |worker, found| self.special_over(worker, entry, found))
    }

    fn special_over(&self, worker: &mut Worker, entry: &Entry<'_>, found: &TargetState) -> Copied<bool> {
        let stat = entry.stat()?;
        if self.has_names(entry.directory, &stat)
            && let Some(done) = self.linked(worker, entry, &stat)?
        {
            return Ok(done);
        }
        let result = self.made(entry, &stat, found).map(|()| {
            // No handle creates such a file: its name has the one of this kind and user, or its other names are copied separately.
            let made =
                entry.within().ok().and_then(|w| sys::stat_at(&w, entry.target, AtFlags::NOFOLLOW).ok());
            let ours = |made: &Status| {
                made.kind() == stat.kind() && [sys::effective_user(), stat.uid].contains(&made.uid)
            };
            ((), made.filter(ours).map(|made| made.identity()))
        });
        self.first(entry, &stat, result)?;
        worker.stats.others += 1;
        self.created(entry, stat.kind() == FileKind::Symlink);
        self.report_copied(entry, Some(found), None);
        Ok(true)
    }

    fn made(&self, entry: &Entry<'_>, stat: &Status, found: &TargetState) -> Result<()> {
        let Entry { directory, source, target, .. } = *entry;
        let kind = stat.kind();
        let link = kind == FileKind::Symlink;
        let doing = match kind {
            FileKind::Symlink => "create symbolic link",
            FileKind::Fifo => "create fifo",
            _ => "create special file",
        };
        let failed = |error: Code| Error::io(doing, directory.target_path(target), error.into());
        let mode = attributes::creation_mode(&self.options.preserve, stat);
        let base = directory.source()?;
        let leads = if link {
            sys::read_link(base.as_handle(), source).map_err(|error| {
                Error::io("read symbolic link", directory.source_path(source), error.into())
            })?
        } else {
            CString::default()
        };
        let within = directory.target()?;
        let make = |name: &CStr| {
            if link {
                sys::copy_link(base.as_handle(), source, &leads, &within, name)?;
            } else {
                sys::make_special(&within, name, kind, mode, stat.rdev)?;
            }
            Ok(())
        };
        let finish = |name: &CStr| {
            let from = AttributeTarget::Name(base.as_handle(), source);
            let to = AttributeTarget::Name(within.as_handle(), name);
            let preserve = &self.options.preserve;
            let mode = attributes::later_mode(preserve, stat, &within, self.umask);
            attributes::keep(preserve, from, stat, to, mode, &|| directory.target_path(target))
        };
        match found {
            TargetState::Replaced(_) => self.over(entry, make, finish)?,
            TargetState::There if link && self.options.force => self.over(entry, make, finish)?,
            _ => {
                make(target).map_err(failed)?;
                finish(target)?;
            }
        }
        self.sync_name(entry)
    }

    /// Creates an entry under a temporary name, finishes it, and renames it over `target`.
    pub(super) fn over(
        &self,
        entry: &Entry<'_>,
        make: impl Fn(&CStr) -> sys::Result<()>,
        finish: impl FnOnce(&CStr) -> Result<()>,
    ) -> Result<()> {
        let Entry { directory, target, .. } = *entry;
        let failed = |error: std::io::Error| Error::io("replace", directory.target_path(target), error);
        let made = Temporary::create(&directory.target, path(target).as_os_str(), false, |_, name| {
            make(&CString::new(name.as_bytes()).map_err(|_| Code::INVALID)?)
        });
        let (temporary, ()) = made.map_err(failed)?;
        finish(&c_name(temporary.name())?)?;
        let within = directory.target()?;
        // Renaming one name of a file over another of its names keeps both; the temporary one is removed in any case.
        sys::rename(&within, temporary.name(), &within, target).map_err(|error| failed(error.into()))
    }
}

/// Fails if the source's path is relative to another directory than the target's, so that a symbolic link would not lead
/// to the source.
fn leads_from_target(entry: &Entry<'_>) -> Copied<()> {
    let here = sys::stat(".").map(|stat| stat.identity());
    if entry.source_path().is_relative() && here.is_ok_and(|here| here != entry.directory.target.identity()) {
        return Err(CopyError::RelativeLink { target: entry.target_path() });
    }
    Ok(())
}
