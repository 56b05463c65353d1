//! Copies of files with several names: which of them exist already.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::{Mutex, PoisonError};

use super::directory::path;
use super::entry::Entry;
use super::existing::Found;
use super::failure::{Copied, CopyError};
use super::options::{CopyKind, Follow};
use super::tree::{Job, Worker};
use fullbore_io::error::Error;
use fullbore_io::file::HeldDir;
use fullbore_io::sys::{self, AtFlags, Code, Status};

/// The copies of files with several names, by device and inode.
#[derive(Default)]
pub(super) struct Links(Mutex<HashMap<(u64, u64), Copy>>);

type Named = (HeldDir, CString);

struct Copy {
    /// The copy; none yet while it is being made.
    place: Option<Named>,
    /// Names that may still follow; `None` if followed links make the number unknown.
    left: Option<u64>,
}

pub(super) enum LinkAction {
    /// The first name: copy it, then call [`Links::done`] or [`Links::failed`].
    First,
    /// The file has a copy here.
    Linked(Named),
    /// The file is being copied.
    Later,
}

impl Links {
    /// Claims a name of a file with `names` names, if the number is known.
    pub(super) fn claim(&self, identity: (u64, u64), names: Option<u64>) -> LinkAction {
        let mut copies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match copies.get_mut(&identity) {
            None => {
                copies
                    .insert(identity, Copy { place: None, left: names.map(|names| names.saturating_sub(1)) });
                LinkAction::First
            }
            Some(Copy { place: None, .. }) => LinkAction::Later,
            Some(Copy { place: Some(place), left }) => {
                *left = left.map(|left| left.saturating_sub(1));
                let place = place.clone();
                if *left == Some(0) {
                    // The last name: the entry is not needed again.
                    copies.remove(&identity);
                }
                LinkAction::Linked(place)
            }
        }
    }

    /// Notes that the copy under the first name is at `place`.
    pub(super) fn done(&self, identity: (u64, u64), place: Named) {
        let mut copies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(copy) = copies.get_mut(&identity) {
            copy.place = Some(place);
        }
    }

    /// Notes that copying the first name failed: the next one becomes the first.
    pub(super) fn failed(&self, identity: (u64, u64)) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&identity);
    }
}

impl Job<'_> {
    /// Handles a name of a file with several names; true if the file is to be copied.
    pub(super) fn linked(&self, worker: &mut Worker, entry: &Entry<'_>, stat: &Status) -> Copied<bool> {
        let names = (!self.follows_to_any(entry)).then_some(stat.nlink);
        let place = match self.links.claim(stat.identity(), names) {
            LinkAction::First => return Ok(true),
            LinkAction::Later => {
                let later = (entry.directory.clone(), entry.source.to_owned(), entry.target.to_owned());
                self.later.lock().unwrap_or_else(PoisonError::into_inner).push(later);
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
        self.told(entry, None, None);
        Ok(false)
    }

    /// Notes the result for the first name of a file with several.
    pub(super) fn first<T, E>(&self, entry: &Entry<'_>, stat: &Status, result: Result<T, E>) -> Result<T, E> {
        let identity = stat.identity();
        match &result {
            Ok(_) => self.links.done(identity, (entry.directory.target.clone(), entry.target.to_owned())),
            Err(_) => self.links.failed(identity),
        }
        result
    }

    /// True if other names of the file may follow, to be linked to the copy.
    pub(super) fn has_names(&self, entry: &Entry<'_>, stat: &Status) -> bool {
        self.options.preserve.links && (stat.nlink > 1 || self.follows_to_any(entry))
    }

    /// True if followed symbolic links to the entry's file may follow.
    fn follows_to_any(&self, entry: &Entry<'_>) -> bool {
        match self.options.follow {
            Follow::All => true,
            Follow::Sources => entry.directory.is_outermost(),
            Follow::None => false,
        }
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
        let here = sys::stat(".").map(|stat| stat.identity());
        if path.is_relative() && here.is_ok_and(|here| here != entry.directory.target.identity()) {
            return Err(CopyError::RelativeLink { target: entry.target_path() });
        }
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
            match found {
                Found::Stays => return Ok(()),
                Found::New => make(entry.target).map_err(failed)?,
                Found::There if !replaces => return Err(failed(Code::EXISTS)),
                Found::There | Found::Replaced(_) => self.over(entry, make)?,
            }
            if symbolic {
                worker.stats.others += 1;
            } else {
                worker.stats.hard_links += 1;
            }
            self.created(entry, symbolic);
            self.told(entry, Some(found), None);
            Ok(())
        })
    }
}
