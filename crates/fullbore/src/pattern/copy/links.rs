//! Entries without bytes of their own: further names of files, and symbolic links, pipes, sockets and devices.

use std::ffi::{CStr, CString};

use fullbore_io::error::{Error, Result};
use fullbore_io::file::Temporary;
use fullbore_io::sys::{self, AsHandle, AtFlags, Code, FileKind, OsStrExt, Status};

use super::attributes::{self, AttributeTarget};
use super::directory::{Entry, path};
use super::failure::{Copied, CopyError};
use super::options::CopyKind;
use super::tree_copy::{LinkAction, TargetState, TreeCopy, Worker};

impl TreeCopy<'_> {
    /// Handles a name of a file with several names; true if the file is to be copied.
    pub(super) fn linked(&self, worker: &mut Worker, entry: &Entry<'_>, stat: &Status) -> Copied<bool> {
        let names = (!self.follows(entry.directory)).then_some(stat.nlink);
        let place = match self.links.claim(stat.identity(), names) {
            LinkAction::First => return Ok(true),
            LinkAction::Later => {
                let later = (entry.directory.clone(), entry.source.to_owned(), entry.target.to_owned());
                self.later.lock().push(later);
                return Ok(false);
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
        let target = entry.within()?;
        let link = |name: &CStr| sys::hard_link(&first, &place.1, &target, name, AtFlags::empty());
        match link(entry.target) {
            Err(Code::EXISTS) => self.over(entry, link)?,
            other => other.map_err(failed)?,
        }
        worker.stats.hard_links += 1;
        self.report_copied(entry, None, None);
        Ok(false)
    }

    /// Notes the result for the first name of a file with several.
    pub(super) fn first<T, E>(
        &self,
        entry: &Entry<'_>,
        stat: &Status,
        result: std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let identity = stat.identity();
        match &result {
            Ok(_) => self.links.done(identity, (entry.directory.target.clone(), entry.target.to_owned())),
            Err(_) => self.links.failed(identity),
        }
        result
    }

    /// True if other names of the file may follow, to be linked to the copy.
    pub(super) fn has_names(&self, entry: &Entry<'_>, stat: &Status) -> bool {
        self.options.preserve.links && (stat.nlink > 1 || self.follows(entry.directory))
    }

    pub(super) fn hard_link(&self, worker: &mut Worker, entry: &Entry<'_>) -> Copied<()> {
        let source = entry.directory.source()?;
        let target = entry.within()?;
        let flags = if entry.follow { AtFlags::FOLLOW } else { AtFlags::empty() };
        self.link(worker, entry, CopyKind::HardLink, |name| {
            sys::hard_link(&source, entry.source, &target, name, flags)
        })
    }

    pub(super) fn symbolic_link(&self, worker: &mut Worker, entry: &Entry<'_>) -> Copied<()> {
        let path = entry.source_path();
        let target = entry.within()?;
        self.link(worker, entry, CopyKind::SymbolicLink, |name| sys::symbolic_link(&path, &target, name))
    }

    fn link(
        &self,
        worker: &mut Worker,
        entry: &Entry<'_>,
        kind: CopyKind,
        make: impl Fn(&CStr) -> sys::Result<()>,
    ) -> Copied<()> {
        let symbolic = kind == CopyKind::SymbolicLink;
        let failed = |error: Code| {
            let (source, target) = (entry.source_path(), entry.target_path());
            CopyError::Link { source, target, symbolic, error: error.into() }
        };
        let replaces = self.options.force || !symbolic && self.options.confirm.is_some();
        self.over_existing(worker, entry, false, |worker, found| {
            // After the options for existing targets: one that stays needs no link.
            if symbolic {
                leads_from_target(entry)?;
            }
            match found {
                TargetState::Stays => return Ok(()),
                TargetState::New => make(entry.target).map_err(failed)?,
                TargetState::There if !replaces => return Err(failed(Code::EXISTS)),
                TargetState::There | TargetState::Replaced(_) => self.over(entry, make)?,
            }
            if symbolic {
                worker.stats.others += 1;
            } else {
                worker.stats.hard_links += 1;
            }
            self.created(entry, symbolic);
            self.report_copied(entry, Some(found), None);
            Ok(())
        })
    }

    pub(super) fn special(&self, worker: &mut Worker, entry: &Entry<'_>) -> Copied<()> {
        self.over_existing(worker, entry, false, |worker, found| self.special_over(worker, entry, found))
    }

    fn special_over(&self, worker: &mut Worker, entry: &Entry<'_>, found: &TargetState) -> Copied<()> {
        let stat = entry.stat()?;
        let several = self.has_names(entry, &stat);
        if several && !self.linked(worker, entry, &stat)? {
            return Ok(());
        }
        let result = self.made(entry, &stat, found);
        if several { self.first(entry, &stat, result) } else { result }?;
        worker.stats.others += 1;
        self.created(entry, stat.kind() == FileKind::Symlink);
        self.report_copied(entry, Some(found), None);
        Ok(())
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
        match found {
            TargetState::Replaced(_) => self.over(entry, make)?,
            TargetState::There if link && self.options.force => self.over(entry, make)?,
            _ => make(target).map_err(failed)?,
        }
        let from = AttributeTarget::Name(base.as_handle(), source);
        let to = AttributeTarget::Name(within.as_handle(), target);
        if !link {
            attributes::widen(&self.options.preserve, stat, &within, to)
                .map_err(|error| Error::io("set the mode of", entry.target_path(), error.into()))?;
        }
        attributes::keep(&self.options.preserve, from, stat, to, &|| directory.target_path(target), link)
    }

    /// Creates an entry under a temporary name and renames it over `target`.
    pub(super) fn over(&self, entry: &Entry<'_>, make: impl Fn(&CStr) -> sys::Result<()>) -> Result<()> {
        let Entry { directory, target, .. } = *entry;
        let failed = |error: std::io::Error| Error::io("replace", directory.target_path(target), error);
        let made = Temporary::create(&directory.target, path(target).as_os_str(), false, |_, name| {
            make(&CString::new(name.as_bytes()).map_err(|_| Code::INVALID)?)
        });
        let (temporary, ()) = made.map_err(failed)?;
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
