//! What a copy did.

use std::sync::{Mutex, PoisonError};

/// How many files and bytes were copied, and how.
///
/// ```
/// use fullbore::pattern::CopyStats;
/// let mut all = CopyStats { files: 1, copied: 10, ..CopyStats::default() };
/// all.add(&CopyStats { files: 1, holes: 90, ..CopyStats::default() });
/// assert_eq!((all.files, all.bytes()), (2, 100));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct CopyStats {
    /// Files with bytes of their own.
    pub files: u64,
    /// Directories that were made.
    pub directories: u64,
    /// Further names of files that were copied already.
    pub hard_links: u64,
    /// Symbolic links, pipes, sockets and devices.
    pub others: u64,
    /// What was there already and stayed.
    pub skipped: u64,
    /// What could not be copied.
    pub failed: u64,
    /// Of these, inputs that changed while they were read.
    pub changed: u64,
    /// Bytes whose blocks both files have now.
    pub cloned: u64,
    /// Bytes that were moved.
    pub copied: u64,
    /// Bytes that were left out as holes.
    pub holes: u64,
    /// Bytes that an earlier run had copied.
    pub resumed: u64,
    /// Bytes that were read back from the device and are the same.
    pub verified: u64,
}

impl CopyStats {
    /// The bytes of the files, holes among them.
    ///
    /// ```
    /// assert_eq!(fullbore::pattern::CopyStats::default().bytes(), 0);
    /// ```
    pub fn bytes(&self) -> u64 {
        self.cloned + self.copied + self.holes + self.resumed
    }

    /// Adds another account.
    ///
    /// ```
    /// use fullbore::pattern::CopyStats;
    /// let mut all = CopyStats::default();
    /// all.add(&CopyStats { failed: 1, ..all });
    /// assert_eq!(all.failed, 1);
    /// ```
    pub fn add(&mut self, other: &Self) {
        let Self {
            files,
            directories,
            hard_links,
            others,
            skipped,
            failed,
            changed,
            cloned,
            copied,
            holes,
            resumed,
            verified,
        } = other;
        self.files += files;
        self.directories += directories;
        self.hard_links += hard_links;
        self.others += others;
        self.skipped += skipped;
        self.failed += failed;
        self.changed += changed;
        self.cloned += cloned;
        self.copied += copied;
        self.holes += holes;
        self.resumed += resumed;
        self.verified += verified;
    }
}

/// An account that workers add to.
#[derive(Debug, Default)]
pub(super) struct Shared(Mutex<CopyStats>);

impl Shared {
    pub(super) fn add(&self, other: &CopyStats) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).add(other);
    }

    pub(super) fn into_inner(self) -> CopyStats {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
