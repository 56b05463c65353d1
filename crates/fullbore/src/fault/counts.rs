//! What a plan did: every fault, sync and name in its order, and the sums.

use std::path::PathBuf;

use crate::file::Durability;

/// One thing that a plan did or let pass. Transfers that passed untouched are only counted.
///
/// [`Plan::events`](super::Plan::events) shows it.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// use fullbore::fault::{Event, Fault, Plan};
/// use fullbore::file::File;
/// let plan = Plan::new(1).with(Fault::Short { one_in: 1 });
/// let file = File::create_new(directory.path().join("file"))?.with_faults(&plan);
/// file.write_all_at(b"bytes", 0)?;
/// assert!(matches!(plan.events()[0], Event::Short { asked: 5, given: 1..5 }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A transfer was cut.
    Short {
        /// How many bytes were asked for.
        asked: usize,
        /// How many were let pass.
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
    /// The file was cut to this length by somebody else.
    Truncated(u64),
    /// The byte at this offset became another.
    Rotted(u64),
    /// The length was set.
    SetLen(u64),
    /// A range was made a hole.
    Punched {
        /// Where, in bytes.
        offset: u64,
        /// How many bytes.
        len: u64,
    },
    /// A range was made zeros that have blocks.
    Zeroed {
        /// Where, in bytes.
        offset: u64,
        /// How many bytes.
        len: u64,
    },
    /// A range got blocks.
    Allocated {
        /// Where, in bytes.
        offset: u64,
        /// How many bytes.
        len: u64,
    },
    /// The file was synced, at [`Durability::Data`] or [`Durability::Full`].
    Synced(Durability),
    /// A range of the file was synced.
    SyncedRange {
        /// Where, in bytes.
        offset: u64,
        /// How many bytes.
        len: u64,
    },
    /// A directory was synced.
    SyncedDirectory(PathBuf),
    /// A sync failed with `EIO`.
    SyncFailed,
    /// A file got a name.
    Linked(PathBuf),
    /// A file's name was changed.
    Renamed {
        /// The name it had.
        from: PathBuf,
        /// The name it got.
        to: PathBuf,
    },
}

/// How often a plan did what.
///
/// ```
/// let counts = fullbore::fault::Plan::new(1).counts();
/// assert_eq!((counts.transfers, counts.failed_syncs), (0, 0));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Transfers asked about: reads, writes, views.
    pub transfers: u64,
    /// Syncs asked about, of files, ranges of them and directories.
    pub syncs: u64,
    /// Transfers that were cut.
    pub short: u64,
    /// Transfers that failed with `EINTR`.
    pub interrupted: u64,
    /// Transfers that failed with `EAGAIN`.
    pub would_block: u64,
    /// Writes that failed with `ENOSPC`.
    pub no_space: u64,
    /// Transfers that failed with `EIO`.
    pub io_errors: u64,
    /// How often the file was cut by somebody else.
    pub truncated: u64,
    /// Bytes that became others.
    pub rotted: u64,
    /// Syncs that failed.
    pub failed_syncs: u64,
}

impl Counts {
    /// Adds what an event says.
    pub(super) fn note(&mut self, event: &Event) {
        match event {
            Event::Short { .. } => self.short += 1,
            Event::Interrupted => self.interrupted += 1,
            Event::WouldBlock => self.would_block += 1,
            Event::NoSpace => self.no_space += 1,
            Event::IoError => self.io_errors += 1,
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
