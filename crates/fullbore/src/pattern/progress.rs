//! The progress and the statistics of a run.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use fullbore_io::engine::{IoQueue, IoStats, Latencies};
#[cfg(doc)]
use fullbore_io::error::ErrorKind;
use fullbore_io::error::{Error, Result};
use fullbore_io::lock::{Mutex, Padded};

/// The progress of a run, and its cancellation, shared with other threads.
#[derive(Debug, Default)]
pub struct Progress {
    /// Padded: workers change it with every small file, and read the other fields more often.
    bytes_done: Padded<AtomicU64>,
    cancelled: AtomicBool,
    timed: AtomicBool,
    latencies: Mutex<Latencies>,
}

impl Progress {
    /// Returns the number of bytes done so far, by all runs with this progress.
    pub fn bytes_done(&self) -> u64 {
        self.bytes_done.load(Ordering::Relaxed)
    }

    /// Cancels the run, and every later one with this progress: each ends soon with [`ErrorKind::Cancelled`]. A new run needs
    /// a new progress.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Adds bytes that a tool moved outside the patterns.
    pub fn add(&self, bytes: u64) {
        self.bytes_done.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Times every request of the following runs, as [`IoQueue::time_requests`](crate::engine::IoQueue::time_requests)
    /// does, until [`take_latencies`](Self::take_latencies). Reads and writes are added together.
    #[doc(hidden)]
    pub fn time_requests(&self) {
        self.timed.store(true, Ordering::Relaxed);
    }

    /// Returns the latencies of the timed requests, and ends the timing.
    #[doc(hidden)]
    pub fn take_latencies(&self) -> Latencies {
        self.timed.store(false, Ordering::Relaxed);
        std::mem::take(&mut *self.latencies.lock())
    }

    pub(super) fn start_timing(&self, queue: &mut IoQueue) {
        if self.timed.load(Ordering::Relaxed) {
            queue.time_requests();
        }
    }

    pub(super) fn collect_latencies(&self, queue: &mut IoQueue) {
        let latencies = queue.take_latencies();
        if latencies.count() > 0 {
            self.latencies.lock().add(&latencies);
        }
    }

    /// Fails after [`cancel`](Self::cancel).
    pub(crate) fn check(&self) -> Result<()> {
        match self.is_cancelled() {
            true => Err(Error::cancelled()),
            false => Ok(()),
        }
    }

    /// True after [`cancel`](Self::cancel): for tools with their own loops.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

/// Bytes that a worker has done, which it adds to the progress a MiB at a time: that keeps the cost negligible.
#[derive(Debug, Default)]
pub(super) struct Unreported(u64);

impl Unreported {
    pub(super) fn add(&mut self, bytes: u64, progress: &Progress) {
        self.0 += bytes;
        if self.0 >= 1 << 20 {
            self.flush(progress);
        }
    }

    pub(super) fn flush(&mut self, progress: &Progress) {
        progress.add(std::mem::take(&mut self.0));
    }
}

/// The statistics of a run.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Bytes that went through the operation.
    pub bytes: u64,
    /// Time from the first request to the last, without opening and committing; of a comparison, of bytes in memory and of a small
    /// file, the time of the whole run. The requests of these two, and of a comparison of pipes, are not counted. An
    /// [`Executor`](crate::pattern::Executor) does not measure the time of small files either: it is 0.
    pub elapsed: Duration,
    /// The workers' counts of reads.
    pub reads: IoStats,
    /// The workers' counts of writes.
    pub writes: IoStats,
    /// User CPU time of the workers before their first and after their last request, in seconds: opening, creating
    /// buffers, closing. 0 if the system does not report it.
    #[doc(hidden)]
    pub setup_user: f64,
    /// System CPU time of the workers before their first and after their last request, in seconds. 0 if the system does not
    /// report it.
    #[doc(hidden)]
    pub setup_system: f64,
}

impl Stats {
    /// Adds those of a run that followed.
    #[doc(hidden)]
    pub fn add(&mut self, next: &Self) {
        self.bytes += next.bytes;
        self.elapsed += next.elapsed;
        self.reads.add(&next.reads);
        self.writes.add(&next.writes);
        self.setup_user += next.setup_user;
        self.setup_system += next.setup_system;
    }
}
