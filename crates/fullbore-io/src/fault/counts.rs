//! The record of a plan: events in order, and counts.

use std::path::PathBuf;

use super::Fault;
use crate::file::Durability;

/// An action of a plan, or a sync or name change that it permitted. Transfers that pass unchanged are only counted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A transfer was shortened.
    Short {
        /// Requested length, in bytes.
        asked: usize,
        /// Permitted length, in bytes.
        given: usize,
    },
    /// A transfer failed with `EINTR`.
    Interrupted,
    /// A transfer failed with `EAGAIN`.
    WouldBlock,
    /// A write failed with `ENOSPC`.
    NoSpace,
    /// A transfer failed with `EIO`.
    IoError,
    /// A call broke this rule.
    Refused(Fault),
    /// The file was truncated to this length through another handle.
    Truncated(u64),
    /// The byte at this offset was altered.
    Rotted(u64),
    /// The length was set.
    SetLen(u64),
    /// A hole was punched.
    Punched {
        /// Offset, in bytes.
        offset: u64,
        /// Length, in bytes.
        len: u64,
    },
    /// A range became zeros with allocated blocks.
    Zeroed {
        /// Offset, in bytes.
        offset: u64,
        /// Length, in bytes.
        len: u64,
    },
    /// A range got blocks.
    Allocated {
        /// Offset, in bytes.
        offset: u64,
        /// Length, in bytes.
        len: u64,
    },
    /// The file was synced, at [`Durability::Data`] or [`Durability::Full`].
    Synced(Durability),
    /// A range of the file was synced.
    SyncedRange {
        /// Offset, in bytes.
        offset: u64,
        /// Length, in bytes.
        len: u64,
    },
    /// A directory was synced.
    SyncedDirectory(PathBuf),
    /// A sync failed with `EIO`.
    SyncFailed,
    /// A file was linked to a name.
    Linked(PathBuf),
    /// A file was renamed.
    Renamed {
        /// Old name.
        from: PathBuf,
        /// New name.
        to: PathBuf,
    },
}

/// The counts of a plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Transfers checked: reads, writes, views.
    pub transfers: u64,
    /// Transfers checked that bypass the page cache.
    pub direct: u64,
    /// Syncs checked, of files, ranges and directories.
    pub syncs: u64,
    /// Transfers that were shortened.
    pub short: u64,
    /// Transfers that failed with `EINTR`.
    pub interrupted: u64,
    /// Transfers that failed with `EAGAIN`.
    pub would_block: u64,
    /// Writes that failed with `ENOSPC`.
    pub no_space: u64,
    /// Transfers that failed with `EIO`.
    pub io_errors: u64,
    /// Calls that broke a rule.
    pub refused: u64,
    /// Truncations of the file through another handle.
    pub truncated: u64,
    /// Bytes that were altered.
    pub rotted: u64,
    /// Syncs that failed.
    pub failed_syncs: u64,
}

impl Counts {
    /// Counts an event.
    pub(super) fn note(&mut self, event: &Event) {
        match event {
            Event::Short { .. } => self.short += 1,
            Event::Interrupted => self.interrupted += 1,
            Event::WouldBlock => self.would_block += 1,
            Event::NoSpace => self.no_space += 1,
            Event::IoError => self.io_errors += 1,
            Event::Refused(_) => self.refused += 1,
            Event::Truncated(_) => self.truncated += 1,
            Event::Rotted(_) => self.rotted += 1,
            Event::SyncFailed => self.failed_syncs += 1,
            Event::SetLen(_)
            | Event::Punched { .. }
            | Event::Zeroed { .. }
            | Event::Allocated { .. }
            | Event::Synced(_)
            | Event::SyncedRange { .. }
            | Event::SyncedDirectory(_)
            | Event::Linked(_)
            | Event::Renamed { .. } => {}
        }
    }
}
