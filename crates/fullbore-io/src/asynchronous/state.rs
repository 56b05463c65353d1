//! The operations of a driver, with the resources that they own and the events that they wait for, all under one lock.

use std::collections::VecDeque;
use std::task::Waker;
use std::time::Duration;

use super::slots::{IoResult, Key, Slots};
use crate::buf::{Direction, Loan};
use crate::file::File;
use crate::file::inner::Unwritten;
use crate::sys::shared_ring::{COMPLETION_PORT, SharedRing, Ticket};
use crate::sys::{self, Code, Completed, RawHandle, TransferFlags};

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
    /// The mark of an output, which must not be complete before a write to it.
    pub(super) unwritten: Option<Unwritten>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// By the ring.
    Ring,
    /// By a thread, with one system call.
    Thread,
    /// A thread, by one system call, one at a time for each file: a buffered write.
    InTurn,
    /// A thread, by the file's methods: its cache policy takes more than one system call.
    CacheMode,
}

impl Operation {
    /// True for a transfer of a pipe, socket or terminal, which may wait for another process: it occupies no slot, and none of the
    /// driver's threads.
    pub(super) fn waits_for_others(&self) -> bool {
        matches!(self, Self::Transfer(movement) if movement.offset.is_none())
    }

    /// Drops an operation of which no future takes the result. An output must not be complete without the bytes of its writes.
    pub(super) fn abandon(self) {
        if let Self::Transfer(Movement { owned: Some((_, loan)), unwritten: Some(unwritten), .. }) = &self
            && !loan.is_whole()
        {
            unwritten.lose();
        }
    }
}

/// Number of transfers in flight at which one usually completes soon.
const MANY: usize = 8;

/// Time after which queued operations are submitted even if none completes: those in flight may wait for a server that does
/// not answer.
const PATIENCE: Duration = Duration::from_millis(10);

pub(super) struct Core {
    pub(super) slots: Slots<Operation>,
    pub(super) ring: Option<SharedRing<File>>,
    /// Started operations that wait for a thread.
    pub(super) ready: VecDeque<Key>,
    /// Files that a thread writes to through the cache.
    pub(super) writing: Vec<RawHandle>,
    /// Operations that wait until their files can be read or written.
    pub(super) parked: Vec<Key>,
    /// Operations that the ring returned without a result.
    pub(super) unserved: Vec<Key>,
    /// True if a thread waits for the files of parked operations.
    pub(super) watches: bool,
    pub(super) workers: usize,
    /// Number of threads whose call waits for another process, beyond the limit of threads.
    pub(super) waiting: usize,
    pub(super) idle: usize,
    pub(super) on_ring: usize,
    /// Number of operations on the ring that complete soon: transfers at offsets, not of pipes.
    pub(super) prompt: usize,
    /// True if the thread that waits for the ring submits within [`PATIENCE`] what is queued meanwhile.
    pub(super) is_timed: bool,
    pub(super) closing: bool,
    /// Wakers to call and operations to drop once the lock is released: both may run foreign code.
    pub(super) wakes: Vec<Waker>,
    pub(super) gone: Vec<Operation>,
}

/// True for the errors with which a ring returns a transfer that it did not execute. The kernel cancels transfers of a thread that
/// ends, or executes them without the memory of the process (`EFAULT`); it also cancels those for which it cannot start a thread. If
/// the descriptor is set not to wait (`O_NONBLOCK`), the ring does not wait either. A completion port only cancels.
fn is_unserved(code: Code) -> bool {
    match code {
        Code::CANCELLED | Code::INTERRUPTED => true,
        Code::FAULT | Code::WOULD_BLOCK => !COMPLETION_PORT,
        _ => false,
    }
}

impl Core {
    pub(super) fn new(ring: Option<SharedRing<File>>, in_flight: usize) -> Self {
        Self {
            slots: Slots::new(in_flight),
            ring,
            ready: VecDeque::with_capacity(in_flight),
            writing: Vec::with_capacity(in_flight),
            parked: Vec::new(),
            unserved: Vec::new(),
            watches: false,
            workers: 0,
            waiting: 0,
            idle: 0,
            on_ring: 0,
            prompt: 0,
            is_timed: false,
            closing: false,
            wakes: Vec::with_capacity(in_flight),
            gone: Vec::with_capacity(in_flight),
        }
    }

    /// The file of a buffered write: file systems execute these in turn, and threads that wait for each other there serve no other
    /// file.
    fn written_file(&mut self, key: Key) -> Option<RawHandle> {
        match self.slots.flight(key) {
            Some(Operation::Transfer(Movement { how: How::InTurn, owned: Some((file, _)), .. })) => {
                Some(sys::raw(file))
            }
            _ => None,
        }
    }

    /// True if a thread is writing to the file of this write.
    pub(super) fn must_wait(&mut self, key: Key) -> bool {
        self.written_file(key).is_some_and(|file| self.writing.contains(&file))
    }

    pub(super) fn can_take(&mut self) -> bool {
        (0..self.ready.len()).any(|index| !self.must_wait(self.ready[index]))
    }

    /// Takes the first operation that a thread may execute now, with the file if it is a buffered write.
    pub(super) fn take(&mut self) -> Option<(Key, Option<RawHandle>)> {
        let index = (0..self.ready.len()).find(|index| !self.must_wait(self.ready[*index]))?;
        let key = self.ready.remove(index)?;
        let file = self.written_file(key);
        self.writing.extend(file);
        Some((key, file))
    }

    /// Queues an operation on the ring. False if a thread executes it.
    pub(super) fn push(&mut self, key: Key) -> bool {
        let (Some(Operation::Transfer(movement)), Some(ring)) = (self.slots.flight(key), &mut self.ring)
        else {
            return false;
        };
        if movement.how != How::Ring || ring.is_broken() {
            return false;
        }
        let Some((file, loan)) = movement.owned.take() else { return false };
        movement.ticket = Some(ring.transfer(key.to_bits(), file, loan, movement.offset, movement.flags));
        self.on_ring += 1;
        self.prompt += usize::from(movement.offset.is_some());
        // A pipe may take forever, and no completion would cause its submission meanwhile.
        if movement.offset.is_none() {
            ring.submit();
        }
        true
    }

    /// Submits the queued operations, unless the thread that waits for the ring will do so soon: with many transfers in flight it
    /// does so after every completion, without a call for it, or after [`PATIENCE`]. At most a fifth of them wait this way.
    pub(super) fn hand_over(&mut self) {
        let Some(ring) = &mut self.ring else { return };
        let queued = ring.queued();
        let flying = self.prompt.saturating_sub(queued);
        if queued > 0 && (!self.is_timed || flying < MANY || queued * 4 >= flying) {
            ring.submit();
        }
    }

    /// Returns the limit of the next wait for the ring, and records whether there is one; `None` if few transfers are in flight.
    pub(super) fn patience(&mut self) -> Option<Duration> {
        self.is_timed = self.prompt >= MANY && self.ring.as_ref().is_some_and(SharedRing::waits_for_a_time);
        self.is_timed.then_some(PATIENCE)
    }

    pub(super) fn reap(&mut self) -> bool {
        let mut any = false;
        while let Some(completed) = self.ring.as_mut().and_then(SharedRing::completed) {
            any = true;
            let Completed { key, file, loan, result } = completed;
            let key = Key::from_bits(key);
            let code = result.as_ref().err().and_then(Code::of);
            let Some(movement) = self.give_back(key, file, loan) else { continue };
            let prompt = movement.offset.is_some();
            let unserved = code.is_some_and(is_unserved);
            let cancelled = movement.cancelled;
            if unserved && !cancelled && !COMPLETION_PORT {
                // A thread makes the call, and its result is final. A port has a handle that no other call can use.
                movement.how = How::Thread;
            }
            self.on_ring -= 1;
            self.prompt -= usize::from(prompt);
            match (unserved, cancelled) {
                (true, false) => self.unserved.push(key),
                // Not executed, and not to be executed any more.
                (true, true) => self.finish(key, Err(Code::CANCELLED.into())),
                (false, _) => self.finish(key, result),
            }
        }
        any
    }

    /// True if the ring takes no more transfers, and may have returned some without a completion that would wake a thread.
    pub(super) fn has_broken_ring(&self) -> bool {
        self.ring.as_ref().is_some_and(SharedRing::is_broken)
    }

    /// Removes an operation that waits for its file. False if it does not.
    pub(super) fn unpark(&mut self, key: Key) -> bool {
        let place = self.parked.iter().position(|parked| *parked == key);
        place.map(|place| self.parked.remove(place)).is_some()
    }

    /// Removes an operation that waits for a thread or for its file. False if it is elsewhere.
    pub(super) fn unqueue(&mut self, key: Key) -> bool {
        if let Some(place) = self.ready.iter().position(|ready| *ready == key) {
            self.ready.remove(place);
            return true;
        }
        self.unpark(key)
    }

    /// Cancels a transfer on the ring, and marks one on a thread.
    pub(super) fn cancel_in_flight(&mut self, key: Key) {
        let Some(Operation::Transfer(movement)) = self.slots.flight(key) else { return };
        let first = !std::mem::replace(&mut movement.cancelled, true);
        if let (Some(ticket), Some(ring), true) = (movement.ticket, &mut self.ring, first) {
            ring.cancel(ticket);
            ring.submit();
        }
    }

    /// Returns file and buffer to their operation.
    pub(super) fn give_back(&mut self, key: Key, file: File, loan: Loan) -> Option<&mut Movement> {
        let Some(Operation::Transfer(movement)) = self.slots.flight(key) else { return None };
        movement.owned = Some((file, loan));
        movement.ticket = None;
        Some(movement)
    }

    pub(super) fn finish(&mut self, key: Key, outcome: IoResult) {
        let (waker, operation) = self.slots.complete(key, outcome);
        self.wakes.extend(waker);
        self.gone.extend(operation);
    }
}
