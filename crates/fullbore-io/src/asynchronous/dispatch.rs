//! Admission, start, reaping and completion of operations: one lock, a ring, and threads.
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
use crate::sys::{Code, IoVec, transfer};

#[derive(Debug)]
struct Core {
    slots: Slots<Operation>,
    /// Started, waiting for a thread.
    ready: VecDeque<Key>,
    workers: usize,
    idle: usize,
    on_ring: usize,
    /// Operations on the ring that complete soon: transfers at offsets, not of pipes.
    prompt: usize,
    closing: bool,
    /// Wakers to call and operations to drop once the lock is released: both may run foreign code.
    wakes: Vec<Waker>,
    gone: Vec<Operation>,
}

/// The state shared by the clones of a driver, its threads and its futures.
#[derive(Debug)]
pub(super) struct Dispatch {
    core: Mutex<Core>,
    work: Condvar,
    ring: Option<SharedRing>,
    threads: usize,
    /// Number of forks when the driver was created.
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

    /// Releases the lock, then calls the noted wakers and drops the noted operations.
    fn unlock<'a>(&'a self, mut core: Locked<'a>) {
        // A few at a time on the stack: taking the vectors would allocate new ones.
        while !core.wakes.is_empty() || !core.gone.is_empty() {
            let wakes: [Option<Waker>; 8] = std::array::from_fn(|_| core.wakes.pop());
            let gone = core.gone.pop();
            drop(core);
            wakes.into_iter().flatten().for_each(Waker::wake);
            drop(gone);
            core = self.lock();
        }
    }

    /// Fails in a forked child.
    fn admit(&self) -> io::Result<()> {
        if forks() == self.forks {
            return Ok(());
        }
        // The threads exist only in the parent, and its ring must not be used here.
        Err(io::Error::other("the driver was created before this process was forked: create another"))
    }

    /// Accepts an operation, or returns it if it cannot run.
    // Boxing the returned operation would allocate, which no operation may.
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

    /// Starts waiting operations up to the limit. [`hand_over`](Self::hand_over) submits those queued on the ring.
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

    /// Submits the queued operations, unless the thread that waits for the ring will do so soon: with many transfers in
    /// flight it does so after every completion, which saves one system call each. At most a fifth of the operations in
    /// flight wait this way.
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

    /// Ensures that a thread takes the ready operations.
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
                // No thread will ever take them: fail instead of waiting.
                while let Some(key) = core.ready.pop_front() {
                    self.finish(core, key, Err(io::ErrorKind::OutOfMemory.into()));
                }
            }
        }
        self.work.notify_one();
    }

    /// Notes a result.
    fn finish(&self, core: &mut Core, key: Key, outcome: IoResult) {
        let (waker, operation) = core.slots.complete(key, outcome);
        core.wakes.extend(waker);
        core.gone.extend(operation);
    }

    /// Body of a worker thread.
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
                    // A panic must neither end the thread nor leave a future that waits forever.
                    let run = std::panic::AssertUnwindSafe(|| task.map_or(Ok(0), |task| task()));
                    std::panic::catch_unwind(run)
                        .unwrap_or_else(|_| Err(io::Error::other("the call panicked")))
                }
                Some(Operation::Transfer(movement)) => {
                    let file = movement.file.clone();
                    let mut pieces = [IoVec { iov_base: std::ptr::null_mut(), iov_len: 0 }; 8];
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

    /// Body of the thread that waits for the ring.
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
            // SAFETY: operations in flight own the memory that their entries refer to, and `push` leaves no entry with a
            // list of pieces in the queue.
            unsafe { ring.submit_and_wait(queued) };
        }
    }

    /// Notes the completions of the ring.
    fn reap(self: &Arc<Self>, core: &mut Core) {
        let Some(ring) = &self.ring else { return };
        let (mut any, mut again) = (false, false);
        // SAFETY: the lock is held: `core` is borrowed from it.
        unsafe {
            ring.reap(|key, outcome| {
                any = true;
                let key = Key::from_bits(key);
                let code = outcome.as_ref().err().and_then(Code::of);
                if let (Some(Code::CANCELLED | Code::INTERRUPTED), Some(Operation::Transfer(movement))) =
                    (code, core.slots.flight(key))
                    && !movement.cancelled
                {
                    // The kernel cancels operations of a thread that ends, without a request. Positional
                    // transfers can be restarted.
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

    /// Takes the result of an operation, or stores the waker.
    pub(super) fn poll(self: &Arc<Self>, key: Key, waker: &Waker) -> Poll<(Operation, IoResult)> {
        let mut core = self.lock();
        self.reap(&mut core);
        self.hand_over(&core);
        let polled = core.slots.poll(key, waker);
        self.unlock(core);
        // A key is polled by the one future that has it, until it is ready.
        polled.expect("an operation exists until its result is taken")
    }

    /// Cancels an operation; its future receives the result.
    pub(super) fn cancel(self: &Arc<Self>, key: Key) {
        let mut core = self.lock();
        let cancelled = || io::Error::from(Code::CANCELLED);
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

    /// Detaches an operation whose future is dropped. A read is cancelled where possible; a started operation keeps its
    /// resources until it completes.
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

    /// Closes the driver after its last handle: the threads end once the operations in flight are complete.
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

    /// Returns the number of operations that wait and the number in flight.
    pub(super) fn open(&self) -> (usize, usize) {
        let core = self.lock();
        (core.slots.open() - core.slots.flying(), core.slots.flying())
    }
}

/// Queues a transfer on the ring, and submits it at once if it must not stay in the queue.
fn push(ring: &SharedRing, key: Key, movement: &Movement) {
    let write = movement.direction == Direction::Write;
    let (fd, pieces) = (movement.file.as_fd(), movement.loan.pieces());
    // SAFETY: only called with the lock held. The slot owns file and memory until the completion is reaped. A list of pieces
    // is read at submission, and moves only when the operation does: never under this lock.
    unsafe {
        ring.transfer(key.to_bits(), fd, pieces, movement.offset, write, movement.flags);
        // A pipe may take forever, and no completion would cause its submission meanwhile.
        if pieces.len() != 1 || movement.offset.is_none() {
            ring.submit();
        }
    }
}

/// Executes a transfer according to the file's cache policy.
///
/// # Safety
/// The pieces are valid (for writing, if it is a read) and exclusively the caller's.
unsafe fn by_cache_mode(file: &File, direction: Direction, pieces: &[IoVec], offset: u64) -> IoResult {
    let mut done = 0;
    for piece in pieces {
        let (start, len) = (piece.iov_base.cast::<u8>(), piece.iov_len);
        let at = offset + done as u64;
        let moved = match direction {
            Direction::Read => {
                // SAFETY: promised by the caller. The memory may be uninitialised, so it is initialised here.
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

/// Repeats a call that a signal interrupts.
pub(super) fn interrupted(mut call: impl FnMut() -> IoResult) -> IoResult {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}
