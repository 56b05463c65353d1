//! The shapes of work: transform, fold, search, compare, copy or generate files, with any strategy and number of
//! workers.
//!
//! One loop (`transfer_loop`) serves them all: it takes blocks from a source (an engine, a pipe, a generator), passes
//! them through the operation, and hands them to a sink (an engine, a pipe, a visitor). The meter runs the same loop,
//! so its measurements apply to the tools.
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

mod adaptive;
mod allocation;
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

#[doc(hidden)]
pub use allocation::allocate;
pub use compare::{Comparison, Difference, Differences, End, Extent, Which};
#[doc(hidden)]
pub use compare::{Side, compare, differences};
pub use copy::{
    Backup, BackupControl, Confirm, CopyError, CopyEvent, CopyKind, CopyOptions, CopyStats, Existing, Follow,
    Overwrite, Preserve, Reflink, Sparse,
};
#[doc(hidden)]
pub use copy::{backup_name, copy, copy_file, copy_was_begun};
pub use executor::{Executor, OrderedSender, Worker};
#[doc(hidden)]
pub use fold::{fold, fold_bytes};
#[doc(hidden)]
pub use order::{Order, Scope};
#[doc(hidden)]
pub use search::{search, search_bytes};

use crate::operation::{Generate, Split, Transform};
use crate::strategy::{Choice, Strategy};
use fullbore_io::engine::{IoQueue, IoStats, Latencies};
use fullbore_io::error::{Error, ErrorKind, Result};
use fullbore_io::file::{Durability, File, FileKind, Output};
use transfer_loop::Transfer;

/// The progress of a run, and its cancellation, shared with other threads.
#[derive(Debug, Default)]
pub struct Progress {
    bytes_done: AtomicU64,
    cancelled: AtomicBool,
    timed: AtomicBool,
    latencies: Mutex<Latencies>,
}

impl Progress {
    /// Bytes done so far.
    pub fn bytes_done(&self) -> u64 {
        self.bytes_done.load(Ordering::Relaxed)
    }

    /// Cancels the run, which ends soon with [`ErrorKind::Cancelled`].
    ///
    /// ```
    /// use fullbore::error::ErrorKind;
    /// use fullbore::operation::generate::Zeros;
    /// use fullbore::pattern::{Progress, Scope, fill};
    /// # let directory = tempfile::tempdir()?;
    /// # let output = fullbore::file::Output::replace(directory.path().join("file"))?;
    /// let progress = Progress::default();
    /// progress.cancel();
    /// let cancelled = fill(&Zeros, &Scope::whole(10_000), &output, &fullbore::strategy::Strategy::plain(), &progress);
    /// assert_eq!(cancelled.unwrap_err().kind(), ErrorKind::Cancelled);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Adds bytes that a tool moved outside the patterns.
    pub fn add(&self, bytes: u64) {
        self.bytes_done.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Times every request of the following runs, as [`IoQueue::time_requests`](crate::engine::IoQueue::time_requests)
    /// does, until [`take_latencies`](Self::take_latencies). Reads and writes are added together.
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
    /// assert_eq!((progress.bytes_done(), progress.take_latencies().count()), (40_960, 10));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn time_requests(&self) {
        self.timed.store(true, Ordering::Relaxed);
    }

    /// The latencies of the timed requests; ends the timing.
    pub fn take_latencies(&self) -> Latencies {
        self.timed.store(false, Ordering::Relaxed);
        std::mem::take(&mut *self.latencies.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Starts timing a queue's requests, if requested.
    fn start_timing(&self, queue: &mut IoQueue) {
        if self.timed.load(Ordering::Relaxed) {
            queue.time_requests();
        }
    }

    /// Adds the latencies of a timed queue.
    fn collect_latencies(&self, queue: &mut IoQueue) {
        let latencies = queue.take_latencies();
        if latencies.count() > 0 {
            self.latencies.lock().unwrap_or_else(PoisonError::into_inner).add(&latencies);
        }
    }

    /// True after [`cancel`](Self::cancel): for tools with their own loops.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

/// The statistics of a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stats {
    /// Bytes that went through the operation.
    pub bytes: u64,
    /// Time from the first request to the last, without opening and committing, in seconds.
    pub seconds: f64,
    /// The workers' counts of reads.
    pub reads: IoStats,
    /// The workers' counts of writes.
    pub writes: IoStats,
    /// User CPU time of the workers before their first and after their last request, in seconds: opening, creating
    /// buffers, closing. 0 if the system does not report it.
    pub setup_user: f64,
    /// The same, system CPU time.
    pub setup_system: f64,
}

/// Runs `operation` from `input` to `output`, which is complete and has its name on return.
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
/// assert_eq!(std::fs::read(&path)?, std::fs::read("Cargo.toml")?.to_ascii_uppercase());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The system's, with path and offset; [`ErrorKind::Changed`] if the input was truncated or modified meanwhile;
/// [`ErrorKind::SameFile`] if the output is the input; [`ErrorKind::Unsupported`] if the method moves bytes inside the kernel and
/// the operation needs to see them. The old output is unchanged then, unless it is overwritten.
#[doc(hidden)]
pub fn transform<'c>(
    operation: &dyn Transform,
    input: &File,
    output: Output,
    choice: impl Into<Choice<'c>>,
    durability: Durability,
    progress: &Progress,
) -> Result<Stats> {
    let (checked, choice) = (checked_input::CheckedInput::of(input)?, choice.into());
    let strategy = choice.first;
    // A new file is not the input.
    let exists = output.overwrites() || !output.seekable();
    let same = exists && output.file().stamp()?.identity == checked.before.identity;
    let in_place = same && input.kind() == FileKind::Regular;
    if in_place && !output.overwrites() {
        return Err(Error::new(
            ErrorKind::SameFile,
            "write",
            output.file().path(),
            "input and output are the same file",
        ));
    }
    if strategy.read.capabilities.copies_in_kernel && !operation.changes_nothing() {
        let what = format!(
            "method {} moves bytes inside the kernel, and {operation} needs to see them",
            strategy.read.name
        );
        return Err(
            Error::new(ErrorKind::Unsupported, "transform", input.path(), what).advise("name another method")
        );
    }
    let extension = allocation::extend(&output, checked.len.unwrap_or(0), strategy)?;
    // Blocks for a reader are passed on at once, blocks for a file as whole requests.
    let source = checked.source(output.seekable());
    let sink = match output.seekable() {
        true => transfer_loop::Sink::File(output.file()),
        false => transfer_loop::Sink::Stream(order::OrderedWriter::new(output.file().clone())),
    };
    let work = transfer_loop::Work { operation: Some(operation), in_place, split: operation.split() };
    let scope = Scope::whole(checked.len.unwrap_or(0));
    let transfer = Transfer {
        source: &source,
        work: &work,
        sink: &sink,
        order: Order::Sequential,
        in_order: false,
        progress,
    };
    let stats = run::run(transfer, &scope, choice)?;
    if !in_place {
        checked.is_unchanged()?;
    }
    checked.was_whole(&stats)?;
    taken_by_device(&output, strategy)?;
    extension.keep();
    output.commit_len(stats.bytes, durability)?;
    Ok(stats)
}

/// Makes sure that the device accepted every byte if the strategy bypasses the page cache. Some file systems put direct
/// writes through the cache (holes, compression, checksums) and report a later failure of the device only here.
fn taken_by_device(output: &Output, strategy: &Strategy) -> Result<()> {
    let direct = strategy.write.capabilities.passes_cache(strategy.write_cache);
    match direct && output.seekable() && output.file().kind() == FileKind::Regular {
        true => output.file().write_back(),
        false => Ok(()),
    }
}

/// Writes `len` generated bytes to `output`, which is complete and has its name on return.
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
/// The system's, with path and offset.
#[doc(hidden)]
pub fn generate(
    generator: &dyn Generate,
    len: u64,
    output: Output,
    strategy: &Strategy,
    durability: Durability,
    progress: &Progress,
) -> Result<Stats> {
    let extension = allocation::extend(&output, len, strategy)?;
    let stats = fill(generator, &Scope::whole(len), &output, strategy, progress)?;
    taken_by_device(&output, strategy)?;
    extension.keep();
    output.commit_len(len, durability)?;
    Ok(stats)
}

/// As [`generate`], into existing or [`allocate`]d blocks, without committing the output: the part that the meter
/// times.
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
/// The system's, with path and offset.
#[doc(hidden)]
pub fn fill(
    generator: &dyn Generate,
    scope: &Scope,
    output: &Output,
    strategy: &Strategy,
    progress: &Progress,
) -> Result<Stats> {
    fill_until(generator, scope, output, strategy, progress, &AtomicBool::new(false))
}

/// As [`fill`], but ends soon after `enough` is set, with the bytes written by then: runs that go on concurrently can
/// end with the first.
///
/// # Errors
/// As [`fill`].
#[doc(hidden)]
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
        transfer: Transfer {
            source: &transfer_loop::Source::Generator { generator },
            work: &transfer_loop::Work { operation: None, in_place: false, split: Split::Any },
            sink: &sink,
            order: scope.order,
            in_order: false,
            progress,
        },
        scope,
        choice: strategy.into(),
        most: usize::MAX,
        any_order: false,
        enough,
    };
    run.visit(&|| (), &|(), _, _| Ok(())).map(|(stats, _)| stats)
}

/// Visits the bytes of a file. Each worker has its own state, created by `identity` and updated by `block`, which
/// receives the state, the offset in bytes, and the bytes there. The states are returned in worker order.
/// # Errors
/// The system's, with path and offset; [`ErrorKind::Invalid`] if the scope reaches beyond the end; [`ErrorKind::Changed`] if the
/// input was truncated.
#[doc(hidden)]
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

/// As [`visit`], but ends soon after `enough` is set, with the states at that moment.
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
#[doc(hidden)]
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
        let what = format!("the range {}..{} exceeds the length {len}", scope.range.start, scope.range.end);
        return Err(Error::new(ErrorKind::Invalid, "read", input.path(), what));
    }
    let source = transfer_loop::Source::File { file: input, len };
    let run = run::Run {
        transfer: Transfer {
            source: &source,
            work: &transfer_loop::Work { operation: None, in_place: false, split: Split::Any },
            sink: &transfer_loop::Sink::Visitor { failed: &|| () },
            order: scope.order,
            in_order: false,
            progress,
        },
        scope,
        choice: strategy.into(),
        most: usize::MAX,
        any_order: false,
        enough,
    };
    run.visit(&identity, &|state, offset, bytes| {
        block(state, offset, bytes);
        Ok(())
    })
}
