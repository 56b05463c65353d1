//! Where operations are let in, started, reaped and told: one lock, a ring, and threads.
#![allow(unsafe_code)]

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use super::operation::{Movement, Operation};
use super::slots::{Key, Outcome, Slots};
use crate::buf::Direction;
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
    process: u32,
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
            closing: false,
            wakes: Vec::with_capacity(in_flight),
            gone: Vec::with_capacity(in_flight),
        };
        let process = std::process::id();
        Arc::new(Self { core: Mutex::new(core), work: Condvar::new(), ring, threads, process })
    }

    pub(super) fn has_ring(&self) -> bool {
        self.ring.is_some()
    }

    fn lock(&self) -> Locked<'_> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes and drops what was noted, without the lock.
    fn unlock(&self, mut core: Locked<'_>) {
        if core.wakes.is_empty() && core.gone.is_empty() {
            return;
        }
        let (mut wakes, mut gone) = (std::mem::take(&mut core.wakes), std::mem::take(&mut core.gone));
        drop(core);
        wakes.drain(..).for_each(Waker::wake);
        gone.clear();
        // The memory goes back, so that the next time allocates nothing.
        let mut core = self.lock();
        if core.wakes.capacity() < wakes.capacity() && core.wakes.is_empty() {
            core.wakes = wakes;
        }
        if core.gone.capacity() < gone.capacity() && core.gone.is_empty() {
            core.gone = gone;
        }
    }

    /// Every operation passes here before it starts: the place for faults on purpose.
    fn admit(&self, _operation: &Operation) -> io::Result<()> {
        if std::process::id() == self.process {
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
        if let Err(error) = self.admit(&operation) {
            return Err((operation, error));
        }
        let mut core = self.lock();
        let key = core.slots.insert(operation, Some(waker.clone()));
        self.start(&mut core);
        self.unlock(core);
        Ok(key)
    }

    /// Starts what may be in flight by now.
    fn start(self: &Arc<Self>, core: &mut Core) {
        let mut pushed = false;
        while let Some(key) = core.slots.start() {
            match (core.slots.flight(key), &self.ring) {
                (Some(Operation::Transfer(movement)), Some(ring)) if movement.ring => {
                    push(ring, key, movement);
                    core.on_ring += 1;
                    pushed = true;
                }
                _ => {
                    core.ready.push_back(key);
                    self.hire(core);
                }
            }
        }
        if let (true, Some(ring)) = (pushed, &self.ring) {
            // SAFETY: the lock is held: `core` is borrowed from it.
            unsafe { ring.submit() };
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
    fn finish(&self, core: &mut Core, key: Key, outcome: Outcome) {
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
                Some(Operation::Task(task)) => {
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
                    let (direction, offset) = (movement.direction, movement.offset);
                    drop(core);
                    // SAFETY: the operation is in flight, so the slot owns the memory until `finish` below.
                    interrupted(|| unsafe {
                        match direction {
                            Direction::Read => transfer::read(file.as_fd(), &pieces[..count], offset, false),
                            Direction::Write => transfer::write(file.as_fd(), &pieces[..count], offset),
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
            self.unlock(core);
            core = self.lock();
        }
    }

    /// The life of the thread that waits for the ring.
    pub(super) fn watch(self: Arc<Self>) {
        let Some(ring) = &self.ring else { return };
        loop {
            ring.wait();
            let mut core = self.lock();
            self.reap(&mut core);
            let over = core.closing && core.on_ring == 0;
            self.unlock(core);
            if over {
                return;
            }
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
                core.on_ring -= 1;
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
    pub(super) fn poll(self: &Arc<Self>, key: Key, waker: &Waker) -> Poll<(Operation, Outcome)> {
        let mut core = self.lock();
        self.reap(&mut core);
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
        } else if let (Some(Operation::Transfer(movement)), Some(ring)) = (core.slots.flight(key), &self.ring)
            && movement.ring
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
        if let (Some(ring), true) = (&self.ring, std::process::id() == self.process) {
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

/// Hands a transfer to the ring.
fn push(ring: &SharedRing, key: Key, movement: &Movement) {
    let write = movement.direction == Direction::Write;
    // SAFETY: only called with the lock held. The slot owns file and memory until the completion is reaped, and
    // nothing moves the operation before the caller submits, still under the lock.
    unsafe {
        ring.transfer(key.to_bits(), movement.file.as_fd(), movement.loan.pieces(), movement.offset, write);
    }
}

/// Again while a signal comes between.
pub(super) fn interrupted(mut call: impl FnMut() -> Outcome) -> Outcome {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}
