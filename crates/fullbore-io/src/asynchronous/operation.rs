//! The resources that an operation in flight owns.
use super::slots::IoResult;
use crate::buf::{Direction, Loan};
use crate::file::File;
use crate::sys::TransferFlags;
use crate::sys::shared_ring::Ticket;

/// An operation for a driver, with all resources that must live until its completion.
// Most operations are transfers, and these may not allocate.
#[allow(clippy::large_enum_variant)]
pub(super) enum Operation {
    Transfer(Movement),
    /// A call on a thread: opening, syncing, closing.
    Blocking(Option<Box<dyn FnOnce() -> IoResult + Send>>),
}

pub(super) struct Movement {
    pub(super) direction: Direction,
    /// The file and the buffer; `None` while the ring or a thread has them.
    pub(super) owned: Option<(File, Loan)>,
    /// `None` for files without offsets.
    pub(super) offset: Option<u64>,
    pub(super) how: How,
    pub(super) ticket: Option<Ticket>,
    pub(super) flags: TransferFlags,
    /// True if cancellation was requested, so that `ECANCELED` is the expected result.
    pub(super) cancelled: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// The ring.
    Ring,
    /// A thread, by one system call.
    Thread,
    /// A thread, by one system call, one at a time for each file: a buffered write.
    InTurn,
    /// A thread, by the file's methods: its cache policy takes more than one system call.
    CacheMode,
}

impl Operation {
    /// True if the operation may wait for another process: a transfer of a pipe, socket or terminal. It holds neither a thread
    /// nor a place of the limit meanwhile.
    pub(super) fn waits_for_others(&self) -> bool {
        matches!(self, Self::Transfer(movement) if movement.offset.is_none())
    }
}
