//! The entry point for programs: runs an operation over files, with a strategy that is chosen automatically or set by the caller.
#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use crate::operation::{BlockMemory, Fold, Generate, Search, Split, Transform};
use crate::pattern::{
    self, CompareOptions, Comparison, CopyError, CopyEvent, CopyOptions, CopySettings, CopyStats, Executor,
    Follow, OrderedSender, Progress, Stats, Worker,
};
use crate::strategy::{
    LEAST_BUDGET, LazyProfile, Plan, PlanInput, Planner, Profile, Purpose, Serial, StrategySpec, WORKER_LIMIT,
};
use fullbore_io::engine::CachePolicy;
use fullbore_io::error::{ParseError, Result};
use fullbore_io::file::{Durability, File, Output, Placement};
use fullbore_io::lock::Mutex;

use crate::input::{Input, Opened};
use crate::planned_pair::PlannedPair;

/// Settings of a run, and the patterns that run under them. The default leaves every choice to the planner.
///
/// A run can fail with the system's error (with path and offset), with [`Changed`](crate::error::ErrorKind::Changed) if an
/// input is truncated or modified during the run, and with [`Cancelled`](crate::error::ErrorKind::Cancelled) if the run is
/// cancelled.
///
/// ```
/// use fullbore::{Job, op};
/// let job = Job::new().strategy("request=64K")?.workers(2);
/// let (lines, stats) = job.fold(&op::count_lines(), "Cargo.toml")?;
/// assert!(lines > 10 && stats.bytes > lines);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct Job {
    /// The specified strategy, with the settings that override its fields.
    spec: StrategySpec,
    spec_text: Option<String>,
    cache: Option<CachePolicy>,
    workers: Option<usize>,
    memory_limit: Option<u64>,
    durability: Durability,
    pub(crate) progress: Arc<Progress>,
    profile: Option<Arc<LazyProfile>>,
    planned: Option<OnPlan>,
}

type PlanObserver = dyn Fn(&Path, &Plan) + Send + Sync;

#[derive(Clone)]
struct OnPlan(Arc<PlanObserver>);

impl fmt::Debug for OnPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnPlan")
    }
}

/// Adds the time since `start` to the statistics if none was measured: of bytes in memory, and of a small file.
fn timed(stats: Stats, start: Instant) -> Stats {
    let elapsed = if stats.elapsed.is_zero() { start.elapsed() } else { stats.elapsed };
    Stats { elapsed, ..stats }
}

impl Job {
    /// Creates a job with the defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the strategy, by a name or by fields: `method=uring,depth=8`. The planner chooses the fields that are not
    /// named.
    ///
    /// # Errors
    /// If the text cannot be parsed, with the field at fault.
    pub fn strategy(self, spec: &str) -> std::result::Result<Self, ParseError> {
        let spec_text = (spec != "auto").then(|| spec.to_owned());
        Ok(Self { spec: spec.parse()?, spec_text, ..self }.overridden())
    }

    /// Sets the page-cache policy of reads and writes; overrides the strategy's.
    pub fn cache(self, cache: CachePolicy) -> Self {
        Self { cache: Some(cache), ..self }.overridden()
    }

    /// Sets the number of workers, clamped to the range 1 to 256; overrides the strategy's.
    pub fn workers(self, workers: usize) -> Self {
        Self { workers: Some(workers.clamp(1, WORKER_LIMIT)), ..self }.overridden()
    }

    /// Sets the memory for buffers, in bytes, at least 1 MiB; overrides the strategy's. 64 MiB unless set. A part of an operation with
    /// [`Split::Aligned`] is held whole.
    pub fn memory_limit(self, bytes: u64) -> Self {
        Self { memory_limit: Some(bytes.max(LEAST_BUDGET)), ..self }.overridden()
    }

    /// Sets the durability of outputs: [`Durability::None`] unless set.
    pub fn durability(self, durability: Durability) -> Self {
        Self { durability, ..self }
    }

    /// Reports bytes done to `progress`, which can cancel the run from another thread. Clones of the job share it.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use fullbore::pattern::Progress;
    /// use fullbore::{Job, op};
    /// let progress = Arc::new(Progress::default());
    /// Job::new().progress(progress.clone()).fold(&op::count_lines(), "Cargo.toml")?;
    /// assert_eq!(progress.bytes_done(), std::fs::metadata("Cargo.toml").unwrap().len());
    /// # Ok::<(), fullbore::Error>(())
    /// ```
    pub fn progress(self, progress: Arc<Progress>) -> Self {
        Self { progress, ..self }
    }

    /// Uses the measurements that `fullbore bench` saved on this machine.
    pub fn profile(self, profile: Profile) -> Self {
        self.profile_from(move || profile)
    }

    /// Calls `load` for the profile when the first decision needs it: small files need none.
    #[doc(hidden)]
    pub fn profile_from(self, load: impl FnOnce() -> Profile + Send + 'static) -> Self {
        Self { profile: Some(Arc::new(LazyProfile::new(Box::new(load)))), ..self }
    }

    /// Calls `planned` with the path and the plan of each file before its bytes are moved. If this function is set, every file
    /// is planned; in copies, only large files are.
    ///
    /// ```
    /// use std::sync::{Arc, OnceLock};
    /// use fullbore::{Job, op};
    /// let explained = Arc::new(OnceLock::new());
    /// let text = explained.clone();
    /// let job = Job::new().strategy("read=mmap")?.on_plan(move |_, plan| {
    ///     let _ = text.set(plan.to_string());
    /// });
    /// job.fold(&op::count_lines(), "Cargo.toml")?;
    /// assert!(explained.get().unwrap().contains("read=mmap"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_plan(self, planned: impl Fn(&Path, &Plan) + Send + Sync + 'static) -> Self {
        Self { planned: Some(OnPlan(Arc::new(planned))), ..self }
    }

    /// Returns the strategy that the settings specify.
    pub fn spec(&self) -> &StrategySpec {
        &self.spec
    }

    /// Folds `operation` over all bytes of `input`: all workers read a large file, and the bytes of a pipe
    /// are folded as they arrive. Records are limited as in [`search`](Self::search).
    ///
    /// # Errors
    /// Those of every [run](Job); [`Memory`](crate::error::ErrorKind::Memory) for a record longer than a quarter of the memory limit,
    /// unless one request reads all of it.
    pub fn fold<'i, F: Fold>(&self, operation: &F, input: impl Into<Input<'i>>) -> Result<(F::State, Stats)> {
        let start = Instant::now();
        let (state, stats) = match input.into().open()? {
            Opened::Bytes(bytes) => {
                self.progress.check()?;
                self.progress.add(bytes.len() as u64);
                let stats = Stats { bytes: bytes.len() as u64, ..Stats::default() };
                (pattern::fold_bytes(operation, bytes), stats)
            }
            Opened::File(file) => self.executor().fold(operation, &file, &mut Worker::default())?,
        };
        Ok((state, timed(stats, start)))
    }

    /// Searches `input` and calls `emit` with each result in the order of the file, until it returns `Break`.
    ///
    /// # Errors
    /// Those of every [run](Job), and of `emit`; [`Memory`](crate::error::ErrorKind::Memory) for a record, or records within reach of one
    /// another, longer than a quarter of the memory limit. Results passed to `emit` before the error
    /// [`Changed`](crate::error::ErrorKind::Changed) may be those of bytes that the file never had.
    pub fn search<'i, S: Search>(
        &self,
        operation: &S,
        input: impl Into<Input<'i>>,
        emit: impl FnMut(S::Found) -> Result<ControlFlow<()>> + Send,
    ) -> Result<Stats> {
        let start = Instant::now();
        let stats = match input.into().open()? {
            Opened::Bytes(bytes) => {
                self.progress.check()?;
                pattern::search_bytes(operation, bytes, emit)?;
                self.progress.add(bytes.len() as u64);
                Stats { bytes: bytes.len() as u64, ..Stats::default() }
            }
            Opened::File(file) => self.executor().search(operation, &file, &mut Worker::default(), emit)?,
        };
        Ok(timed(stats, start))
    }

    /// Compares two inputs up to the first difference.
    ///
    /// # Errors
    /// Those of [`pair`](Self::pair) and of every [run](Job).
    pub fn compare<'l, 'r>(
        &self,
        left: impl Into<Input<'l>>,
        right: impl Into<Input<'r>>,
    ) -> Result<(Comparison, Stats)> {
        self.pair(left, right)?.compare(&CompareOptions::default())
    }

    /// Plans the comparison of two inputs.
    ///
    /// # Errors
    /// The system's errors; [`Unsupported`](crate::error::ErrorKind::Unsupported) if the strategy requires a method
    /// or cache policy that does not work on an input.
    pub fn pair<'l, 'r>(
        &self,
        left: impl Into<Input<'l>>,
        right: impl Into<Input<'r>>,
    ) -> Result<PlannedPair<'_>> {
        let (left, right) = (left.into(), right.into());
        let specs = [self.spec_on(&left), self.spec_on(&right)];
        let files = [left.open_file()?.stamped()?, right.open_file()?.stamped()?];
        let plans = self.planner(&self.spec).plan_pair([&files[0], &files[1]], [&specs[0], &specs[1]])?;
        for (file, plan) in files.iter().zip(&plans) {
            self.emit_plan(file.path(), plan);
        }
        let files = [plans[0].handle(&files[0]), plans[1].handle(&files[1])];
        Ok(PlannedPair { progress: &self.progress, files, plans, skip: [0; 2] })
    }

    /// Transforms `input` into the file `output`, which is complete when this function returns, and unchanged after an error.
    ///
    /// # Errors
    /// Those of every [run](Job); [`SameFile`](crate::error::ErrorKind::SameFile) if the output is the input; [`Unsupported`](crate::error::ErrorKind::Unsupported) if the
    /// operation cannot be applied to parts, or changes bytes that the method moves inside the kernel.
    pub fn transform<'i>(
        &self,
        operation: &dyn Transform,
        input: impl Into<Input<'i>>,
        output: impl AsRef<Path>,
    ) -> Result<Stats> {
        let input = input.into();
        let spec = self.spec_on(&input);
        let input = input.open_file()?.stamped()?;
        let output = Output::create_with(output.as_ref(), Placement::Replace, Some(&input))?;
        self.transform_file(&spec, operation, &input, output)
    }

    /// As [`transform`](Self::transform), into any output: a file in place, a pipe. After an error, a file that is
    /// overwritten in place may be transformed in part.
    ///
    /// # Errors
    /// As [`transform`](Self::transform).
    pub fn transform_to<'i>(
        &self,
        operation: &dyn Transform,
        input: impl Into<Input<'i>>,
        output: Output,
    ) -> Result<Stats> {
        let input = input.into();
        let spec = self.spec_on(&input);
        self.transform_file(&spec, operation, &input.open_file()?.stamped()?, output)
    }

    fn transform_file(
        &self,
        spec: &StrategySpec,
        operation: &dyn Transform,
        input: &File,
        output: Output,
    ) -> Result<Stats> {
        let len = input.seekable_len()?;
        let cut = (operation.split(), operation.memory());
        let plan = self.plan(spec, Purpose::Transform, (Some(input), len), &output, cut)?;
        let input = plan.handle(input);
        pattern::transform(operation, &input, output, &plan, self.durability, &self.progress)
    }

    /// Writes `len` generated bytes to `output`.
    ///
    /// # Errors
    /// Those of every [run](Job).
    pub fn generate(&self, generator: &dyn Generate, len: u64, output: Output) -> Result<Stats> {
        let cut = (Split::Any, generator.memory());
        let plan = self.plan(&self.spec, Purpose::Generate, (None, Some(len)), &output, cut)?;
        pattern::generate(generator, len, output, &plan.strategy, self.durability, &self.progress)
    }

    /// Copies a file or directory tree to the path `target`. New files get the mode of their source, reduced by the umask. Symbolic
    /// links in a tree are copied as links.
    ///
    /// # Errors
    /// The first error of a file or directory; the rest of a tree is copied nevertheless.
    pub fn copy(&self, source: impl AsRef<Path>, target: impl AsRef<Path>) -> Result<CopyStats> {
        let options = CopyOptions { recursive: true, follow: Follow::Sources, ..CopyOptions::default() };
        let first: Mutex<Option<CopyError>> = Mutex::default();
        let report = |event: CopyEvent| {
            if let CopyEvent::Failed(error) = event {
                first.lock().get_or_insert(error);
            }
        };
        let (source, target) = (source.as_ref(), target.as_ref());
        let stats = self.copy_with([(source, target)], &options, report)?;
        match first.into_inner() {
            None => Ok(stats),
            Some(error) => Err(error.into()),
        }
    }

    /// Copies pairs of a source and a target, with the strategy, profile, workers and durability of the job.
    ///
    /// # Errors
    /// [`Cancelled`](crate::error::ErrorKind::Cancelled). The errors of individual files are passed to `report` as events, and
    /// counted.
    pub fn copy_with<S: AsRef<Path>, T: AsRef<Path>>(
        &self,
        pairs: impl IntoIterator<Item = (S, T)>,
        options: &CopyOptions,
        report: impl Fn(CopyEvent) + Sync,
    ) -> Result<CopyStats> {
        let owned = |(source, target): (S, T)| (source.as_ref().to_owned(), target.as_ref().to_owned());
        let pairs: Vec<(PathBuf, PathBuf)> = pairs.into_iter().map(owned).collect();
        let report_plans = options.report_plans || self.planned.is_some();
        let options = CopyOptions { report_plans, ..options.clone() };
        let settings = CopySettings { planner: self.planner(&self.spec), durability: self.durability };
        let report = |event: CopyEvent| {
            if let CopyEvent::Planned { source, plan } = &event {
                self.emit_plan(source, plan);
            }
            report(event);
        };
        pattern::copy(&pairs, &options, &settings, &self.progress, &report)
    }

    /// Calls `work` for each item on all workers, and `emit` with the results in the order of the items. Returns the bytes that
    /// the executor counted (with those of concurrent runs of this job) and the time of the run; requests are not counted.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use fullbore::{Job, op};
    /// let paths = ["Cargo.toml", "src/lib.rs"];
    /// let stats = Job::new().map_ordered(
    ///     paths,
    ///     |path, sender, worker, executor| {
    ///         let (lines, _) = executor.fold(&op::count_lines(), &worker.open(path)?, worker)?;
    ///         sender.send((path, lines), 0).map(drop)
    ///     },
    ///     |(path, lines)| {
    ///         println!("{lines} {path}");
    ///         Ok(ControlFlow::Continue(()))
    ///     },
    /// )?;
    /// let len = |path: &str| std::fs::metadata(path).unwrap().len();
    /// assert_eq!(stats.bytes, paths.into_iter().map(len).sum::<u64>());
    /// # Ok::<(), fullbore::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Executor::map_ordered`].
    pub fn map_ordered<T: Send, R: Send>(
        &self,
        items: impl IntoIterator<Item = T, IntoIter: Send>,
        work: impl Fn(T, &mut OrderedSender<'_, '_, R>, &mut Worker, &Executor<'_>) -> Result<()> + Sync,
        emit: impl FnMut(R) -> Result<ControlFlow<()>> + Send,
    ) -> Result<Stats> {
        let (start, before) = (Instant::now(), self.progress.bytes_done());
        self.executor().map_ordered(items.into_iter(), work, emit)?;
        let bytes = self.progress.bytes_done() - before;
        Ok(Stats { bytes, elapsed: start.elapsed(), ..Stats::default() })
    }

    /// Creates an executor with the settings of the job, for operations over many files.
    pub fn executor(&self) -> Executor<'_> {
        let executor = Executor::new(&self.spec, &self.progress).with_profile(self.profile.as_deref());
        match &self.planned {
            Some(OnPlan(planned)) => executor.explained(&**planned, self.spec_text.as_deref()),
            None => executor,
        }
    }

    fn overridden(mut self) -> Self {
        self.spec.workers = self.workers.or(self.spec.workers);
        self.spec.budget = self.memory_limit.or(self.spec.budget);
        self.spec.read_cache = self.cache.or(self.spec.read_cache);
        self.spec.write_cache = self.cache.or(self.spec.write_cache);
        self
    }

    /// The fields of the strategy that apply to an input. Bytes in memory have no access method.
    fn spec_on(&self, input: &Input<'_>) -> Cow<'_, StrategySpec> {
        match input.is_bytes() {
            true => Cow::Owned(StrategySpec { read: None, read_cache: None, ..self.spec.clone() }),
            false => Cow::Borrowed(&self.spec),
        }
    }

    fn planner<'p>(&'p self, spec: &'p StrategySpec) -> Planner<'p> {
        Planner::new(spec).with_text(self.spec_text.as_deref()).with_profile(self.profile.as_deref())
    }

    fn plan(
        &self,
        spec: &StrategySpec,
        purpose: Purpose,
        (from, len): (Option<&File>, Option<u64>),
        to: &Output,
        (split, memory): (Split, BlockMemory),
    ) -> Result<Plan> {
        let planner = self.planner(spec).in_memory(memory);
        let facts = planner.learn(purpose, from, len, Some(to));
        let plan = planner.decide(
            PlanInput { serial: Serial::of(split), unit: split.unit(), ..facts },
            from,
            Some(to),
        )?;
        self.emit_plan(from.unwrap_or(to.file()).path(), &plan);
        Ok(plan)
    }

    pub(crate) fn emit_plan(&self, path: &Path, plan: &Plan) {
        if let Some(OnPlan(planned)) = &self.planned {
            planned(path, plan);
        }
    }
}

/// Folds `operation` over all bytes of `input` with the defaults of [`Job`].
///
/// # Errors
/// As [`Job::fold`].
pub fn fold<'i, F: Fold>(operation: &F, input: impl Into<Input<'i>>) -> Result<F::State> {
    Job::new().fold(operation, input).map(|(state, _)| state)
}

/// Searches `input` with the defaults of [`Job`].
///
/// # Errors
/// As [`Job::search`].
pub fn search<'i, S: Search>(
    operation: &S,
    input: impl Into<Input<'i>>,
    emit: impl FnMut(S::Found) -> Result<ControlFlow<()>> + Send,
) -> Result<()> {
    Job::new().search(operation, input, emit).map(drop)
}

/// Compares two inputs with the defaults of [`Job`].
///
/// # Errors
/// As [`Job::compare`].
pub fn compare<'l, 'r>(left: impl Into<Input<'l>>, right: impl Into<Input<'r>>) -> Result<Comparison> {
    Job::new().compare(left, right).map(|(found, _)| found)
}

/// Transforms `input` into the file `output` with the defaults of [`Job`].
///
/// # Errors
/// As [`Job::transform`].
pub fn transform<'i>(
    operation: &dyn Transform,
    input: impl Into<Input<'i>>,
    output: impl AsRef<Path>,
) -> Result<Stats> {
    Job::new().transform(operation, input, output)
}

/// Copies a file or directory tree with the defaults of [`Job`]. Unlike `std::fs::copy` and
/// [`asynchronous::copy`](crate::asynchronous::copy), it copies directories, and the mode of a new file is reduced by the umask.
///
/// # Errors
/// As [`Job::copy`].
pub fn copy(source: impl AsRef<Path>, target: impl AsRef<Path>) -> Result<CopyStats> {
    Job::new().copy(source, target)
}
