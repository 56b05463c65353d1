//! The executor: runs an operation over many files and returns the results in input order. One worker processes each small
//! file; all workers process a large one together.

mod file;
mod growth;
mod trials;
mod worker;

use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use growth::{Growth, buffers};
use trials::FileTrials;

use super::progress::Progress;
use super::reorder_buffer::ReorderBuffer;
use super::threads::{FirstError, on_more_threads};
use super::work_queue::{MOST, WorkQueue, WorkerSlot};
use crate::strategy::{BUDGET, LazyProfile, Plan, StrategySpec};
use fullbore_io::error::{Error, ErrorKind, Result};
use fullbore_io::lock::{Condvar, Mutex};
use fullbore_io::probe;

use worker::Place;
pub use worker::Worker;

/// An executor of operations over many files on a worker pool; results come in input order.
/// [`Job::map_ordered`](crate::Job::map_ordered) has an example.
pub struct Executor<'a> {
    spec: &'a StrategySpec,
    progress: &'a Progress,
    spec_text: Option<&'a str>,
    profile: Option<&'a LazyProfile>,
    planned: Option<&'a Planned<'a>>,
    /// True if the spec does not determine how a file is read.
    plain: bool,
    /// The place of the file that has all workers, if any.
    big: Mutex<Option<Place>>,
    free: Condvar,
    /// True if there are several files: strategies are tried on files, too.
    many: AtomicBool,
    /// The number of calls that have distributed items.
    calls: AtomicU64,
    /// The number of calls in progress.
    running: AtomicUsize,
    /// The current number of workers.
    at_once: AtomicUsize,
    trials: Mutex<FileTrials>,
}

impl std::fmt::Debug for Executor<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Executor").field("spec", self.spec).finish_non_exhaustive()
    }
}

/// Receives the plan of a file.
type Planned<'a> = dyn Fn(&Path, &Plan) + Sync + 'a;

impl<'a> Executor<'a> {
    /// The most workers that a run over many files has, unless more are specified.
    #[doc(hidden)]
    pub const MOST_WORKERS: usize = growth::MOST;

    /// Creates an executor with the specified number of workers or, if none is specified, one per processor; for many files that
    /// wait for the device, up to 32.
    #[doc(hidden)]
    pub fn new(spec: &'a StrategySpec, progress: &'a Progress) -> Self {
        Self {
            spec,
            progress,
            spec_text: None,
            profile: None,
            planned: None,
            plain: StrategySpec { workers: None, budget: None, fixed: false, ..spec.clone() }
                == StrategySpec::default(),
            big: Mutex::new(None),
            free: Condvar::new(),
            many: AtomicBool::new(false),
            calls: AtomicU64::new(0),
            running: AtomicUsize::new(0),
            at_once: AtomicUsize::new(1),
            trials: Mutex::default(),
        }
    }

    /// Adds the measurements of this machine, which the plans of large files use.
    #[must_use]
    pub(crate) fn with_profile(self, profile: Option<&'a LazyProfile>) -> Self {
        Self { profile, ..self }
    }

    /// Adds a function that receives the plan of each file; every file is then planned. `spec_text` is the text of the spec.
    #[doc(hidden)]
    #[must_use]
    pub fn explained(self, planned: &'a Planned<'a>, spec_text: Option<&'a str>) -> Self {
        Self { planned: Some(planned), spec_text, ..self }
    }

    /// Returns the number of workers.
    pub fn workers(&self) -> usize {
        self.spec.workers.unwrap_or_else(probe::processors).max(1)
    }

    /// True if the spec does not determine how a file is read.
    #[doc(hidden)]
    pub fn is_plain(&self) -> bool {
        self.plain
    }

    /// Returns the memory budget of a run, in bytes.
    pub fn budget(&self) -> u64 {
        self.spec.budget.unwrap_or(BUDGET)
    }

    /// Returns the progress of the run.
    pub fn progress(&self) -> &'a Progress {
        self.progress
    }

    /// Calls `work` for each item, on as many threads as there are workers, and `emit` for each result, in item order,
    /// one at a time. Pending results take at most half of the budget. An error of either function ends the run, so
    /// return an error that concerns only one item as a result. If `emit` returns `Break`, the remaining items are
    /// dropped.
    /// # Errors
    /// Those of `work` and `emit`; [`ErrorKind::Cancelled`] if it was cancelled.
    pub fn map_ordered<T: Send, R: Send>(
        &self,
        items: impl Iterator<Item = T> + Send,
        work: impl Fn(T, &mut OrderedSender<'_, '_, R>, &mut Worker, &Self) -> Result<()> + Sync,
        emit: impl FnMut(R) -> Result<ControlFlow<()>> + Send,
    ) -> Result<()> {
        self.map_ordered_with(
            items,
            || (),
            |item, sender, worker, (), run| work(item, sender, worker, run),
            emit,
        )
    }

    /// As [`map_ordered`](Self::map_ordered), for work that needs reusable state that is expensive to create (a
    /// matcher, a table): a worker calls `make` before its first item.
    ///
    /// # Errors
    /// As [`map_ordered`](Self::map_ordered).
    pub fn map_ordered_with<T: Send, S, R: Send>(
        &self,
        items: impl Iterator<Item = T> + Send,
        make: impl Fn() -> S + Sync,
        work: impl Fn(T, &mut OrderedSender<'_, '_, R>, &mut Worker, &mut S, &Self) -> Result<()> + Sync,
        emit: impl FnMut(R) -> Result<ControlFlow<()>> + Send,
    ) -> Result<()> {
        self.distribute(items, MOST, make, work, emit)
    }

    /// As [`map_ordered`](Self::map_ordered), for items that arrive over time, such as names read from a pipe: each is
    /// processed on arrival, without waiting for the next.
    ///
    /// # Errors
    /// As [`map_ordered`](Self::map_ordered).
    pub fn map_ordered_arriving<T: Send, R: Send>(
        &self,
        items: impl Iterator<Item = T> + Send,
        work: impl Fn(T, &mut OrderedSender<'_, '_, R>, &mut Worker, &Self) -> Result<()> + Sync,
        emit: impl FnMut(R) -> Result<ControlFlow<()>> + Send,
    ) -> Result<()> {
        self.distribute(
            items,
            1,
            || (),
            |item, sender, worker, (), executor| work(item, sender, worker, executor),
            emit,
        )
    }

    /// Distributes the items over the workers, in batches of at most `most`.
    fn distribute<T: Send, S, R: Send>(
        &self,
        items: impl Iterator<Item = T> + Send,
        most: usize,
        make: impl Fn() -> S + Sync,
        work: impl Fn(T, &mut OrderedSender<'_, '_, R>, &mut Worker, &mut S, &Self) -> Result<()> + Sync,
        emit: impl FnMut(R) -> Result<ControlFlow<()>> + Send,
    ) -> Result<()> {
        // If there are few items, one worker per item; and no more than the specified memory has buffers for.
        let known = items.size_hint().1;
        let within = self.spec.budget.map_or(usize::MAX, buffers);
        let workers = match known {
            // One worker, on any number of processors: that number takes system calls.
            Some(0 | 1) => 1,
            _ => known.unwrap_or(usize::MAX).min(self.workers()).min(within).max(1),
        };
        let call = 1 + self.calls.fetch_add(1, Ordering::Relaxed);
        // Calls inside a call share the workers with it.
        let outer = self.running.fetch_add(1, Ordering::Relaxed) == 0;
        let _running = Running(&self.running);
        let many = known.is_none_or(|items| items > 1);
        if outer {
            self.many.store(many, Ordering::Relaxed);
        } else {
            self.many.fetch_or(many, Ordering::Relaxed);
        }
        let set_at_once = |workers: usize| {
            if outer {
                self.at_once.store(workers, Ordering::Relaxed);
            } else {
                self.at_once.fetch_max(workers, Ordering::Relaxed);
            }
        };
        // Items that arrive over time are no measure of the device.
        let grows = self.spec.workers.is_none() && most > 1;
        let growth = Growth::new(workers, grows, known, self.budget(), self.progress);
        set_at_once(workers);
        let workers_at_most = growth.most();
        let room = (self.budget() / 2) as usize;
        let reorder_buffer = ReorderBuffer::new(0, room / 2, Box::new(emit)).with_open(workers_at_most);
        let queue = WorkQueue::new(items, workers_at_most, most);
        let first = FirstError::default();
        let fail = |error: Error| {
            first.put(error);
            reorder_buffer.cancel();
        };
        let allowance = room / 2 / workers_at_most;
        let one = |index: usize, start: &dyn Fn(usize)| {
            let (mut slot, mut made) = (WorkerSlot::new(index), None);
            let mut worker = Worker::default();
            worker.unneeded.clone_from(reorder_buffer.enough());
            let goes_on =
                || !self.progress.is_cancelled() && !reorder_buffer.enough().load(Ordering::Relaxed);
            // A worker that did not help ends.
            while goes_on() && index < growth.count() {
                let Some((place, item)) = queue.next_batch(&mut slot) else { return };
                reorder_buffer.open(index, place);
                let mut sender =
                    OrderedSender { reorder_buffer: &reorder_buffer, index, places: place..place, allowance };
                let (mut next, mut count) = (Some((place, item)), 0);
                while let Some((place, item)) = next {
                    sender.places.end = place + 1;
                    worker.place = Some((call, place));
                    let made = made.get_or_insert_with(&make);
                    match work(item, &mut sender, &mut worker, made, self) {
                        // Its result is not needed.
                        Err(error) if error.kind() == ErrorKind::Cancelled && !goes_on() => return,
                        Err(error) => return fail(error),
                        Ok(()) => {}
                    }
                    count += 1;
                    next = if goes_on() { queue.next(&slot) } else { None };
                }
                if let Err(error) = sender.end() {
                    return fail(error);
                }
                growth.done(count, self.progress).for_each(start);
                set_at_once(growth.count());
            }
            if self.progress.is_cancelled() {
                reorder_buffer.cancel();
            }
        };
        on_more_threads(workers, &one, &|| reorder_buffer.cancel());
        first.result()?;
        self.progress.check()?;
        reorder_buffer.finish()
    }
}

/// A call in progress, until it returns or a panic ends it.
struct Running<'e>(&'e AtomicUsize);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The sender of a worker's results for one item; results are delivered in item order.
pub struct OrderedSender<'t, 'e, R> {
    reorder_buffer: &'t ReorderBuffer<'e, R>,
    index: usize,
    /// The places of this item and of the quick ones before it in the batch.
    places: Range<u64>,
    allowance: usize,
}

impl<R> std::fmt::Debug for OrderedSender<'_, '_, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OrderedSender").field("index", &self.index).finish_non_exhaustive()
    }
}

impl<R> OrderedSender<'_, '_, R> {
    /// Sends one result, which takes `weight` bytes besides its own size. While earlier items are not finished, a
    /// worker may hold a few results; with more, it blocks. `Break` means that no more results are needed.
    ///
    /// # Errors
    /// Those of `emit`.
    pub fn send(&mut self, result: R, weight: usize) -> Result<ControlFlow<()>> {
        self.reorder_buffer.push(self.index, self.places.start, result, weight, self.allowance)?;
        Ok(match self.reorder_buffer.enough().load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    }

    fn end(self) -> Result<()> {
        self.reorder_buffer.close(self.index, self.places.start, self.places.end)
    }
}
