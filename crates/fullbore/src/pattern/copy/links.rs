//! Which files have a copy already, for sources that have several names.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{AtFlags, Stat};
use rustix::io::Errno;

use super::directory::Directory;
use super::tree::{Job, Worker};
use crate::error::{Error, Result};
use crate::file::HeldDir;

/// The copies of files with several names, by device and inode.
#[derive(Default)]
pub(super) struct Links(Mutex<HashMap<(u64, u64), Copy>>);

/// A name in a target directory.
type Named = (HeldDir, CString);

struct Copy {
    /// Where it is; none yet while it is made.
    place: Option<Named>,
    /// How many more names of it may come.
    left: u64,
}

/// What to do for a name.
pub(super) enum Claim {
    /// It is the first: it is to be copied, and [`Links::done`] or [`Links::failed`] to be called.
    First,
    /// Its file has a copy here.
    Linked(Named),
    /// Its file is being copied.
    Later,
}

impl Links {
    /// Asks for a name of a file that has `names` names.
    pub(super) fn claim(&self, identity: (u64, u64), names: u64) -> Claim {
        let mut copies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match copies.get_mut(&identity) {
            None => {
                copies.insert(identity, Copy { place: None, left: names.saturating_sub(1) });
                Claim::First
            }
            Some(Copy { place: None, .. }) => Claim::Later,
            Some(Copy { place: Some(place), left }) => {
                *left = left.saturating_sub(1);
                let place = place.clone();
                if *left == 0 {
                    // The last: nobody asks for it again, and it need not be remembered.
                    copies.remove(&identity);
                }
                Claim::Linked(place)
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
    pub(super) fn linked(
        &self,
        worker: &mut Worker,
        directory: &Arc<Directory>,
        names: (&CStr, &CStr),
        stat: &Stat,
    ) -> Result<bool> {
        let place = match self.links.claim((stat.st_dev, stat.st_ino), stat.st_nlink) {
            Claim::First => return Ok(true),
            Claim::Later => {
                let later = (directory.clone(), names.0.to_owned(), names.1.to_owned());
                self.later.lock().unwrap_or_else(PoisonError::into_inner).push(later);
                return Ok(false);
            }
            Claim::Linked(place) => place,
        };
        let failed = |error: Errno| Error::io("link", directory.target_path(names.1), error.into());
        let first = place.0.fd().map_err(|error| Error::io("open", place.0.path(), error))?;
        let target = directory.target()?;
        let link = |name: &CStr| rustix::fs::linkat(&first, &place.1, &target, name, AtFlags::empty());
        match link(names.1) {
            Err(Errno::EXIST) => self.over(directory, names.1, link)?,
            other => other.map_err(failed)?,
        }
        worker.account.hard_links += 1;
        self.told(directory, names);
        Ok(false)
    }

    /// Notes how it went with the first name of a file that has several.
    pub(super) fn first<T>(
        &self,
        directory: &Directory,
        target: &CStr,
        stat: &Stat,
        result: Result<T>,
    ) -> Result<T> {
        let identity = (stat.st_dev, stat.st_ino);
        match &result {
            Ok(_) => self.links.done(identity, (directory.target.clone(), target.to_owned())),
            Err(_) => self.links.failed(identity),
        }
        result
    }

    /// Whether other names of the file may come, which are to be of one file again.
    pub(super) fn has_names(&self, stat: &Stat) -> bool {
        self.options.preserve.links && stat.st_nlink > 1
    }
}
