//! The statistics of a copy.

use std::sync::{Mutex, PoisonError};

/// Files and bytes, by result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[non_exhaustive]
pub struct CopyStats {
    /// Files with their own bytes.
    pub files: u64,
    /// Directories created.
    pub directories: u64,
    /// Further names of files already copied.
    pub hard_links: u64,
    /// Symbolic links, pipes, sockets and devices.
    pub others: u64,
    /// Targets that existed and stayed.
    pub skipped: u64,
    /// Entries that could not be copied.
    pub failed: u64,
    /// Inputs that changed while they were read; also counted in `failed`.
    pub changed: u64,
    /// Bytes in blocks shared by both files.
    pub cloned: u64,
    /// Bytes moved.
    pub copied: u64,
    /// Bytes in holes.
    pub holes: u64,
    /// Bytes copied by an earlier run.
    pub resumed: u64,
    /// Bytes read back from the device and found equal.
    pub verified: u64,
}

impl CopyStats {
    /// The bytes of the files, including holes.
    pub fn bytes(&self) -> u64 {
        self.cloned + self.copied + self.holes + self.resumed
    }

    /// Adds another copy's statistics.
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

/// Statistics that all workers add to.
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
