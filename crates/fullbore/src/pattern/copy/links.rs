//! Which files have a copy already, for sources that have several names.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{AtFlags, Stat};
use rustix::io::Errno;

use super::directory::path;
use super::entry::Entry;
use super::existing::Found;
use super::failure::{Copied, CopyError};
use super::options::{CopyKind, Follow};
use super::tree::{Job, Worker};
use crate::error::Error;
use crate::file::HeldDir;

/// The copies of files with several names, by device and inode.
#[derive(Default)]
pub(super) struct Links(Mutex<HashMap<(u64, u64), Copy>>);

/// A name in a target directory.
type Named = (HeldDir, CString);

struct Copy {
    /// Where it is; none yet while it is made.
    place: Option<Named>,
    /// How many more names of it may come; `None` where links lead to it and nobody knows.
    left: Option<u64>,
}

/// What to do for a name.
pub(super) enum LinkAction {
    /// It is the first: it is to be copied, and [`Links::done`] or [`Links::failed`] to be called.
    First,
    /// Its file has a copy here.
    Linked(Named),
    /// Its file is being copied.
    Later,
}

impl Links {
    /// Asks for a name of a file that has `names` names, if that is known.
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
                    // The last: nobody asks for it again, and it need not be remembered.
                    copies.remove(&identity);
                }
                LinkAction::Linked(place)
            }
        }
    }

    /// The first name's copy is at `place`.
    pub(super) fn done(&self, identity: (u64, u64), place: Named) {
        let mut copies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(copy) = copies.get_mut(&identity) {
            copy.place = Some(place);
        }
    }

    /// The first name could not be copied: the next one is the first.
    pub(super) fn failed(&self, identity: (u64, u64)) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&identity);
    }
}

impl Job<'_> {
    /// What to do for a name of a file that has several: whether it is to be copied.
    pub(super) fn linked(&self, worker: &mut Worker, entry: &Entry<'_>, stat: &Stat) -> Copied<bool> {
        let names = (!self.follows_to_any(entry)).then_some(stat.st_nlink);
        let place = match self.links.claim((stat.st_dev, stat.st_ino), names) {
            LinkAction::First => return Ok(true),
            LinkAction::Later => {
                let later = (entry.directory.clone(), entry.source.to_owned(), entry.target.to_owned());
                self.later.lock().unwrap_or_else(PoisonError::into_inner).push(later);
                return Ok(false);
            }
            LinkAction::Linked(place) => place,
        };
        let failed = |error: Errno| CopyError::Link {
            source: place.0.path().join(path(&place.1)),
            target: entry.target_path(),
            symbolic: false,
            error: error.into(),
        };
        let first = place.0.fd().map_err(|error| Error::io("open", place.0.path(), error))?;
        let target = entry.within()?;
        let link = |name: &CStr| rustix::fs::linkat(&first, &place.1, &target, name, AtFlags::empty());
        match link(entry.target) {
            Err(Errno::EXIST) => self.over(entry, link)?,
            other => other.map_err(failed)?,
        }
        worker.stats.hard_links += 1;
        self.told(entry, None, None);
        Ok(false)
    }

    /// Notes how it went with the first name of a file that has several.
    pub(super) fn first<T, E>(&self, entry: &Entry<'_>, stat: &Stat, result: Result<T, E>) -> Result<T, E> {
        let identity = (stat.st_dev, stat.st_ino);
        match &result {
            Ok(_) => self.links.done(identity, (entry.directory.target.clone(), entry.target.to_owned())),
            Err(_) => self.links.failed(identity),
        }
        result
    }

    /// Whether other names of the file may come, which are to be of one file again.
    pub(super) fn has_names(&self, entry: &Entry<'_>, stat: &Stat) -> bool {
        self.options.preserve.links && (stat.st_nlink > 1 || self.follows_to_any(entry))
    }

    /// Whether symbolic links to the entry's file may come that are followed.
    fn follows_to_any(&self, entry: &Entry<'_>) -> bool {
        match self.options.follow {
            Follow::All => true,
            Follow::Sources => entry.directory.is_outermost(),
            Follow::None => false,
        }
    }

    /// Makes a hard link to the source.
    pub(super) fn hard_link(&self, worker: &mut Worker, entry: &Entry<'_>) -> Copied<()> {
        let source = entry.directory.source()?;
        let target = entry.within()?;
        let flags = if entry.follow { AtFlags::SYMLINK_FOLLOW } else { AtFlags::empty() };
        self.link(worker, entry, CopyKind::HardLink, |name| {
            rustix::fs::linkat(&source, entry.source, &target, name, flags)
        })
    }

    /// Makes a symbolic link to the source's path.
    pub(super) fn symbolic_link(&self, worker: &mut Worker, entry: &Entry<'_>) -> Copied<()> {
        let path = entry.source_path();
        let target = entry.within()?;
        let here = rustix::fs::stat(".").map(|stat| (stat.st_dev, stat.st_ino));
        if path.is_relative() && here.is_ok_and(|here| here != entry.directory.target.identity()) {
            return Err(CopyError::RelativeLink { target: entry.target_path() });
        }
        self.link(worker, entry, CopyKind::SymbolicLink, |name| rustix::fs::symlinkat(&path, &target, name))
    }

    fn link(
        &self,
        worker: &mut Worker,
        entry: &Entry<'_>,
        kind: CopyKind,
        make: impl Fn(&CStr) -> rustix::io::Result<()>,
    ) -> Copied<()> {
        let symbolic = kind == CopyKind::SymbolicLink;
        let failed = |error: Errno| {
            let (source, target) = (entry.source_path(), entry.target_path());
            CopyError::Link { source, target, symbolic, error: error.into() }
        };
        let replaces = self.options.force || !symbolic && self.options.confirm.is_some();
        self.over_existing(worker, entry, false, |worker, found| {
            match found {
                Found::Stays => return Ok(()),
                Found::New => make(entry.target).map_err(failed)?,
                Found::There if !replaces => return Err(failed(Errno::EXIST)),
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
