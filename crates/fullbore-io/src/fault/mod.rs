//! Injected faults: storage failures on demand, reproducible from a seed.
//!
//! A [`Plan`] is attached to a file ([`File::with_faults`]) or an output ([`Output::with_faults`]) and inherited by every
//! handle made from it. It is consulted before each call of the file, or of an engine on it ([`Faulty`]), and lets the call
//! pass, shortens it or fails it. With [`Plan::with_power_failure`] it also records everything that no sync has covered and
//! can [revert it](Plan::crash) as a power failure would.
//!
//! For files without offsets (pipes, devices) the plan counts the bytes from the moment of attachment, read and written
//! bytes separately, and uses these counts as offsets.
//!
//! Requires the feature `fault`. Without it nothing of this is compiled; with it, a file without a plan costs one branch per
//! call.
//!
//! ```
//! # fn main() -> fullbore_io::Result<()> {
//! # let directory = tempfile::tempdir().unwrap();
//! use fullbore_io::fault::{Fault, Plan};
//! use fullbore_io::file::File;
//!
//! let plan = Plan::new(1).with(Fault::Short { one_in: 2 }).with(Fault::Interrupted { one_in: 3 });
//! let file = File::create_new(directory.path().join("file"))?.with_faults(&plan);
//! for at in 0..100 {
//!     file.write_all_at(b"written despite the faults", at * 26)?;
//! }
//! assert!(plan.counts().short > 0 && plan.counts().interrupted > 0);
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod attach;
mod counts;
mod engine;
mod plan;
mod rules;
mod unsynced;

use std::io;
use std::path::{Path, PathBuf};

pub use counts::{Counts, Event};
pub use engine::Faulty;
pub(crate) use engine::wrap;
pub use plan::Plan;
pub(crate) use rules::MappedUnder;
pub use unsynced::Worst;

#[cfg(doc)]
use crate::file::Output;
use crate::file::{Durability, File};

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// One transfer in `one_in`, at random, is shortened.
    Short {
        /// Average number of calls per fault.
        one_in: u32,
    },
    /// One transfer in `one_in` fails with `EINTR`, never two in a row.
    Interrupted {
        /// Average number of calls per fault.
        one_in: u32,
    },
    /// One transfer in `one_in` fails with `EAGAIN`, never two in a row.
    WouldBlock {
        /// Average number of calls per fault.
        one_in: u32,
    },
    /// There is space only below this offset: a write across it is shortened, a write at it or behind it fails with
    /// `ENOSPC`.
    NoSpace {
        /// First offset without space, in bytes.
        at: u64,
    },
    /// The first transfer that covers this offset fails with `EIO`; later ones do not.
    IoErrorAt {
        /// The offset, in bytes.
        offset: u64,
    },
    /// The transfer with this number, from 1, fails with `EIO`.
    IoErrorOn {
        /// The number.
        call: u64,
    },
    /// Before the transfer with this number, from 1, the file is truncated to `len` bytes through another handle.
    Truncated {
        /// The number.
        call: u64,
        /// New length, in bytes; a shorter file is unchanged.
        len: u64,
    },
    /// Before the first read that covers this offset, the byte there is altered, as by a failing device.
    BitRot {
        /// The offset, in bytes.
        offset: u64,
    },
    /// A call takes at most this many buffers (`IOV_MAX`).
    Buffers {
        /// The number, at least 1.
        most: usize,
    },
    /// The sync with this number, from 1, fails with `EIO`; syncs of directories count. The changes that it should have
    /// covered are dropped, as on Linux: the next sync succeeds and does not restore them.
    SyncFails {
        /// The number.
        sync: u64,
    },
    /// A rule of devices: a direct transfer whose offset, length or memory is not a multiple of the sector fails with
    /// `EINVAL`, on Windows with `ERROR_INVALID_PARAMETER` (87). Handles opened from now on know the size.
    Sectors {
        /// The size in bytes, a power of two up to 4096. Added to open files, a larger size is that of a device that
        /// announces a wrong one.
        size: u64,
    },
    /// A rule of Windows: another handle has locked a range. A transfer of any of its bytes fails with
    /// `ERROR_LOCK_VIOLATION` (33), elsewhere with `EDEADLK`; mapped bytes are not bound.
    Locked {
        /// First byte.
        offset: u64,
        /// Length, in bytes.
        len: u64,
    },
    /// A rule of Windows: a file that is mapped under the plan cannot be truncated. The call fails with
    /// `ERROR_USER_MAPPED_FILE` (1224), elsewhere with `ETXTBSY`.
    Mapped,
    /// A rule of Windows: another program holds the file at the new name of a rename and does not share it. The call fails
    /// with `ERROR_SHARING_VIOLATION` (32), elsewhere with `EADDRINUSE`.
    Held,
}

/// A call about to be made, as part of an [`Operation`].
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Call<'a> {
    /// A read.
    Read {
        /// Offset, in bytes.
        offset: u64,
        /// Length, in bytes.
        len: usize,
    },
    /// A write.
    Write {
        /// Offset, in bytes.
        offset: u64,
        /// Length, in bytes.
        len: usize,
    },
    /// An all-or-nothing read: of mapped bytes, or of blocks to be shared with another file.
    View {
        /// Offset, in bytes.
        offset: u64,
        /// Length, in bytes.
        len: usize,
    },
    /// An all-or-nothing change: of mapped bytes, or by sharing another file's blocks.
    Change {
        /// Offset, in bytes.
        offset: u64,
        /// Length, in bytes.
        len: usize,
    },
    /// A hole is punched, up to the end of the file.
    Punch {
        /// Offset, in bytes.
        offset: u64,
        /// Length, in bytes.
        len: u64,
    },
    /// A range becomes zeros with allocated blocks. The file's length stays.
    Zero {
        /// Offset, in bytes.
        offset: u64,
        /// Length, in bytes.
        len: u64,
    },
    /// A range gets blocks. Its bytes stay.
    Allocate {
        /// Offset, in bytes.
        offset: u64,
        /// Length, in bytes.
        len: u64,
        /// True if the file is extended to the end of the range.
        extends: bool,
    },
    /// The length is set.
    SetLen {
        /// New length, in bytes.
        len: u64,
    },
    /// The file is synced, at [`Durability::Data`] or [`Durability::Full`].
    Sync(Durability),
    /// A range of the file is synced, as for mapped bytes, with the file length needed to reach it.
    SyncRange {
        /// Offset, in bytes.
        offset: u64,
        /// Length, in bytes.
        len: u64,
    },
    /// The file is linked to an unused name.
    Link {
        /// The name.
        name: &'a Path,
    },
    /// The file is renamed, possibly over another file.
    Rename {
        /// Old name.
        from: &'a Path,
        /// New name.
        to: &'a Path,
    },
    /// A directory is synced.
    SyncDirectory(&'a Path),
}

/// A call and its file, as passed to [`Plan::before`].
///
/// ```
/// # fn main() -> fullbore_io::Result<()> {
/// # let directory = tempfile::tempdir().unwrap();
/// use fullbore_io::fault::{Call, Fault, Operation, Plan, Verdict};
/// use fullbore_io::file::File;
///
/// let file = File::create_new(directory.path().join("file"))?;
/// let plan = Plan::new(1).with(Fault::NoSpace { at: 100 });
/// let write = |offset| Operation { file: &file, unit: 1, memory: 0, call: Call::Write { offset, len: 64 } };
/// assert!(matches!(plan.before(&write(0)), Verdict::Go(64)));
/// assert!(matches!(plan.before(&write(64)), Verdict::Go(36)));
/// assert!(matches!(plan.before(&write(128)), Verdict::Fail(_)));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Operation<'a> {
    /// The file.
    pub file: &'a File,
    /// Unit of shortened transfers, in bytes: 1, or the alignment of direct I/O.
    pub unit: usize,
    /// Addresses of the buffers, and of several their lengths, combined by bitwise or: the alignment that all of them have.
    pub memory: usize,
    /// The call.
    pub call: Call<'a>,
}

/// The decision of a plan on a call.
#[derive(Debug)]
pub enum Verdict {
    /// Make the call with at most this many bytes. Calls that move no bytes ignore the number.
    Go(usize),
    /// Do not make the call; return this error.
    Fail(io::Error),
}

impl Verdict {
    /// Converts the verdict for use with `?`.
    ///
    /// # Errors
    /// The error of [`Verdict::Fail`].
    pub fn into_result(self) -> io::Result<usize> {
        match self {
            Self::Go(len) => Ok(len),
            Self::Fail(error) => Err(error),
        }
    }
}

/// Returns the directory that contains a name.
fn directory_of(name: &Path) -> PathBuf {
    let directory = match name.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    directory.canonicalize().unwrap_or_else(|_| directory.to_owned())
}
