//! Faults on purpose: what storage does on its worst days, on demand and the same every time.
//!
//! A [`Plan`] is attached to a file ([`File::with_faults`]) or an output ([`Output::with_faults`]) and goes with every
//! handle made of it. It is asked before each call that the file, or an engine under it ([`Faulty`]), would make, and lets
//! it pass, makes it shorter or fails it. With [`Plan::with_power_failure`] it also remembers what no sync has covered
//! and can [take it away](Plan::crash) as a power failure would.
//!
//! What has no offsets, a pipe or a device, has its bytes counted from where it was put under the plan, those read and those
//! written apart: that is where a fault of an offset strikes.
//!
//! Behind the feature `fault`: without it none of this is compiled, and a file without a plan pays one branch a call.
//!
//! ```
//! # fn main() -> fullbore::Result<()> {
//! # let directory = tempfile::tempdir().unwrap();
//! use fullbore::fault::{Fault, Plan};
//! use fullbore::file::File;
//!
//! let plan = Plan::new(1).with(Fault::Short { one_in: 2 }).with(Fault::Interrupted { one_in: 3 });
//! let file = File::create_new(directory.path().join("file"))?.with_faults(&plan);
//! for at in 0..100 {
//!     file.write_all_at(b"all of it, whatever happens", at * 27)?;
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
mod unsynced;

use std::io;
use std::path::{Path, PathBuf};

pub use counts::{Counts, Event};
pub use engine::Faulty;
pub(crate) use engine::wrap;
pub use plan::Plan;
pub use unsynced::Worst;

#[cfg(doc)]
use crate::file::Output;
use crate::file::{Durability, File};

/// One thing that goes wrong.
///
/// ```
/// use fullbore::fault::{Fault, Plan};
/// use fullbore::file::File;
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
    /// One transfer in `one_in`, at random, is cut to a part of what was asked.
    Short {
        /// How many calls there are for each that is hit.
        one_in: u32,
    },
    /// One transfer in `one_in` fails with `EINTR`, never two in a row.
    Interrupted {
        /// How many calls there are for each that is hit.
        one_in: u32,
    },
    /// One transfer in `one_in` fails with `EAGAIN`, never two in a row.
    WouldBlock {
        /// How many calls there are for each that is hit.
        one_in: u32,
    },
    /// There is room for the bytes before this offset: a write that reaches it is cut there, one that starts at it or
    /// behind it fails with `ENOSPC`.
    NoSpace {
        /// The first offset without room, in bytes.
        at: u64,
    },
    /// The first transfer that covers this offset fails with `EIO`; later ones do not.
    IoErrorAt {
        /// The offset, in bytes.
        offset: u64,
    },
    /// The transfer of this number, from 1, fails with `EIO`.
    IoErrorOn {
        /// The number.
        call: u64,
    },
    /// Before the transfer of this number, from 1, somebody else cuts the file to `len` bytes.
    Truncated {
        /// The number.
        call: u64,
        /// The file's new length, in bytes; a file that is shorter stays as it is.
        len: u64,
    },
    /// Before the first read that covers this offset the byte there becomes another: the device did not keep it.
    BitRot {
        /// The offset, in bytes.
        offset: u64,
    },
    /// A call takes no more than this many buffers (`IOV_MAX`).
    Buffers {
        /// The number, at least 1.
        most: usize,
    },
    /// The sync of this number, from 1, fails with `EIO`, directories' included, and what it should have covered counts as
    /// dropped, as on Linux: the next one succeeds and does not bring it back.
    SyncFails {
        /// The number.
        sync: u64,
    },
}

/// A call that is about to be made.
///
/// [`Operation`] shows it.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// use fullbore::fault::{Call, Fault, Operation, Plan, Verdict};
/// let file = fullbore::file::File::create_new(directory.path().join("file"))?;
/// let plan = Plan::new(1).with(Fault::SyncFails { sync: 1 });
/// let call = Call::Sync(fullbore::file::Durability::Data);
/// assert!(matches!(plan.before(&Operation { file: &file, unit: 1, call }), Verdict::Fail(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Call<'a> {
    /// A read.
    Read {
        /// Where, in bytes.
        offset: u64,
        /// How many bytes.
        len: usize,
    },
    /// A write.
    Write {
        /// Where, in bytes.
        offset: u64,
        /// How many bytes.
        len: usize,
    },
    /// Bytes that come whole or not at all are read: mapped ones, or blocks that another file is to share.
    View {
        /// Where, in bytes.
        offset: u64,
        /// How many bytes.
        len: usize,
    },
    /// Bytes are changed wholly or not at all: mapped ones, or by sharing another file's blocks.
    Change {
        /// Where, in bytes.
        offset: u64,
        /// How many bytes.
        len: usize,
    },
    /// A range is made a hole, as far as the file goes.
    Punch {
        /// Where, in bytes.
        offset: u64,
        /// How many bytes.
        len: u64,
    },
    /// A range is made zeros that have blocks. The length stays.
    Zero {
        /// Where, in bytes.
        offset: u64,
        /// How many bytes.
        len: u64,
    },
    /// A range gets blocks. Its bytes stay.
    Allocate {
        /// Where, in bytes.
        offset: u64,
        /// How many bytes.
        len: u64,
        /// Whether a file that ends before gets that length too.
        extends: bool,
    },
    /// The length is set.
    SetLen {
        /// To how many bytes.
        len: u64,
    },
    /// The file is synced, at [`Durability::Data`] or [`Durability::Full`].
    Sync(Durability),
    /// A range of the file is synced, as mapped bytes are, and the length that it takes to find it again.
    SyncRange {
        /// Where, in bytes.
        offset: u64,
        /// How many bytes.
        len: u64,
    },
    /// The file is given a name that nothing has.
    Link {
        /// The name.
        name: &'a Path,
    },
    /// The file's name is changed, over another file if there is one.
    Rename {
        /// The name it has.
        from: &'a Path,
        /// The name it gets.
        to: &'a Path,
    },
    /// A directory is synced.
    SyncDirectory(&'a Path),
}

/// A call and the file it is about: what [`Plan::before`] is asked.
///
/// ```
/// # fn main() -> fullbore::Result<()> {
/// # let directory = tempfile::tempdir().unwrap();
/// use fullbore::fault::{Call, Fault, Operation, Plan, Verdict};
/// use fullbore::file::File;
///
/// let file = File::create_new(directory.path().join("file"))?;
/// let plan = Plan::new(1).with(Fault::NoSpace { at: 100 });
/// let write = |offset| Operation { file: &file, unit: 1, call: Call::Write { offset, len: 64 } };
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
    /// What a transfer may be cut to a multiple of, in bytes: 1, or the alignment of direct I/O.
    pub unit: usize,
    /// The call.
    pub call: Call<'a>,
}

/// What a plan says to a call.
///
/// ```
/// use fullbore::fault::Verdict;
/// let error = Verdict::Fail(std::io::ErrorKind::StorageFull.into()).into_result().unwrap_err();
/// assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
/// ```
#[derive(Debug)]
pub enum Verdict {
    /// Make it, with at most this many bytes; for calls that move none, the number says nothing.
    Go(usize),
    /// Do not make it: it has failed like this.
    Fail(io::Error),
}

impl Verdict {
    /// The same as a result, for `?`.
    ///
    /// # Errors
    /// The error to fail with.
    ///
    /// ```
    /// assert_eq!(fullbore::fault::Verdict::Go(7).into_result().unwrap(), 7);
    /// ```
    pub fn into_result(self) -> io::Result<usize> {
        match self {
            Self::Go(len) => Ok(len),
            Self::Fail(error) => Err(error),
        }
    }
}

/// The directory a name stands in.
fn directory_of(name: &Path) -> PathBuf {
    let directory = match name.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    directory.canonicalize().unwrap_or_else(|_| directory.to_owned())
}
