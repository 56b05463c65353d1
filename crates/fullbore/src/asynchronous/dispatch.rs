//! Where operations are let in, started, reaped and told: one lock, a ring, and threads.
#![allow(unsafe_code)]

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use super::operation::{How, Movement, Operation};
use super::slots::{IoResult, Key, Slots};
use crate::buf::Direction;
use crate::file::File;
use crate::sys::forks::forks;
use crate::sys::shared_ring::SharedRing;
use crate::sys::transfer;

#[derive(Debug)]
struct Core {
    slots: Slots<Operation>,
    /// Started, and waiting for a thread.
    ready: VecDeque<Key>,
    workers: usize,
    idle: usize,
    on_ring: usize,
    /// Those on the ring that end soon: transfers of files that have offsets, not of pipes.
    prompt: usize,
    closing: bool,
    /// Whom to wake and what to drop when the lock is free: both may run code of others.
    wakes: Vec<Waker>,
    gone: Vec<Operation>,
}

/// What the clones of a driver, its threads and its futures share.
#[derive(Debug)]
pub(super) struct Dispatch {
    core: Mutex<Core>,
    work: Condvar,
    ring: Option<SharedRing>,
    threads: usize,
    /// As of when it was made.
    forks: u32,
}

type Locked<'a> = MutexGuard<'a, Core>;

impl Dispatch {
    pub(super) fn new(ring: Option<SharedRing>, in_flight: usize, threads: usize) -> Arc<Self> {
        let core = Core {
            slots: Slots::new(in_flight),
            ready: VecDeque::with_capacity(in_flight),
            workers: 0,
            idle: 0,
            on_ring: 0,
            prompt: 0,
            closing: false,
            wakes: Vec::with_capacity(in_flight),
            gone: Vec::with_capacity(in_flight),
        };
        Arc::new(Self { core: Mutex::new(core), work: Condvar::new(), ring, threads, forks: forks() })
    }

    pub(super) fn has_ring(&self) -> bool {
        self.ring.is_some()
    }

    fn lock(&self) -> Locked<'_> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes and drops what was noted, without the lock.
    fn unlock<'a>(&'a self, mut core: Locked<'a>) {
        // A few at a time and on the stack: lists that are taken away would be made again.
        while !core.wakes.is_empty() || !core.gone.is_empty() {
            let wakes: [Option<Waker>; 8] = std::array::from_fn(|_| core.wakes.pop());
            let gone = core.gone.pop();
            drop(core);
            wakes.into_iter().flatten().for_each(Waker::wake);
            drop(gone);
            core = self.lock();
        }
    }

    /// Whether the driver can be used at all.
    fn admit(&self) -> io::Result<()> {
        if forks() == self.forks {
            return Ok(());
        }
        // The threads stayed with the parent, and its ring must not be touched from here.
        Err(io::Error::other("the driver was made before this process was forked; make another"))
    }

    /// Takes over an operation; gives it back if it cannot run.
    // Boxing what comes back would allocate, which no operation may.
    #[allow(clippy::result_large_err)]
    pub(super) fn submit(
        self: &Arc<Self>,
        operation: Operation,
        waker: &Waker,
    ) -> Result<Key, (Operation, io::Error)> {
        if let Err(error) = self.admit() {
            return Err((operation, error));
        }
        let mut core = self.lock();
        let key = core.slots.insert(operation, Some(waker.clone()));
        self.start(&mut core);
        self.hand_over(&core);
        self.unlock(core);
        Ok(key)
    }

    /// Starts what may be in flight by now. What it queues on the ring is handed over by [`hand_over`](Self::hand_over).
    fn start(self: &Arc<Self>, core: &mut Core) {
        while let Some(key) = core.slots.start() {
            match (core.slots.flight(key), &self.ring) {
                (Some(Operation::Transfer(movement)), Some(ring)) if movement.how == How::Ring => {
                    let prompt = movement.offset.is_some();
                    push(ring, key, movement);
                    core.on_ring += 1;
                    core.prompt += usize::from(prompt);
                }
                _ => {
                    core.ready.push_back(key);
                    self.hire(core);
                }
            }
        }
    }

    /// Hands what is queued to the kernel, unless the thread that waits for the ring soon will: while many transfers are
    /// in flight it comes by with every completion, and one system call is saved for each. No more than a
    /// fifth of what is in flight waits so.
    fn hand_over(&self, core: &Core) {
        const MANY: usize = 8;
        let Some(ring) = &self.ring else { return };
        // SAFETY: the lock is held: `core` is borrowed from it.
        unsafe {
            let queued = ring.queued();
            let flying = core.prompt.saturating_sub(queued);
            if queued > 0 && (flying < MANY || queued * 4 >= flying) {
                ring.submit();
            }
        }
    }

    /// Sees to it that a thread takes what is ready.
    fn hire(self: &Arc<Self>, core: &mut Core) {
        if core.idle >= core.ready.len() {
            self.work.notify_one();
            return;
        }
        if core.workers < self.threads {
            let this = self.clone();
            let thread = std::thread::Builder::new().name("fullbore-io".into());
            if thread.spawn(move || this.work()).is_ok() {
                core.workers += 1;
            } else if core.workers == 0 {
                // Nobody will ever come: say so instead of waiting.
                while let Some(key) = core.ready.pop_front() {
                    self.finish(core, key, Err(io::ErrorKind::OutOfMemory.into()));
                }
            }
        }
        self.work.notify_one();
    }

    /// Notes an outcome.
    fn finish(&self, core: &mut Core, key: Key, outcome: IoResult) {
        let (waker, operation) = core.slots.complete(key, outcome);
        core.wakes.extend(waker);
        core.gone.extend(operation);
    }

    /// The life of a thread.
    fn work(self: Arc<Self>) {
        let mut core = self.lock();
        loop {
            let Some(key) = core.ready.pop_front() else {
                if core.closing {
                    return;
                }
                core.idle += 1;
                core = self.work.wait(core).unwrap_or_else(PoisonError::into_inner);
                core.idle -= 1;
                continue;
            };
            let outcome = match core.slots.flight(key) {
                Some(Operation::Blocking(task)) => {
                    let task = task.take();
                    drop(core);
                    // A panic must not take the thread along and leave a future that waits for ever.
                    let run = std::panic::AssertUnwindSafe(|| task.map_or(Ok(0), |task| task()));
                    std::panic::catch_unwind(run).unwrap_or_else(|_| Err(io::Error::other("it panicked")))
                }
                Some(Operation::Transfer(movement)) => {
                    let file = movement.file.clone();
                    let mut pieces = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; 8];
                    let count = movement.loan.pieces().len();
                    pieces[..count].copy_from_slice(movement.loan.pieces());
                    let pieces = &pieces[..count];
                    let (direction, offset, flags) = (movement.direction, movement.offset, movement.flags);
                    let how = movement.how;
                    drop(core);
                    // SAFETY: the operation is in flight, so the slot owns the memory until `finish` below.
                    interrupted(|| unsafe {
                        match how {
                            How::CacheMode => by_cache_mode(&file, direction, pieces, offset.unwrap_or(0)),
                            _ => transfer::once(direction, file.as_fd(), pieces, offset, flags),
                        }
                    })
                }
                None => {
                    continue;
                }
            };
            core = self.lock();
            self.finish(&mut core, key, outcome);
            self.start(&mut core);
            self.hand_over(&core);
            self.unlock(core);
            core = self.lock();
        }
    }

    /// The life of the thread that waits for the ring.
    pub(super) fn watch(self: Arc<Self>) {
        let Some(ring) = &self.ring else { return };
        loop {
            let mut core = self.lock();
            self.reap(&mut core);
            let over = core.closing && core.on_ring == 0;
            // SAFETY: the lock is held.
            let queued = unsafe { ring.queued() };
            self.unlock(core);
            if over {
                return;
            }
            // SAFETY: operations in flight own what their entries name, and `push` leaves no entry with a list of
            // pieces in the queue.
            unsafe { ring.submit_and_wait(queued) };
        }
    }

    /// Notes what the ring has completed.
    fn reap(self: &Arc<Self>, core: &mut Core) {
        let Some(ring) = &self.ring else { return };
        let (mut any, mut again) = (false, false);
        // SAFETY: the lock is held: `core` is borrowed from it.
        unsafe {
            ring.reap(|key, outcome| {
                any = true;
                let key = Key::from_bits(key);
                let code = outcome.as_ref().err().and_then(io::Error::raw_os_error);
                if let (Some(libc::ECANCELED | libc::EINTR), Some(Operation::Transfer(movement))) =
                    (code, core.slots.flight(key))
                    && !movement.cancelled
                {
                    // The kernel cancels what a thread submitted when that thread ends: nobody asked for
                    // that. Positional transfers may be begun again.
                    push(ring, key, movement);
                    again = true;
                    return;
                }
                let prompt =
                    matches!(core.slots.flight(key), Some(Operation::Transfer(it)) if it.offset.is_some());
                core.on_ring -= 1;
                core.prompt -= usize::from(prompt);
                self.finish(core, key, outcome);
            });
            if again {
                ring.submit();
            }
        }
        if any {
            self.start(core);
        }
    }

    /// Takes the outcome of an operation, or leaves word whom to wake.
    pub(super) fn poll(self: &Arc<Self>, key: Key, waker: &Waker) -> Poll<(Operation, IoResult)> {
        let mut core = self.lock();
        self.reap(&mut core);
        self.hand_over(&core);
        let polled = core.slots.poll(key, waker);
        self.unlock(core);
        // A key is polled by the one future that has it, until it is ready.
        polled.expect("the operation is there until it was taken")
    }

    /// Asks for the end of an operation, which its future then finds.
    pub(super) fn cancel(self: &Arc<Self>, key: Key) {
        let mut core = self.lock();
        let cancelled = || io::Error::from_raw_os_error(libc::ECANCELED);
        if core.slots.recall(key, Err(cancelled())) {
            return;
        }
        if let Some(place) = core.ready.iter().position(|ready| *ready == key) {
            core.ready.remove(place);
            self.finish(&mut core, key, Err(cancelled()));
            self.start(&mut core);
            self.hand_over(&core);
        } else if let (Some(Operation::Transfer(movement)), Some(ring)) = (core.slots.flight(key), &self.ring)
            && movement.how == How::Ring
            && !movement.cancelled
        {
            movement.cancelled = true;
            // SAFETY: the lock is held.
            unsafe {
                ring.cancel(key.to_bits());
                ring.submit();
            }
        }
        self.unlock(core);
    }

    /// The future of an operation is gone. A read that nobody waits for is cancelled where that can be done; what has
    /// begun keeps all that it owns until it is over.
    pub(super) fn detach(self: &Arc<Self>, key: Key) {
        let mut core = self.lock();
        let gone = core.slots.detach(key);
        core.gone.extend(gone);
        let read = match core.slots.flight(key) {
            Some(Operation::Transfer(movement)) => movement.direction == Direction::Read,
            _ => false,
        };
        self.unlock(core);
        if read {
            self.cancel(key);
        }
    }

    /// No handle of the driver is left: threads end when what is in flight is over.
    pub(super) fn close(&self) {
        let mut core = self.lock();
        core.closing = true;
        self.work.notify_all();
        if let (Some(ring), true) = (&self.ring, forks() == self.forks) {
            // SAFETY: the lock is held.
            unsafe {
                ring.nudge();
                ring.submit();
            }
        }
    }

    /// How many operations wait or are in flight.
    pub(super) fn open(&self) -> (usize, usize) {
        let core = self.lock();
        (core.slots.open() - core.slots.flying(), core.slots.flying())
    }
}

/// Queues a transfer on the ring, and hands over at once what must not stay in the queue.
fn push(ring: &SharedRing, key: Key, movement: &Movement) {
    let write = movement.direction == Direction::Write;
    let (fd, pieces) = (movement.file.as_fd(), movement.loan.pieces());
    // SAFETY: only called with the lock held. The slot owns file and memory until the completion is reaped. A list
    // of pieces is read when it is submitted, and moves when the operation does: never under this lock.
    unsafe {
        ring.transfer(key.to_bits(), fd, pieces, movement.offset, write, movement.flags);
        // A pipe may take for ever: nobody comes by meanwhile.
        if pieces.len() != 1 || movement.offset.is_none() {
            ring.submit();
        }
    }
}

/// A transfer as the file's cache policy wants it.
///
/// # Safety
/// The pieces are valid, for writing if it is a read, and nobody else's.
unsafe fn by_cache_mode(file: &File, direction: Direction, pieces: &[libc::iovec], offset: u64) -> IoResult {
    let mut done = 0;
    for piece in pieces {
        let (start, len) = (piece.iov_base.cast::<u8>(), piece.iov_len);
        let at = offset + done as u64;
        let moved = match direction {
            Direction::Read => {
                // SAFETY: promised by the caller. The memory need not have been initialised, so it is now.
                let data = unsafe {
                    start.write_bytes(0, len);
                    std::slice::from_raw_parts_mut(start, len)
                };
                file.read_at(data, at)
            }
            // SAFETY: promised by the caller.
            Direction::Write => file.write_at(unsafe { std::slice::from_raw_parts(start, len) }, at),
        };
        match moved {
            Ok(moved) => {
                done += moved;
                if moved < len {
                    break;
                }
            }
            Err(_) if done > 0 => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(done)
}

/// Again while a signal comes between.
pub(super) fn interrupted(mut call: impl FnMut() -> IoResult) -> IoResult {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}
