//! What an operation in flight owns.
#![forbid(unsafe_code)]

use std::fmt;

use rustix::io::ReadWriteFlags;

use super::slots::IoResult;
use crate::buf::{Direction, Loan};
use crate::file::File;

/// Something for a driver to do, with all that it needs to live until it is over.
// Transfers are the many, and may not allocate.
#[allow(clippy::large_enum_variant)]
pub(super) enum Operation {
    Transfer(Movement),
    /// What a thread does: opening, syncing, closing.
    Blocking(Option<Box<dyn FnOnce() -> IoResult + Send>>),
}

/// A read or a write.
#[derive(Debug)]
pub(super) struct Movement {
    pub(super) direction: Direction,
    pub(super) file: File,
    pub(super) offset: Option<u64>,
    pub(super) loan: Loan,
    pub(super) how: How,
    /// Of the call.
    pub(super) flags: ReadWriteFlags,
    /// Somebody asked for its end: `ECANCELED` is the answer and no accident.
    pub(super) cancelled: bool,
}

/// Who carries a read or a write out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// The ring, where there is one; else as `Call`.
    Ring,
    /// A thread, with one system call.
    Call,
    /// A thread, the way the file goes: what its cache policy asks for is more than one call.
    CacheMode,
}

impl fmt::Debug for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transfer(movement) => movement.fmt(f),
            Self::Blocking(_) => f.write_str("Blocking"),
        }
    }
}
