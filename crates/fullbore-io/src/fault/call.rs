//! The kinds of faults, the operations that they hit, and the record of a plan.

use std::path::PathBuf;
use std::{fmt, io};

use crate::file::types::{Call, Durability};
use crate::sys::{AsHandle, FileKind, Handle};

/// A kind of fault.
///
/// ```
/// use fullbore_io::fault::{Fault, Plan};
/// use fullbore_io::file::File;
/// # let directory = tempfile::tempdir()?;
///
/// let plan = Plan::new(1).with(Fault::Truncated { call: 2, len: 4 });
/// let file = File::create_new(directory.path().join("file"))?.with_faults(&plan);
/// file.write_all_at(b"some bytes", 0)?;
/// let mut bytes = [0; 10];
/// assert_eq!(file.read_at(&mut bytes, 0)?, 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// `one_in` is the average number of calls per fault, `call` and `sync` are numbers of calls from 1; offsets and lengths are in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are explained above")]
#[non_exhaustive]
pub enum Fault {
    /// One transfer in `one_in`, at random, is shortened.
    Short { one_in: u32 },
    /// One transfer in `one_in` fails with `EINTR`, never two in a row.
    Interrupted { one_in: u32 },
    /// One transfer in `one_in` fails with `EAGAIN`, never two in a row.
    WouldBlock { one_in: u32 },
    /// There is space only below this offset: a write across it is shortened, a write at or after it fails with
    /// `ENOSPC`.
    NoSpace { at: u64 },
    /// The first transfer that covers this offset fails with `EIO`; later ones do not.
    IoErrorAt { offset: u64 },
    /// The transfer with this number, from 1, fails with `EIO`.
    IoErrorOn { call: u64 },
    /// Before the transfer with this number, from 1, the file is truncated to `len` bytes through another handle; a
    /// shorter file is unchanged.
    Truncated { call: u64, len: u64 },
    /// Before the first read that covers this offset of the file, the byte there is altered, as by a failing device.
    BitRot { offset: u64 },
    /// A call takes at most this many buffers (`IOV_MAX`), at least 1.
    Buffers { most: usize },
    /// The sync with this number, from 1, fails with `EIO`; syncs of directories and writes of dirty pages count. The changes
    /// that it should have covered are dropped, as on Linux: the next sync succeeds and does not restore them.
    SyncFails { sync: u64 },
    /// A rule of devices: a direct transfer whose offset, length or memory is not a multiple of the sector fails with
    /// `EINVAL`, on Windows with `ERROR_INVALID_PARAMETER` (87). Handles opened from now on have the size.
    Sectors {
        /// The size in bytes, a power of two up to 4096. Added to open files, a larger size is that of a device that
        /// announces a wrong one.
        size: u64,
    },
    /// A rule of Windows: another handle has locked a range. A transfer of any of its bytes fails with
    /// `ERROR_LOCK_VIOLATION` (33), elsewhere with `EDEADLK`; mapped bytes are not bound.
    Locked { offset: u64, len: u64 },
    /// A rule of Windows: a file that is mapped under the plan cannot be truncated. The call fails with
    /// `ERROR_USER_MAPPED_FILE` (1224), elsewhere with `ETXTBSY`.
    Mapped,
    /// A rule of Windows: another program holds the file at the new name of a rename and does not share it. The call fails
    /// with `ERROR_SHARING_VIOLATION` (32), elsewhere with `EADDRINUSE`.
    Held,
}

/// A file under a plan.
pub trait Subject: AsHandle + fmt::Debug {
    /// Opens the inode again, for reading and, if `write`, for writing.
    fn reopen_fd(&self, write: bool) -> io::Result<Handle>;

    /// Returns the kind of file it is.
    fn kind(&self) -> FileKind;
}

/// A call and its file, as passed to [`Plan::before`](super::Plan::before).
///
/// ```
/// # let directory = tempfile::tempdir().unwrap();
/// use fullbore_io::fault::{Call, Fault, Operation, Plan};
/// use fullbore_io::file::File;
///
/// let file = File::create_new(directory.path().join("file"))?;
/// let plan = Plan::new(1).with(Fault::NoSpace { at: 100 });
/// let write = |offset| Operation { file: &file, unit: 1, memory: 0, call: Call::Write { offset, len: 64 } };
/// assert_eq!(plan.before(&write(0))?, 64);
/// assert_eq!(plan.before(&write(64))?, 36);
/// assert!(plan.before(&write(128)).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Operation<'a> {
    /// The file.
    pub file: &'a dyn Subject,
    /// Unit of shortened transfers, in bytes: 1, or the alignment of direct I/O.
    pub unit: usize,
    /// The addresses of the buffers and, if there are several, their lengths, combined by bitwise or: this gives their
    /// common alignment.
    pub memory: usize,
    /// The call.
    pub call: Call<'a>,
}

/// An action of a plan, or a sync or name change that it permitted; offsets and lengths are in bytes. Transfers that pass
/// unchanged are only counted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are explained above")]
#[non_exhaustive]
pub enum Event {
    /// A transfer was shortened from the requested to the permitted length.
    Short { requested: usize, given: usize },
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
    Punched { offset: u64, len: u64 },
    /// A range became zeros with allocated blocks.
    Zeroed { offset: u64, len: u64 },
    /// A range got blocks.
    Allocated { offset: u64, len: u64 },
    /// The file was synced, at [`Durability::Data`] or [`Durability::Full`].
    Synced(Durability),
    /// The dirty pages of the file were written to the device, whose cache was not flushed.
    WrittenBack,
    /// A range of the file was synced.
    SyncedRange { offset: u64, len: u64 },
    /// A directory was synced.
    SyncedDirectory(PathBuf),
    /// A sync failed with `EIO`.
    SyncFailed,
    /// A file was linked to a name.
    Linked(PathBuf),
    /// A file was renamed.
    Renamed { from: PathBuf, to: PathBuf },
}

/// The counts of a plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Transfers checked: reads, writes, views.
    pub transfers: u64,
    /// Transfers checked that bypass the page cache.
    pub direct: u64,
    /// Syncs checked, of files, ranges and directories, and writes of dirty pages.
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
            _ => {}
        }
    }
}
