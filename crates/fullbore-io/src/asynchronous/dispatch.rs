//! Admission, start and completion of operations: one lock, a ring, and threads.

use std::cell::Cell;
use std::io;
use std::sync::{Arc, MutexGuard, OnceLock};
use std::task::{Poll, Waker};

use super::slots::{IoResult, Key};
use super::state::{Core, Operation};
use crate::buf::Direction;
use crate::file::File;
use crate::lock::{Condvar, Mutex};
use crate::sys::forks;
use crate::sys::shared_ring::{RingWaiter, SharedRing};
use crate::sys::{Code, Wake};

const FORKED: &str = "the driver was created before this process was forked: create another";

thread_local! {
    /// The driver whose wakers this thread calls.
    static WAKING: Cell<*const Dispatch> = const { Cell::new(std::ptr::null()) };
}

/// The state shared by the clones of a driver, its threads and its futures.
pub(super) struct Dispatch {
    core: Mutex<Core>,
    pub(super) work: Condvar,
    pub(super) wake: OnceLock<Wake>,
    waiter: Option<RingWaiter>,
    pub(super) threads: usize,
    /// Number of forks when the driver was created.
    forks: u32,
}

impl std::fmt::Debug for Dispatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dispatch").field("threads", &self.threads).finish_non_exhaustive()
    }
}

pub(super) type Locked<'a> = MutexGuard<'a, Core>;

/// Calls a caller's code, a panic of which must neither end a thread of the driver nor stop the wake-ups of other futures.
fn catch_panic(call: impl FnOnce()) {
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call));
}

impl Dispatch {
    pub(super) fn new(ring: Option<SharedRing<File>>, in_flight: usize, threads: usize) -> Arc<Self> {
        let waiter = ring.as_ref().map(SharedRing::waiter);
        let core = Core::new(ring, in_flight);
        Arc::new(Self {
            core: Mutex::new(core),
            work: Condvar::new(),
            wake: OnceLock::new(),
            waiter,
            threads,
            forks: forks(),
        })
    }

    pub(super) fn waiter(&self) -> Option<&RingWaiter> {
        self.waiter.as_ref()
    }

    pub(super) fn lock(&self) -> Locked<'_> {
        self.core.lock()
    }

    /// Releases the lock, then calls the noted wakers and drops the noted operations. If one of these wakers calls this function
    /// again, the outer call handles what was noted meanwhile: thousands of nested calls would overflow the stack.
    pub(super) fn unlock<'a>(&'a self, mut core: Locked<'a>) {
        if core.wakes.is_empty() && core.gone.is_empty() {
            return;
        }
        let outer = WAKING.try_with(|waking| waking.replace(self)).unwrap_or(std::ptr::null());
        if std::ptr::eq(outer, self) {
            return;
        }
        // A few at a time on the stack: taking the vectors would allocate new ones.
        while !core.wakes.is_empty() || !core.gone.is_empty() {
            let wakes: [Option<Waker>; 8] = std::array::from_fn(|_| core.wakes.pop());
            let gone = core.gone.pop();
            drop(core);
            wakes.into_iter().flatten().for_each(|waker| catch_panic(|| waker.wake()));
            catch_panic(|| gone.map_or((), Operation::abandon));
            core = self.lock();
        }
        let _ = WAKING.try_with(|waking| waking.set(outer));
    }

    /// True in a forked child. The threads exist only in the parent, one of them may have held the lock at the fork, and the ring
    /// is shared with the parent.
    pub(super) fn is_foreign(&self) -> bool {
        forks() != self.forks
    }

    /// The lock, unless this process [is a forked child](Self::is_foreign).
    fn lock_own(&self) -> Option<Locked<'_>> {
        (!self.is_foreign()).then(|| self.lock())
    }

    /// Accepts an operation, or returns it if it cannot run.
    // Boxing the returned operation would allocate, which no operation may.
    #[allow(clippy::result_large_err)]
    pub(super) fn submit(
        self: &Arc<Self>,
        operation: Operation,
        waker: &Waker,
    ) -> Result<Key, (Operation, io::Error)> {
        if self.is_foreign() {
            return Err((operation, io::Error::other(FORKED)));
        }
        let waker = Some(waker.clone());
        let mut core = self.lock();
        let key = if operation.waits_for_others() {
            let key = core.slots.insert_unlimited(operation, waker);
            self.begin(&mut core, key);
            key
        } else {
            let key = core.slots.insert(operation, waker);
            self.start(&mut core);
            key
        };
        self.hand_over(&mut core);
        self.unlock(core);
        Ok(key)
    }

    /// Starts waiting operations up to the limit. [`hand_over`](Core::hand_over) submits those queued on the ring.
    pub(super) fn start(self: &Arc<Self>, core: &mut Core) {
        while let Some(key) = core.slots.start() {
            self.begin(core, key);
        }
    }

    /// Submits the operations queued on the ring, and takes those that it returns at once.
    pub(super) fn hand_over(self: &Arc<Self>, core: &mut Core) {
        core.hand_over();
        if core.has_broken_ring() {
            self.reap(core);
        }
    }

    /// Passes an operation to the ring or the threads.
    fn begin(self: &Arc<Self>, core: &mut Core, key: Key) {
        if core.push(key) {
            return;
        }
        core.ready.push_back(key);
        // The thread that writes to the file takes it next.
        if !core.must_wait(key) {
            self.hire(core);
        }
    }

    pub(super) fn watch(self: Arc<Self>) {
        let Some(waiter) = &self.waiter else { return };
        loop {
            let mut core = self.lock();
            self.reap(&mut core);
            let over = core.on_ring == 0 && (core.closing || core.has_broken_ring());
            let queued = core.ring.as_mut().map_or(0, SharedRing::queued_for_waiter);
            let patience = core.patience();
            self.unlock(core);
            if over {
                return;
            }
            waiter.submit_and_wait(queued, patience);
        }
    }

    fn reap(self: &Arc<Self>, core: &mut Core) {
        if core.reap() {
            while let Some(key) = core.unserved.pop() {
                match core.slots.flight(key) {
                    Some(operation) if operation.waits_for_others() => self.park(core, key),
                    _ => self.begin(core, key),
                }
            }
            self.start(core);
        }
    }

    /// Takes the result of an operation, or stores the waker.
    ///
    /// # Panics
    /// In a forked child: the operation is the parent's.
    pub(super) fn poll(self: &Arc<Self>, key: Key, waker: &Waker) -> Poll<(Operation, IoResult)> {
        assert!(!self.is_foreign(), "{FORKED}");
        // The clone, then the waker that it replaces.
        let mut clone = None;
        loop {
            let mut core = self.lock();
            self.reap(&mut core);
            self.hand_over(&mut core);
            let polled = core.slots.poll(key);
            let stored = core.slots.store(key, waker, &mut clone);
            self.unlock(core);
            if stored {
                // A key is polled by the one future that has it, until it is ready.
                return polled.expect("an operation exists until its result is taken");
            }
            clone = Some(waker.clone());
        }
    }

    #[cfg(any(feature = "tokio", feature = "futures", test))]
    pub(super) fn is_done(self: &Arc<Self>, key: Key) -> bool {
        let Some(mut core) = self.lock_own() else { return false };
        self.reap(&mut core);
        self.hand_over(&mut core);
        let done = core.slots.is_done(key);
        self.unlock(core);
        done
    }

    pub(super) fn cancel(self: &Arc<Self>, key: Key) {
        let Some(mut core) = self.lock_own() else { return };
        let cancelled = || io::Error::from(Code::CANCELLED);
        let Core { slots, wakes, .. } = &mut *core;
        if slots.recall(key, Err(cancelled()), wakes) {
            // It is nowhere else.
        } else if core.unqueue(key) {
            core.finish(key, Err(cancelled()));
            self.start(&mut core);
            self.hand_over(&mut core);
            self.wake_watch();
        } else {
            core.cancel_in_flight(key);
            self.hand_over(&mut core);
        }
        self.unlock(core);
    }

    /// Detaches an operation whose future is dropped. A read is cancelled where possible; one that has started keeps its resources.
    pub(super) fn detach(self: &Arc<Self>, key: Key) {
        let Some(mut core) = self.lock_own() else { return };
        let (waker, gone) = core.slots.detach(key);
        core.gone.extend(gone);
        let read = match core.slots.flight(key) {
            Some(Operation::Transfer(movement)) => movement.direction == Direction::Read,
            _ => false,
        };
        self.unlock(core);
        drop(waker);
        if read {
            self.cancel(key);
        }
    }

    /// Closes the driver after its last handle: the threads end once the operations in flight are complete.
    pub(super) fn close(&self) {
        let Some(mut core) = self.lock_own() else { return };
        core.closing = true;
        self.work.notify_all();
        self.wake_watch();
        if let Some(ring) = &mut core.ring {
            ring.nudge();
            ring.submit();
        }
    }

    /// Returns the number of operations that wait and the number in flight.
    pub(super) fn open(&self) -> (usize, usize) {
        let Some(core) = self.lock_own() else { return (0, 0) };
        (core.slots.open() - core.slots.flying(), core.slots.flying())
    }
}
