//! Which files have a copy already, for sources that have several names.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The copies of files with several names, by device and inode.
#[derive(Default)]
pub(super) struct Links(Mutex<HashMap<(u64, u64), Copy>>);

struct Copy {
    /// Where it is; none yet while it is made.
    place: Option<PathBuf>,
    /// How many more names of it may come.
    left: u64,
}

/// What to do for a name.
pub(super) enum Claim {
    /// It is the first: it is to be copied, and [`Links::done`] or [`Links::failed`] to be called.
    First,
    /// Its file has a copy here.
    Linked(PathBuf),
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
    pub(super) fn done(&self, identity: (u64, u64), place: PathBuf) {
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
