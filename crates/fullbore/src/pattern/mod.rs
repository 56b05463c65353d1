//! The shapes of work: transform a file, fold over it, search it, generate one; any strategy, any number of workers.
//!
//! One loop (`transfer_loop`) serves them all: it takes blocks from a source (an engine, a pipe, a generator), lets the
//! operation have them, and gives them to a sink (an engine, a pipe, a visitor). The meter runs the same
//! loop, so what it measures is what the tools get.
//!
//! ```
//! use fullbore::file::File;
//! use fullbore::pattern::{Progress, Scope, visit};
//! use fullbore::strategy::{Strategy, StrategySpec};
//! let file = File::open("Cargo.toml")?;
//! let strategy = "workers=2,request=1K".parse::<StrategySpec>()?.apply(Strategy::plain());
//! let scope = Scope::whole(file.len()?);
//! let count = |lines: &mut usize, _offset, bytes: &[u8]| *lines += bytes.iter().filter(|&&byte| byte == b'\n').count();
//! let (_, counts) = visit(&file, &scope, &strategy, &Progress::default(), || 0, count)?;
//! assert_eq!(counts.iter().sum::<usize>(), std::fs::read_to_string("Cargo.toml")?.lines().count());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod boundary_buffer;
mod carry_over;
mod checked_input;
mod compare;
mod copy;
mod executor;
mod fold;
mod order;
mod reorder_buffer;
mod run;
mod search;
mod setup_cpu;
mod stream_reader;
mod stripes;
mod threads;
mod transfer_loop;
mod work_queue;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

pub use compare::{Comparison, Difference, Differences, End, Extent, Side, Which, compare, differences};
pub use copy::{
    Backup, BackupControl, Confirm, CopyError, CopyEvent, CopyKind, CopyOptions, CopyStats, Existing, Follow,
    Overwrite, Preserve, Reflink, Sparse, backup_name, copy, copy_file, copy_was_begun,
};
pub use executor::{Executor, OrderedSender, Worker};
pub use fold::{fold, fold_bytes};
pub use order::{Order, Scope};
pub use search::{search, search_bytes};

use crate::engine::{IoQueue, IoStats, Latencies};
use crate::error::{Error, Kind, Result};
use crate::file::{Durability, File, FileKind, Output};
use crate::operation::{Generate, Split, Transform};
use crate::strategy::{Allocation, Strategy};

/// What others may know of a run, and do to it, while it goes on.
///
/// ```
/// use fullbore::operation::generate::Zeros;
/// use fullbore::pattern::{Progress, Scope, fill};
/// # let directory = tempfile::tempdir()?;
/// # let output = fullbore::file::Output::replace(directory.path().join("file"))?;
/// let progress = Progress::default(); // another thread may look at it meanwhile
/// fill(&Zeros, &Scope::whole(10_000), &output, &fullbore::strategy::Strategy::plain(), &progress)?;
/// assert_eq!(progress.bytes_done(), 10_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Progress {
    bytes_done: AtomicU64,
    cancelled: AtomicBool,
    timed: AtomicBool,
    latencies: Mutex<Latencies>,
}

impl Progress {
    /// How many bytes are done.
    ///
    /// ```
    /// assert_eq!(fullbore::pattern::Progress::default().bytes_done(), 0);
    /// ```
    pub fn bytes_done(&self) -> u64 {
        self.bytes_done.load(Ordering::Relaxed)
    }

    /// Asks the run to stop soon, with [`Kind::Interrupted`].
    ///
    /// ```
    /// use fullbore::error::Kind;
    /// use fullbore::operation::generate::Zeros;
    /// use fullbore::pattern::{Progress, Scope, fill};
    /// # let directory = tempfile::tempdir()?;
    /// # let output = fullbore::file::Output::replace(directory.path().join("file"))?;
    /// let progress = Progress::default();
    /// progress.cancel();
    /// let stopped = fill(&Zeros, &Scope::whole(10_000), &output, &fullbore::strategy::Strategy::plain(), &progress);
    /// assert_eq!(stopped.unwrap_err().kind(), Kind::Interrupted);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Counts bytes as done that a tool has moved by itself.
    ///
    /// ```
    /// let progress = fullbore::pattern::Progress::default();
    /// progress.add(100);
    /// assert_eq!(progress.bytes_done(), 100);
    /// ```
    pub fn add(&self, bytes: u64) {
        self.bytes_done.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Asks the runs from here on to take the time of every request, as
    /// [`IoQueue::time_requests`](crate::engine::IoQueue::time_requests) does, until
    /// [`take_latencies`](Self::take_latencies). A run with reads and writes adds both.
    ///
    /// ```
    /// use fullbore::operation::generate::Zeros;
    /// use fullbore::pattern::{Progress, Scope, fill};
    /// use fullbore::strategy::Strategy;
    /// # let directory = tempfile::tempdir()?;
    /// # let output = fullbore::file::Output::replace(directory.path().join("file"))?;
    /// let (progress, strategy) = (Progress::default(), Strategy { request: 4096, ..Strategy::plain() });
    /// progress.time_requests();
    /// fill(&Zeros, &Scope::whole(40_960), &output, &strategy, &progress)?;
    /// assert_eq!(progress.take_latencies().count(), 10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn time_requests(&self) {
        self.timed.store(true, Ordering::Relaxed);
    }

    /// How long the requests of the runs took that were timed; the next runs are not.
    ///
    /// ```
    /// assert_eq!(fullbore::pattern::Progress::default().take_latencies().count(), 0);
    /// ```
    pub fn take_latencies(&self) -> Latencies {
        self.timed.store(false, Ordering::Relaxed);
        std::mem::take(&mut *self.latencies.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Starts taking the time of a queue's requests, if that was asked for.
    fn start_timing(&self, queue: &mut IoQueue) {
        if self.timed.load(Ordering::Relaxed) {
            queue.time_requests();
        }
    }

    /// Adds what an timed queue found.
    fn collect_latencies(&self, queue: &mut IoQueue) {
        let latencies = queue.take_latencies();
        if latencies.count() > 0 {
            self.latencies.lock().unwrap_or_else(PoisonError::into_inner).add(&latencies);
        }
    }

    /// Whether it was asked to [stop](Self::cancel): for tools with loops of their own.
    ///
    /// ```
    /// let progress = fullbore::pattern::Progress::default();
    /// progress.cancel();
    /// assert!(progress.is_cancelled());
    /// ```
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

/// What a run did.
///
/// ```
/// let stats = fullbore::pattern::Stats { bytes: 640_000_000, seconds: 0.0625, ..Default::default() };
/// assert_eq!(fullbore::size::rate(stats.bytes as f64 / stats.seconds), "10.2 GB/s");
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Stats {
    /// Bytes that went through the operation.
    pub bytes: u64,
    /// Elapsed time from the first request to the last, without opening and committing, in seconds.
    pub seconds: f64,
    /// What the workers counted where they read.
    pub reads: IoStats,
    /// What the workers counted where they wrote.
    pub writes: IoStats,
    /// Processor time of the workers before their first requests and after their last, in the program, in seconds:
    /// opening, making buffers, closing. 0 where the system does not tell.
    pub setup_user: f64,
    /// The same in the kernel on their behalf.
    pub setup_system: f64,
}

/// Runs `operation` from `input` to `output`, which is whole and has its name when this returns.
///
/// ```
/// use fullbore::file::{Durability, File, Output};
/// use fullbore::operation::{Kernel, parse};
/// use fullbore::pattern::{Progress, transform};
/// use fullbore::strategy::Strategy;
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("loud");
/// let (upper, input) = (parse("upper", Kernel::Simd)?, File::open("Cargo.toml")?);
/// let output = Output::replace(&path)?;
/// transform(&*upper, &input, output, &Strategy::plain(), Durability::None, &Progress::default())?;
/// assert!(std::fs::read(&path)?.starts_with(b"[PACKAGE]"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Those of the system with path and offset; [`Kind::Changed`] if the input became shorter or was modified
/// meanwhile; [`Kind::SameFile`] if the output is the input; [`Kind::Unsupported`] if the method moves bytes unseen and
/// the operation has to see them. The old output is as it was then, unless it is
/// overwritten.
pub fn transform(
    operation: &dyn Transform,
    input: &File,
    output: Output,
    strategy: &Strategy,
    durability: Durability,
    progress: &Progress,
) -> Result<Stats> {
    let checked = checked_input::CheckedInput::of(input)?;
    let same = output.file().stamp()?.identity == checked.before.identity;
    let in_place = same && input.kind() == FileKind::Regular;
    if in_place && !output.overwrites() {
        return Err(Error::new(
            Kind::SameFile,
            "write",
            output.file().path(),
            "input and output are the same file",
        ));
    }
    if strategy.read.capabilities.copies_in_kernel && !operation.changes_nothing() {
        let what =
            format!("method {} moves bytes unseen, and {operation} has to see them", strategy.read.name);
        return Err(
            Error::new(Kind::Unsupported, "transform", input.path(), what).advise("name another method")
        );
    }
    if let Some(len) = checked.len {
        allocate(&output, len, strategy)?;
    }
    // What goes to a reader goes at once, what goes to a file in whole requests.
    let source = checked.source(output.seekable());
    let sink = match output.seekable() {
        true => transfer_loop::Sink::File(output.file()),
        false => transfer_loop::Sink::Stream(order::OrderedWriter::new(output.file().clone())),
    };
    let work = transfer_loop::Work { operation: Some(operation), in_place, split: operation.split() };
    let scope = Scope::whole(checked.len.unwrap_or(0));
    let stats = run::run(&source, &work, &sink, &scope, strategy, progress)?;
    if !in_place {
        checked.is_unchanged()?;
    }
    checked.was_whole(&stats)?;
    taken_by_device(&output, strategy)?;
    output.commit_len(stats.bytes, durability)?;
    Ok(stats)
}

/// A strategy that passes the page cache by promises that the device took every byte, or failed. Some file systems put direct
/// writes through the cache (holes, compression, checksums), and say nothing then if the device refuses them: waits for those.
fn taken_by_device(output: &Output, strategy: &Strategy) -> Result<()> {
    let direct = strategy.write.capabilities.passes_cache(strategy.write_cache);
    match direct && output.seekable() && output.file().kind() == FileKind::Regular {
        true => output.file().write_back(),
        false => Ok(()),
    }
}

/// Writes `len` bytes made by `generator` to `output`, which is whole and has its name when this returns.
///
/// ```
/// use fullbore::file::{Durability, Output};
/// use fullbore::operation::generate::Random;
/// use fullbore::pattern::{Progress, generate};
/// use fullbore::strategy::Strategy;
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("noise");
/// let output = Output::replace(&path)?;
/// generate(&Random::new(1), 10_000, output, &Strategy::plain(), Durability::None, &Progress::default())?;
/// assert_eq!(std::fs::metadata(&path)?.len(), 10_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Those of the system, with path and offset.
pub fn generate(
    generator: &dyn Generate,
    len: u64,
    output: Output,
    strategy: &Strategy,
    durability: Durability,
    progress: &Progress,
) -> Result<Stats> {
    allocate(&output, len, strategy)?;
    let stats = fill(generator, &Scope::whole(len), &output, strategy, progress)?;
    taken_by_device(&output, strategy)?;
    output.commit_len(len, durability)?;
    Ok(stats)
}

/// As [`generate`], into blocks that are there already or as [`allocate`]d, without ending the output: what the
/// meter times.
///
/// ```
/// use fullbore::file::Output;
/// use fullbore::operation::generate::Zeros;
/// use fullbore::pattern::{Progress, Scope, fill};
/// use fullbore::strategy::Strategy;
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("file");
/// std::fs::write(&path, "some bytes")?;
/// let scope = Scope { range: 0..4, ..Scope::whole(10) };
/// fill(&Zeros, &scope, &Output::in_place(&path)?, &Strategy::plain(), &Progress::default())?;
/// assert_eq!(std::fs::read(&path)?, b"\0\0\0\0 bytes");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Those of the system, with path and offset.
pub fn fill(
    generator: &dyn Generate,
    scope: &Scope,
    output: &Output,
    strategy: &Strategy,
    progress: &Progress,
) -> Result<Stats> {
    fill_until(generator, scope, output, strategy, progress, &AtomicBool::new(false))
}

/// As [`fill`], but ends soon after `enough` is set, with what is done by then: several that run at once can all end
/// with the first.
///
/// ```
/// use std::sync::atomic::AtomicBool;
///
/// use fullbore::file::Output;
/// use fullbore::operation::generate::Zeros;
/// use fullbore::pattern::{Progress, Scope, fill_until};
/// use fullbore::strategy::Strategy;
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("file");
/// std::fs::write(&path, "some bytes")?;
/// let (output, enough) = (Output::in_place(&path)?, AtomicBool::new(true));
/// let stats = fill_until(&Zeros, &Scope::whole(4), &output, &Strategy::plain(), &Progress::default(), &enough)?;
/// assert_eq!((stats.bytes, std::fs::read(&path)?), (0, b"some bytes".to_vec()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`fill`].
pub fn fill_until(
    generator: &dyn Generate,
    scope: &Scope,
    output: &Output,
    strategy: &Strategy,
    progress: &Progress,
    enough: &AtomicBool,
) -> Result<Stats> {
    let sink = match output.seekable() {
        true => transfer_loop::Sink::File(output.file()),
        false => transfer_loop::Sink::Stream(order::OrderedWriter::new(output.file().clone())),
    };
    let run = run::Run {
        source: &transfer_loop::Source::Generator { generator },
        work: &transfer_loop::Work { operation: None, in_place: false, split: Split::Any },
        sink: &sink,
        scope,
        strategy,
        progress,
        enough,
    };
    run.visit(&|| (), &|(), _, _| Ok(())).map(|(stats, _)| stats)
}

/// Looks at the bytes of a file: each worker has a state of its own, which `identity` makes and `block` changes, given the
/// state, the offset in bytes, and the bytes there. The states are returned in the order of the workers.
///
/// ```
/// use fullbore::file::File;
/// use fullbore::pattern::{Progress, Scope, visit};
/// use fullbore::strategy::Strategy;
/// let (file, scope) = (File::open("Cargo.toml")?, Scope::whole(9));
/// let collect = |seen: &mut Vec<u8>, _offset, bytes: &[u8]| seen.extend(bytes);
/// let (_, seen) = visit(&file, &scope, &Strategy::plain(), &Progress::default(), Vec::new, collect)?;
/// assert_eq!(seen, [b"[package]"]);
/// # Ok::<(), fullbore::Error>(())
/// ```
///
/// # Errors
/// Those of the system, with path and offset; [`Kind::Invalid`] if the scope reaches past the end; [`Kind::Changed`] if
/// the input became shorter.
pub fn visit<S: Send>(
    input: &File,
    scope: &Scope,
    strategy: &Strategy,
    progress: &Progress,
    identity: impl Fn() -> S + Sync,
    block: impl Fn(&mut S, u64, &[u8]) + Sync,
) -> Result<(Stats, Vec<S>)> {
    visit_until(input, scope, strategy, progress, &AtomicBool::new(false), identity, block)
}

/// As [`visit`], but ends soon after `enough` is set, with what was seen by then.
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// use fullbore::file::File;
/// use fullbore::pattern::{Progress, Scope, visit_until};
/// use fullbore::strategy::Strategy;
/// let (file, enough) = (File::open("Cargo.toml")?, AtomicBool::new(false));
/// let strategy = Strategy { request: 16, ..Strategy::plain() };
/// let look = |(): &mut (), _offset, _bytes: &[u8]| enough.store(true, Ordering::Relaxed);
/// let scope = Scope::whole(160);
/// let (stats, _) = visit_until(&file, &scope, &strategy, &Progress::default(), &enough, || (), look)?;
/// assert_eq!(stats.bytes, 16, "the first block was enough");
/// # Ok::<(), fullbore::Error>(())
/// ```
///
/// # Errors
/// As [`visit`].
pub fn visit_until<S: Send>(
    input: &File,
    scope: &Scope,
    strategy: &Strategy,
    progress: &Progress,
    enough: &AtomicBool,
    identity: impl Fn() -> S + Sync,
    block: impl Fn(&mut S, u64, &[u8]) + Sync,
) -> Result<(Stats, Vec<S>)> {
    let len = input.stamp()?.len;
    if scope.range.end > len {
        let what = format!("bytes {} to {} were asked for, it has {len}", scope.range.start, scope.range.end);
        return Err(Error::new(Kind::Invalid, "read", input.path(), what));
    }
    let source = transfer_loop::Source::File { file: input, len };
    let run = run::Run {
        source: &source,
        work: &transfer_loop::Work { operation: None, in_place: false, split: Split::Any },
        sink: &transfer_loop::Sink::Visitor { failed: &|| () },
        scope,
        strategy,
        progress,
        enough,
    };
    run.visit(&identity, &|state, offset, bytes| {
        block(state, offset, bytes);
        Ok(())
    })
}

/// Gives a new output the length `len`, in bytes, and its blocks as the strategy says.
///
/// ```
/// use fullbore::file::Output;
/// use fullbore::strategy::{Allocation, Strategy};
/// # let directory = tempfile::tempdir()?;
/// let output = Output::replace(directory.path().join("file"))?;
/// let strategy = Strategy { allocation: Allocation::Size, ..Strategy::plain() };
/// fullbore::pattern::allocate(&output, 10_000, &strategy)?;
/// assert_eq!(output.file().len()?, 10_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Kind::NoSpace`] if the blocks are not to be had.
pub fn allocate(output: &Output, len: u64, strategy: &Strategy) -> Result<()> {
    if !output.seekable() || output.file().kind() != FileKind::Regular || len == 0 {
        return Ok(());
    }
    let file = output.file();
    if output.overwrites() {
        // A mapping cannot make its file longer.
        if strategy.write.capabilities.mapped && file.stamp()?.len < len {
            file.set_len(len)?;
        }
        return Ok(());
    }
    match strategy.allocation {
        Allocation::Preallocate => match file.allocate_and_extend(len) {
            Err(error) if error.kind() == Kind::Unsupported => file.set_len(len),
            other => other,
        },
        Allocation::Size => file.set_len(len),
        Allocation::Extend if strategy.write.capabilities.mapped => file.set_len(len),
        Allocation::Extend => Ok(()),
    }
}
