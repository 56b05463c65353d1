//! The resources that an operation in flight owns.
#![forbid(unsafe_code)]

use std::fmt;

use super::slots::IoResult;
use crate::buf::{Direction, Loan};
use crate::file::File;
use crate::sys::TransferFlags;

/// An operation for a driver, with all resources that must live until its completion.
// Most operations are transfers, and these may not allocate.
#[allow(clippy::large_enum_variant)]
pub(super) enum Operation {
    Transfer(Movement),
    /// A call on a thread: opening, syncing, closing.
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
    /// Flags of the call.
    pub(super) flags: TransferFlags,
    /// True if cancellation was requested, so that `ECANCELED` is the expected result.
    pub(super) cancelled: bool,
}

/// The executor of a read or write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// The ring if there is one, otherwise as `Call`.
    Ring,
    /// A thread, by one system call.
    Call,
    /// A thread, by the file's methods: its cache policy takes more than one system call.
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
