//! The reorder buffer: holds results that workers finish in any order until those before them are delivered.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard};

use fullbore_io::error::{Error, ErrorKind, Result};
use fullbore_io::lock::{Condvar, Mutex, Padded};

/// Receives the results in order; `Break` means that no more are needed.
pub(super) type Emit<'e, R> = dyn FnMut(R) -> Result<ControlFlow<()>> + Send + 'e;

/// Holds results until those before them are delivered; a worker too far ahead blocks.
///
/// Each worker must insert its results in ascending order: then the worker whose result is next never blocks.
pub(super) struct ReorderBuffer<'e, R> {
    state: Padded<Mutex<ReorderState<R>>>,
    changed: Condvar,
    /// Only the thread that set `ReorderState::emitting` locks it, so no thread waits for this lock.
    emit: Padded<Mutex<Box<Emit<'e, R>>>>,
    limit: usize,
    /// The results of each worker's item in progress.
    open: Vec<Padded<Mutex<Open<R>>>>,
    /// The start of each worker's item in progress, or [`NONE`].
    starts: Vec<AtomicU64>,
    /// Copy of [`ReorderState::next`], to read without the lock.
    next: AtomicU64,
    enough: Arc<AtomicBool>,
}

/// The value in place of a start if a worker has no item.
const NONE: u64 = u64::MAX;

/// The largest weight of an item, so that no sum of weights overflows.
const HEAVIEST: usize = usize::MAX / 4;

struct ReorderState<R> {
    next: u64,
    /// Items by their start: the end, the weight of the results, the results.
    waiting: HashMap<u64, (u64, usize, Vec<R>)>,
    weight: usize,
    emitting: bool,
    /// Number of waiting threads: without any, no wake-up (a system call) is needed.
    waiters: usize,
    over: bool,
    enough: bool,
    /// An empty vector with the capacity of delivered results, for the next ones.
    spare: Vec<R>,
}

/// Results of an item in progress, delivered by any thread: the worker itself may be waiting for a slow file.
struct Open<R> {
    weight: usize,
    results: Vec<R>,
}

impl<R> Open<R> {
    const fn new() -> Self {
        Self { weight: 0, results: Vec::new() }
    }
}

struct Due<R> {
    results: Vec<R>,
    /// If no more follow: the start of the next item, and the weight released.
    done: Option<(u64, usize)>,
}

impl<'e, R> ReorderBuffer<'e, R> {
    /// An empty buffer whose first item begins at `start`; held results weigh at most `limit` bytes.
    pub(super) fn new(start: u64, limit: usize, emit: Box<Emit<'e, R>>) -> Self {
        let state = ReorderState {
            next: start,
            waiting: HashMap::new(),
            weight: 0,
            emitting: false,
            waiters: 0,
            over: false,
            enough: false,
            spare: Vec::new(),
        };
        Self {
            state: Padded(Mutex::new(state)),
            changed: Condvar::new(),
            emit: Padded(Mutex::new(emit)),
            limit,
            open: Vec::new(),
            starts: Vec::new(),
            next: AtomicU64::new(start),
            enough: Arc::default(),
        }
    }

    /// Adds `workers` that deliver results of items in progress.
    pub(super) fn with_open(self, workers: usize) -> Self {
        let open = (0..workers).map(|_| Padded(Mutex::new(Open::new()))).collect();
        let starts = (0..workers).map(|_| AtomicU64::new(NONE)).collect();
        Self { open, starts, ..self }
    }

    /// Returns the flag that is set when no more results are needed.
    pub(super) fn enough(&self) -> &Arc<AtomicBool> {
        &self.enough
    }

    /// True if `emit` returned `Break`.
    pub(super) fn had_enough(&self) -> bool {
        self.state.lock().enough
    }

    fn wait<'s>(&'s self, mut state: MutexGuard<'s, ReorderState<R>>) -> MutexGuard<'s, ReorderState<R>> {
        state.waiters += 1;
        state = self.changed.wait(state);
        state.waiters -= 1;
        state
    }

    /// Unlocks the state and wakes the threads that wait for it to change.
    fn wake(&self, state: MutexGuard<'_, ReorderState<R>>) {
        let waiters = state.waiters;
        drop(state);
        if waiters > 0 {
            self.changed.notify_all();
        }
    }

    /// Inserts the results of `start..end`, which weigh `weight` bytes, and delivers all results that are next.
    pub(super) fn insert(&self, start: u64, end: u64, weight: usize, results: Vec<R>) -> Result<()> {
        // The map entry is counted too; else results without weight would be unbounded.
        let own = size_of::<(u64, u64, usize, Vec<R>)>() + size_of::<R>() * results.len();
        let weight = weight.saturating_add(own).min(HEAVIEST);
        let mut state = self.state.lock();
        while start != state.next && state.weight + weight > self.limit && !state.over {
            state = self.wait(state);
        }
        if state.over {
            return Ok(());
        }
        state.weight += weight;
        state.waiting.insert(start, (end, weight, results));
        // The emitting thread will find it.
        if state.emitting { Ok(()) } else { self.drain(state) }
    }

    fn drain<'s>(&'s self, mut state: MutexGuard<'s, ReorderState<R>>) -> Result<()> {
        state.emitting = true;
        while let Some(Due { mut results, done }) = self.due(&mut state) {
            drop(state);
            let result = self.hand_on(results.drain(..));
            state = self.state.lock();
            state.spare = results;
            if let Some((end, weight)) = done {
                state.next = end;
                self.next.store(end, Ordering::SeqCst);
                state.weight -= weight;
            }
            if let Err(error) = result {
                // Under the same lock: no other thread delivers a result after the failed one.
                state.emitting = false;
                self.end(state);
                return Err(error);
            }
            if state.waiters > 0 {
                self.changed.notify_all();
            }
        }
        state.emitting = false;
        self.wake(state);
        Ok(())
    }

    fn due(&self, state: &mut ReorderState<R>) -> Option<Due<R>> {
        if state.over {
            return None;
        }
        if let Some((end, weight, results)) = state.waiting.remove(&state.next) {
            return Some(Due { results, done: Some((end, weight)) });
        }
        let worker = self.starts.iter().position(|start| start.load(Ordering::SeqCst) == state.next)?;
        let mut open = self.open[worker].lock();
        if open.results.is_empty() {
            return None;
        }
        open.weight = 0;
        let spare = std::mem::take(&mut state.spare);
        Some(Due { results: std::mem::replace(&mut open.results, spare), done: None })
    }

    fn hand_on(&self, results: impl Iterator<Item = R>) -> Result<()> {
        let mut emit = self.emit.lock();
        for result in results {
            if self.enough.load(Ordering::Relaxed) {
                break;
            }
            if emit(result)?.is_break() {
                self.enough.store(true, Ordering::Relaxed);
                let mut state = self.state.lock();
                (state.over, state.enough) = (true, true);
                self.wake(state);
            }
        }
        Ok(())
    }

    pub(super) fn open(&self, worker: usize, start: u64) {
        self.starts[worker].store(start, Ordering::SeqCst);
    }

    /// Adds a result of the item of `worker` that begins at `start`; more may follow. If its held results weigh more
    /// than `allowance` bytes, it waits until they are delivered.
    pub(super) fn push(
        &self,
        worker: usize,
        start: u64,
        result: R,
        weight: usize,
        allowance: usize,
    ) -> Result<()> {
        let held = {
            let mut open = self.open[worker].lock();
            open.results.push(result);
            open.weight = open.weight.saturating_add(weight).saturating_add(size_of::<R>());
            open.weight
        };
        // A thread that makes it next later sees the start, takes the same lock after this, and finds the result.
        if held <= allowance && self.next.load(Ordering::SeqCst) != start {
            return Ok(());
        }
        let mut state = self.state.lock();
        while held > allowance && (start != state.next || state.emitting) && !state.over {
            state = self.wait(state);
        }
        if start != state.next || state.emitting || state.over { Ok(()) } else { self.drain(state) }
    }

    pub(super) fn close(&self, worker: usize, start: u64, end: u64) -> Result<()> {
        // A thread that still sees the start takes no results, or those before the inserted ones.
        self.starts[worker].store(NONE, Ordering::SeqCst);
        let Open { weight, results } = std::mem::replace(&mut *self.open[worker].lock(), Open::new());
        self.insert(start, end, weight, results)
    }

    /// Ends all waits: a worker failed and its results will not come.
    pub(super) fn cancel(&self) {
        self.end(self.state.lock());
    }

    fn end(&self, mut state: MutexGuard<'_, ReorderState<R>>) {
        self.enough.store(true, Ordering::Relaxed);
        state.over = true;
        self.wake(state);
    }

    /// Fails if results are still held because some before them never came.
    pub(super) fn finish(self) -> Result<()> {
        let state = self.state.0.into_inner();
        if state.over || state.waiting.is_empty() {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Changed, "order the results", "", "some before them are missing")
            .without_path())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn results_come_in_order_from_any_worker(
            owners in proptest::collection::vec(0usize..4, 0..200), limit in 0usize..2000,
        ) {
            let mut seen = Vec::new();
            let reorder_buffer = ReorderBuffer::new(0, limit, Box::new(|result: u64| {
                seen.push(result);
                Ok(ControlFlow::Continue(()))
            })).with_open(4);
            std::thread::scope(|scope| {
                for worker in 0..4 {
                    let (reorder_buffer, owners) = (&reorder_buffer, &owners);
                    scope.spawn(move || {
                        let mine = owners.iter().enumerate().filter(|&(_, &owner)| owner == worker);
                        for (place, _) in mine {
                            let start = place as u64;
                            if place % 3 == 0 {
                                reorder_buffer.open(worker, start);
                                reorder_buffer.push(worker, start, start, 0, if place % 2 == 0 { 0 } else { 1000 }).unwrap();
                                reorder_buffer.push(worker, start, start, 0, 1000).unwrap();
                                reorder_buffer.close(worker, start, start + 1).unwrap();
                            } else {
                                reorder_buffer.insert(start, start + 1, 100, vec![start]).unwrap();
                            }
                        }
                    });
                }
            });
            reorder_buffer.finish().unwrap();
            let expected: Vec<u64> = (0..owners.len() as u64)
                .flat_map(|place| vec![place; if place % 3 == 0 { 2 } else { 1 }])
                .collect();
            prop_assert_eq!(seen, expected);
        }
    }

    #[test]
    fn break_ends_all_waits() {
        let reorder_buffer =
            ReorderBuffer::new(0, 0, Box::new(|_: u64| Ok(ControlFlow::Break(())))).with_open(1);
        reorder_buffer.open(0, 7);
        std::thread::scope(|scope| {
            scope.spawn(|| reorder_buffer.insert(5, 6, 0, vec![5]).unwrap()); // blocks: the buffer is full
            scope.spawn(|| reorder_buffer.push(0, 7, 7, 1, 0).unwrap());
            reorder_buffer.insert(0, 1, 0, vec![0]).unwrap();
        });
        assert!(reorder_buffer.enough().load(Ordering::Relaxed));
        reorder_buffer.finish().unwrap();
    }

    #[test]
    fn results_of_an_item_in_progress_are_delivered() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let emit = move |result: u64| {
            let _ = sender.send(result);
            Ok(ControlFlow::Continue(()))
        };
        let reorder_buffer = ReorderBuffer::new(0, 1000, Box::new(emit)).with_open(2);
        reorder_buffer.open(1, 5);
        reorder_buffer.push(1, 5, 5, 0, 1000).unwrap();
        reorder_buffer.push(1, 5, 6, 0, 1000).unwrap();
        reorder_buffer.insert(0, 5, 0, vec![0]).unwrap();
        assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [0, 5, 6]);
        reorder_buffer.push(1, 5, 7, 0, 1000).unwrap();
        assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [7]);
        reorder_buffer.close(1, 5, 8).unwrap();
        reorder_buffer.finish().unwrap();
    }

    #[test]
    fn an_error_of_emit_is_returned_and_ends_all_waits() {
        let fails = |_: u64| Err(Error::new(ErrorKind::BrokenPipe, "write", "standard output", "no reader"));
        let reorder_buffer = ReorderBuffer::new(0, 0, Box::new(fails));
        std::thread::scope(|scope| {
            scope.spawn(|| reorder_buffer.insert(5, 6, 0, vec![5]).unwrap());
            assert_eq!(reorder_buffer.insert(0, 1, 0, vec![0]).unwrap_err().kind(), ErrorKind::BrokenPipe);
        });
    }
}
