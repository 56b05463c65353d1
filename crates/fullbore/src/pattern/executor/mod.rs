//! The executor: workers over many files, the small ones each by one, the big ones by all, results in the order of the files.

mod file;
mod sender;
mod worker;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex};

use super::Progress;
use super::reorder_buffer::ReorderBuffer;
use super::threads::{FirstError, Started, on_threads};
use super::work_queue::{MOST, WorkQueue, WorkerSlot};
use crate::error::{Error, Kind, Result};
use crate::probe;
use crate::strategy::{BUDGET, Plan, Profile, StrategySpec};

pub use sender::OrderedSender;
pub use worker::Worker;

/// Who works on one file or many, and how files are read.
///
/// ```
/// use std::ops::ControlFlow;
///
/// use fullbore::file::File;
/// use fullbore::operation::Fold;
/// use fullbore::pattern::{Executor, Progress};
/// use fullbore::strategy::StrategySpec;
///
/// struct Bytes;
/// impl Fold for Bytes {
///     type State = u64;
///     fn identity(&self) -> u64 { 0 }
///     fn block(&self, count: &mut u64, _offset: u64, bytes: &[u8]) { *count += bytes.len() as u64 }
///     fn merge(&self, left: &mut u64, right: u64) { *left += right }
/// }
///
/// let (spec, progress) = (StrategySpec::default(), Progress::default());
/// let mut report = Vec::new();
/// Executor::new(&spec, &progress).map_ordered(
///     ["Cargo.toml", "src/lib.rs"].into_iter(),
///     |path, sender, worker, executor| {
///         let (_, bytes) = executor.fold(&Bytes, &File::open(path)?, worker)?;
///         sender.send((path, bytes), 0).map(drop)
///     },
///     |line| {
///         report.push(line);
///         Ok(ControlFlow::Continue(()))
///     },
/// )?;
/// assert_eq!(report[0], ("Cargo.toml", std::fs::metadata("Cargo.toml")?.len()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Executor<'a> {
    workers: usize,
    spec: &'a StrategySpec,
    progress: &'a Progress,
    spec_text: Option<&'a str>,
    profile: Option<&'a Profile>,
    planned: Option<&'a Planned<'a>>,
    /// Whether nothing in the specification says how a file is read.
    plain: bool,
    /// The place of the file that all workers are at, if there is one.
    big: Mutex<Option<u64>>,
    free: Condvar,
}

/// Told how a file is read.
type Planned<'a> = dyn Fn(&Path, &Plan) + Sync + 'a;

impl<'a> Executor<'a> {
    /// As many workers as are specified, or else as there are processors.
    ///
    /// ```
    /// use fullbore::pattern::{Executor, Progress};
    /// let (spec, progress) = ("workers=3".parse()?, Progress::default());
    /// assert_eq!(Executor::new(&spec, &progress).workers(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(spec: &'a StrategySpec, progress: &'a Progress) -> Self {
        Self {
            workers: spec.workers.unwrap_or_else(probe::processors).max(1),
            spec,
            progress,
            spec_text: None,
            profile: None,
            planned: None,
            plain: StrategySpec { workers: None, budget: None, ..spec.clone() } == StrategySpec::default(),
            big: Mutex::new(None),
            free: Condvar::new(),
        }
    }

    /// With what was measured on this machine, which the choice for large files then uses.
    ///
    /// ```
    /// use fullbore::pattern::{Executor, Progress};
    /// use fullbore::strategy::Profile;
    /// let (spec, progress) = (Default::default(), Progress::default());
    /// let profile = Profile::path().and_then(|path| Profile::load(&path).ok());
    /// let executor = Executor::new(&spec, &progress).with_profile(profile.as_ref());
    /// # let _ = executor;
    /// ```
    #[must_use]
    pub fn with_profile(self, profile: Option<&'a Profile>) -> Self {
        Self { profile, ..self }
    }

    /// With somebody who is told how each file is read that is not read at once, and `spec_text`, the words in which the
    /// specification was given.
    ///
    /// ```
    /// use fullbore::pattern::{Executor, Progress};
    /// let (spec, progress) = ("request=64K".parse()?, Progress::default());
    /// let explain = |path: &std::path::Path, plan: &fullbore::strategy::Plan| eprint!("{}:\n{plan}", path.display());
    /// let executor = Executor::new(&spec, &progress).explained(&explain, Some("request=64K"));
    /// # let _ = executor;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn explained(self, planned: &'a Planned<'a>, spec_text: Option<&'a str>) -> Self {
        Self { planned: Some(planned), spec_text, ..self }
    }

    /// How many workers there are.
    ///
    /// ```
    /// use fullbore::pattern::{Executor, Progress};
    /// let (spec, progress) = (Default::default(), Progress::default());
    /// assert!(Executor::new(&spec, &progress).workers() >= 1);
    /// ```
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// The memory that a run may take, in bytes.
    ///
    /// ```
    /// use fullbore::pattern::{Executor, Progress};
    /// let (spec, progress) = ("budget=8M".parse()?, Progress::default());
    /// assert_eq!(Executor::new(&spec, &progress).budget(), 8 << 20);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn budget(&self) -> u64 {
        self.spec.budget.unwrap_or(BUDGET)
    }

    /// What others see of the run.
    ///
    /// ```
    /// use fullbore::pattern::{Executor, Progress};
    /// let (spec, progress) = (Default::default(), Progress::default());
    /// assert_eq!(Executor::new(&spec, &progress).progress().bytes_done(), 0);
    /// ```
    pub fn progress(&self) -> &'a Progress {
        self.progress
    }

    /// Calls `work` for each item, on as many threads as there are workers, and `emit` for what it gives, in the order of the
    /// items, one at a time. Results that wait for their turn keep no more than half of the budget. An error of either
    /// ends it all; what is wrong with one item only is for `work` to give as a result. When `emit` says `Break`, the
    /// rest is left.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use fullbore::pattern::{Executor, Progress};
    /// let (spec, progress) = (Default::default(), Progress::default());
    /// let mut squares = Vec::new();
    /// Executor::new(&spec, &progress).map_ordered(
    ///     1..=4,
    ///     |number, sender, _, _| sender.send(number * number, 0).map(drop),
    ///     |square| {
    ///         squares.push(square);
    ///         Ok(ControlFlow::Continue(()))
    ///     },
    /// )?;
    /// assert_eq!(squares, [1, 4, 9, 16]);
    /// # Ok::<(), fullbore::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of `work` and `emit`; [`Kind::Interrupted`] if it was cancelled.
    pub fn map_ordered<T: Send, R: Send>(
        &self,
        items: impl Iterator<Item = T> + Send,
        work: impl Fn(T, &mut OrderedSender<'_, '_, R>, &mut Worker, &Self) -> Result<()> + Sync,
        emit: impl FnMut(R) -> Result<ControlFlow<()>> + Send,
    ) -> Result<()> {
        self.distribute_stateless(items, MOST, work, emit)
    }

    /// As [`map_ordered`](Self::map_ordered), for work that needs something which is dear to make, and which a worker uses again for all
    /// its items (a matcher, a table): `make` makes it when the worker has its first item.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use fullbore::pattern::{Executor, Progress};
    /// let (spec, progress) = (Default::default(), Progress::default());
    /// let mut text = String::new();
    /// Executor::new(&spec, &progress).map_ordered_with(
    ///     ["b", "a"].into_iter(),
    ///     || String::with_capacity(80),
    ///     |word, sender, _, line, _| {
    ///         line.clear();
    ///         line.extend([word, "\n"]);
    ///         sender.send(line.clone(), line.len()).map(drop)
    ///     },
    ///     |line| {
    ///         text.push_str(&line);
    ///         Ok(ControlFlow::Continue(()))
    ///     },
    /// )?;
    /// assert_eq!(text, "b\na\n");
    /// # Ok::<(), fullbore::Error>(())
    /// ```
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

    /// As [`map_ordered`](Self::map_ordered), for items that arrive when somebody sends them, names read from a pipe for example: each is
    /// worked on when it arrives, and never waits for the next one.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use std::sync::mpsc::channel;
    /// use fullbore::pattern::{Executor, Progress};
    /// let (spec, progress) = (Default::default(), Progress::default());
    /// let (questions, arriving) = channel();
    /// questions.send(3)?;
    /// let mut questions = Some(questions);
    /// let mut squares = Vec::new();
    /// Executor::new(&spec, &progress).map_ordered_arriving(
    ///     arriving.into_iter(),
    ///     |number, sender, _, _| sender.send(number * number, 0).map(drop),
    ///     |square| {
    ///         squares.push(square);
    ///         // The next question depends on the answer to the first.
    ///         if let Some(questions) = questions.take() {
    ///             let _ = questions.send(square);
    ///         }
    ///         Ok(ControlFlow::Continue(()))
    ///     },
    /// )?;
    /// assert_eq!(squares, [9, 81]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`map_ordered`](Self::map_ordered).
    pub fn map_ordered_arriving<T: Send, R: Send>(
        &self,
        items: impl Iterator<Item = T> + Send,
        work: impl Fn(T, &mut OrderedSender<'_, '_, R>, &mut Worker, &Self) -> Result<()> + Sync,
        emit: impl FnMut(R) -> Result<ControlFlow<()>> + Send,
    ) -> Result<()> {
        self.distribute_stateless(items, 1, work, emit)
    }

    /// As [`distribute`](Self::distribute), for workers that need nothing of their own.
    fn distribute_stateless<T: Send, R: Send>(
        &self,
        items: impl Iterator<Item = T> + Send,
        most: usize,
        work: impl Fn(T, &mut OrderedSender<'_, '_, R>, &mut Worker, &Self) -> Result<()> + Sync,
        emit: impl FnMut(R) -> Result<ControlFlow<()>> + Send,
    ) -> Result<()> {
        let work = |item: T,
                    sender: &mut OrderedSender<'_, '_, R>,
                    worker: &mut Worker,
                    (): &mut (),
                    executor: &Self| { work(item, sender, worker, executor) };
        self.distribute(items, most, || (), work, emit)
    }

    /// Distributes the items over the workers, each of which takes up to `most` at once.
    fn distribute<T: Send, S, R: Send>(
        &self,
        items: impl Iterator<Item = T> + Send,
        most: usize,
        make: impl Fn() -> S + Sync,
        work: impl Fn(T, &mut OrderedSender<'_, '_, R>, &mut Worker, &mut S, &Self) -> Result<()> + Sync,
        emit: impl FnMut(R) -> Result<ControlFlow<()>> + Send,
    ) -> Result<()> {
        // Of a few items each has a worker.
        let workers = items.size_hint().1.map_or(self.workers, |most| most.clamp(1, self.workers));
        let room = (self.budget() / 2) as usize;
        let reorder_buffer = ReorderBuffer::new(0, room / 2, Box::new(emit)).with_open(workers);
        let queue = WorkQueue::new(items, workers, most);
        let first = FirstError::default();
        let fail = |error: Error| {
            first.put(error);
            reorder_buffer.cancel();
        };
        let allowance = room / 2 / workers;
        let one = |index: usize, _: &Started| {
            let (mut worker, mut slot, mut made) = (Worker::default(), WorkerSlot::new(index), None);
            let goes_on =
                || !self.progress.is_cancelled() && !reorder_buffer.enough().load(Ordering::Relaxed);
            while goes_on() {
                let Some((place, item)) = queue.next_batch(&mut slot) else { return };
                reorder_buffer.open(index, place);
                let mut sender =
                    OrderedSender { reorder_buffer: &reorder_buffer, index, places: place..place, allowance };
                let mut next = Some((place, item));
                while let Some((place, item)) = next {
                    sender.places.end = place + 1;
                    worker.place = place;
                    let made = made.get_or_insert_with(&make);
                    if let Err(error) = work(item, &mut sender, &mut worker, made, self) {
                        return fail(error);
                    }
                    next = if goes_on() { queue.next(&slot) } else { None };
                }
                if let Err(error) = sender.end() {
                    return fail(error);
                }
            }
            if self.progress.is_cancelled() {
                reorder_buffer.cancel();
            }
        };
        on_threads(workers, &one, &|| reorder_buffer.cancel());
        first.result()?;
        self.not_stopped()?;
        reorder_buffer.finish()
    }

    fn not_stopped(&self) -> Result<()> {
        match self.progress.is_cancelled() {
            true => Err(Error::new(Kind::Interrupted, "finish", "the run", "it was told to stop")),
            false => Ok(()),
        }
    }
}
