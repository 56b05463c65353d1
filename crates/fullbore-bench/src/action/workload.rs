//! The work of a trial: its environment, settings, expected state and result.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use fullbore::Result;
use fullbore::error::{Error, ErrorKind};
use fullbore::file::File;
use fullbore::pattern::{Order, Progress, Stats};
use fullbore::probe::DeviceNumber;

use crate::clock::Clock;
use crate::document::{CacheState, FileState, Labels, Latency, Phases};
use crate::stats::Course;
use crate::test_files::{Needs, TestFiles};

#[derive(Debug)]
pub(crate) struct RunContext<'a> {
    /// The test files, a set per directory; at least one.
    pub(crate) file_sets: &'a [TestFiles],
    /// The devices under them, as far as known.
    pub(crate) devices: &'a [DeviceNumber],
    /// The largest read-ahead among the settings of the devices in bytes, or the usual one if they are unknown.
    pub(crate) read_ahead: u64,
    pub(crate) progress: &'a Progress,
    pub(crate) clock: Clock,
    /// Seconds that the run took before it was resumed.
    pub(crate) earlier: f64,
    pub(crate) seed: u64,
    /// Path of the program `fullbore` itself, if known.
    pub(crate) program: Option<&'a Path>,
    /// True if the host takes back free memory, and provides it again when it is next used.
    pub(crate) returns_free_memory: bool,
}

impl RunContext<'_> {
    pub(crate) fn test_files(&self) -> &TestFiles {
        &self.file_sets[0]
    }

    /// Returns the seed of the positions of a sample's random requests.
    pub(crate) fn seed_of(&self, number: u64) -> u64 {
        self.seed.rotate_right(8).wrapping_add(number)
    }

    /// Ends the last run of a workload, and removes the new file that it may have made.
    pub(crate) fn clean_up(&self, workload: &mut dyn Workload) -> Result<()> {
        workload.clean_up(self)?;
        self.remove_fresh();
        Ok(())
    }

    /// Removes the new file of a run, if it made one.
    fn remove_fresh(&self) {
        self.file_sets.iter().for_each(TestFiles::remove_fresh);
    }

    pub(super) fn check_device(&self, needed: bool) -> Result<()> {
        if needed && self.test_files().in_memory { Err(self.no_device()) } else { Ok(()) }
    }

    pub(super) fn no_device(&self) -> Error {
        let what = "the file system keeps its files in memory: it has no device and no cold files";
        Error::new(ErrorKind::Unsupported, "measure", self.test_files().named(), what)
    }
}

#[cfg(test)]
impl<'a> RunContext<'a> {
    /// Returns the context of a run over these files, of no known device.
    pub(crate) fn of(file_sets: &'a [TestFiles], progress: &'a Progress) -> Self {
        Self {
            file_sets,
            devices: &[],
            read_ahead: 0,
            progress,
            clock: Clock::start(),
            earlier: 0.0,
            seed: 1,
            program: None,
            returns_free_memory: false,
        }
    }
}

/// The work of a trial, or the error in its settings.
pub(crate) type ParsedWorkload = std::result::Result<Box<dyn Workload>, String>;

/// Does work once, and again until `enough` is set.
pub(super) fn repeat_until(enough: &AtomicBool, mut work: impl FnMut() -> Result<()>) -> Result<()> {
    loop {
        work()?;
        if enough.load(Ordering::Relaxed) {
            return Ok(());
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Iteration {
    /// Approximate number of bytes of the sample; work on whole files ignores it.
    pub(crate) span: u64,
    /// Number of the sample in the run; each iteration uses a different part of the file.
    pub(crate) number: u64,
}

impl Iteration {
    /// Returns the next run of `len` bytes within the first `room` bytes, so that no device cache holds it.
    pub(super) fn next_run(self, len: u64, room: u64) -> Range<u64> {
        let start = self.number % (room / len).max(1) * len;
        start..start + len
    }
}

pub(crate) trait Workload: fmt::Debug {
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Returns the labels of the trial. Before [`open`](Self::open), they are derived from the settings alone.
    fn labels(&self) -> Labels;

    /// Checks that the trial can run here and creates its state; otherwise the cell is skipped with the error's reason.
    fn open(&mut self, context: &RunContext<'_>) -> Result<()>;

    /// Returns the same work, not opened, under each contender of the planner, if the trial stands for all of them.
    fn contenders(&self, _context: &RunContext<'_>) -> Result<Option<Vec<Contender>>> {
        Ok(None)
    }

    /// Returns the full strategy, for the profile.
    fn strategy(&self) -> Option<String> {
        None
    }

    /// True if more requested bytes make a sample longer.
    fn elastic(&self) -> bool {
        true
    }

    /// True if a single run of the cell's whole time measures the work.
    fn is_continuous(&self) -> bool {
        false
    }

    /// The number of equal shares of a run's time: a single run needs as much as many samples.
    fn shares(&self) -> usize {
        if self.is_continuous() { 16 } else { 1 }
    }

    /// True if figures of others are given as shares of it: it is measured before, between and after them.
    fn is_reference(&self) -> bool {
        false
    }

    fn set_time(&mut self, _seconds: f64) {}

    /// Establishes the state that the trial requires; not timed.
    fn prepare(&mut self, iteration: Iteration, context: &RunContext<'_>) -> Result<ExpectedState>;

    /// Runs the same work before the clock starts, until the ramp is long enough, to spend the device's credit. The new file
    /// of the sample is afterwards as it was prepared.
    fn ramp_up(&mut self, ramp: Ramp<'_>, context: &RunContext<'_>) -> Result<()> {
        repeat_until(ramp.enough, || {
            self.run(context)?;
            context.remove_fresh();
            Ok(())
        })
    }

    fn run(&mut self, context: &RunContext<'_>) -> Result<RunResult>;

    /// Adds results of the last run that are known only after the clock and the counters have stopped.
    fn finish_measurement(&mut self, _done: &mut RunResult) -> Result<()> {
        Ok(())
    }

    /// Returns the range of the next run, for a peer to do the same; `None` if a peer cannot.
    fn covered_range(&self, _context: &RunContext<'_>) -> Option<CoveredRange> {
        None
    }

    /// Returns the same work, not opened, for a comparison with a peer; `None` if no peer can do it.
    fn unopened_copy(&self) -> Option<Box<dyn Workload>> {
        None
    }

    /// Ends the last run; not timed. [`RunContext::clean_up`] removes its new file.
    fn clean_up(&mut self, _context: &RunContext<'_>) -> Result<()> {
        Ok(())
    }
}

/// Work before the clock starts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ramp<'a> {
    /// Minimum duration in seconds.
    pub(crate) least: f64,
    /// Set once the work has taken long enough.
    pub(crate) enough: &'a AtomicBool,
}

#[derive(Debug)]
pub(crate) struct Contender {
    pub(crate) strategy: String,
    pub(crate) workload: Box<dyn Workload>,
}

#[derive(Debug, Clone)]
pub(crate) struct CoveredRange {
    pub(crate) path: PathBuf,
    pub(crate) range: Range<u64>,
    pub(crate) order: Order,
    /// True if each request is timed, which costs two readings of the clock.
    pub(crate) timed: bool,
}

/// Expected state of a sample, and the files whose counters prove it.
#[derive(Debug, Default)]
pub(crate) struct ExpectedState {
    /// Ranges whose cached pages are counted.
    pub(crate) ranges: Vec<(File, Range<u64>)>,
    /// Expected page-cache state when the clock starts.
    pub(crate) cache: Option<CacheState>,
    pub(crate) device: DeviceIo,
    /// True if each run adds the same large file to the page cache.
    pub(crate) fills_page_cache: bool,
}

impl ExpectedState {
    /// Returns the state for a tool, whose reads may bypass the page cache, and whose output may be new.
    pub(super) fn of_tool(mut self, labels: &Labels) -> Self {
        let reads =
            matches!(self.cache, Some(CacheState::Cold | CacheState::Mixed)) && !labels.bypasses_cache();
        let writes = matches!(labels.file_state, Some(FileState::Extended | FileState::New));
        self.fills_page_cache = reads || writes;
        self
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum DeviceIo {
    #[default]
    Any,
    Reads,
    Writes,
}

#[derive(Debug, Default)]
pub(crate) struct RunResult {
    pub(crate) bytes: u64,
    /// Duration in seconds, if the work measures it more precisely than the surrounding clock.
    pub(crate) seconds: Option<f64>,
    pub(crate) requests: u64,
    /// Mean number of requests in flight per worker.
    pub(crate) depth: Option<f64>,
    pub(crate) latency: Option<Latency>,
    pub(crate) phases: Option<Phases>,
    /// Bytes over time of a continuous transfer.
    pub(crate) course: Option<Course>,
    /// Throughput of each stream or target, in bytes per second.
    pub(crate) streams: Vec<f64>,
    /// CPU time of child processes in seconds, user and system, if they did the work.
    pub(crate) children: Option<(f64, f64)>,
    /// CPU seconds, user and system, of opening and closing, which are not part of the work; `seconds` excludes them.
    pub(crate) setup_cpu: (f64, f64),
}

impl RunResult {
    /// Returns the result of requests that the work timed itself.
    pub(crate) fn timed(bytes: u64, seconds: f64, requests: u64, depth: Option<f64>) -> Self {
        Self { bytes, seconds: Some(seconds), requests, depth, ..Self::default() }
    }

    /// Returns the result of reads or of writes that a pattern timed.
    pub(super) fn of_transfer(stats: &Stats, writes: bool) -> Self {
        let io_stats = if writes { &stats.writes } else { &stats.reads };
        let seconds = stats.elapsed.as_secs_f64();
        // Opening and closing count neither in a request's rate nor in its CPU time.
        let setup_cpu = (stats.setup_user, stats.setup_system);
        Self { setup_cpu, ..Self::timed(stats.bytes, seconds, io_stats.requests, Some(io_stats.depth())) }
    }

    /// Returns the result of a tool's run: its user waits for opening and committing, too, as the outer clock includes.
    pub(super) fn of_tool(stats: &Stats) -> Self {
        Self {
            bytes: stats.bytes,
            requests: stats.reads.requests + stats.writes.requests,
            depth: (stats.reads.requests > 0).then(|| stats.reads.depth()),
            ..Self::default()
        }
    }
}
