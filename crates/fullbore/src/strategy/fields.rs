//! A complete strategy, and the values of its fields.

use std::fmt;
use std::io;

use fullbore_io::buf::{HUGE_PAGE, Pool};
use fullbore_io::engine::{CachePolicy, Method, method};
use fullbore_io::{names, size};

/// Default memory budget of a run, in bytes.
pub const BUDGET: u64 = 64 << 20;

/// Distribution of stripes to workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Model {
    /// One worker, sequential.
    #[default]
    Serial,
    /// Stripes assigned round-robin, each worker with its own handle.
    Striped,
    /// Stripes taken from a queue.
    Pool,
}

/// Allocation of blocks for a new output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Allocation {
    /// Blocks are allocated as they are written; the file grows.
    #[default]
    Extend,
    /// The length is set at once; blocks are allocated as they are written.
    Size,
    /// Length and blocks are allocated at once, as by fallocate(1) and posix_fallocate(3).
    Fallocate,
}

/// The order in which completions are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Completion {
    /// As requests complete.
    #[default]
    Any,
    /// In the order of the requests: a worker waits for the oldest.
    Ordered,
}

names!(Model { Serial = "serial", Striped = "striped", Pool = "pool" });
names!(Allocation { Extend = "extend", Size = "size", Fallocate = "fallocate" });
names!(Completion { Any = "any", Ordered = "ordered" });

/// A complete strategy. Runs that differ only in their strategy produce the same bytes.
///
/// ```
/// use fullbore::engine::method;
/// use fullbore::strategy::Strategy;
/// let strategy = Strategy { read: method("uring").unwrap(), depth: 8, ..Strategy::plain() };
/// assert_eq!(
///     strategy.to_string(),
///     "read=uring,write=buffered,request=256K,depth=8,workers=1,model=serial,alloc=extend,cache=keep"
/// );
/// ```
#[doc(hidden)]
#[derive(Debug, Clone, PartialEq)]
pub struct Strategy {
    pub read: &'static Method,
    pub write: &'static Method,
    /// The request size in bytes.
    pub request: usize,
    /// Requests in flight per worker.
    pub depth: usize,
    pub workers: usize,
    /// Distribution of stripes to workers.
    pub model: Model,
    /// The run of the file given to a worker at a time, in bytes.
    pub stripe: u64,
    /// Length of the mapped part in bytes; `None`: the whole file.
    pub window: Option<usize>,
    /// Allocation of blocks for a new output.
    pub allocation: Allocation,
    pub read_cache: CachePolicy,
    pub write_cache: CachePolicy,
    /// The order in which completions are handled.
    pub completion: Completion,
    /// Memory for buffers and mapped parts, in bytes; pending results have limits of their own, which are fractions of it.
    pub budget: u64,
}

impl Strategy {
    /// Returns one worker with buffered requests of 256 KiB: it works everywhere, and is the fastest for one worker on most
    /// machines (GNU coreutils measured the same size on eleven, `ioblksize.h`).
    pub fn plain() -> Self {
        Self {
            read: buffered(),
            write: buffered(),
            request: 256 << 10,
            depth: 1,
            workers: 1,
            model: Model::Serial,
            stripe: 4 << 20,
            window: Some(16 << 20),
            allocation: Allocation::Extend,
            read_cache: CachePolicy::Keep,
            write_cache: CachePolicy::Keep,
            completion: Completion::Any,
            budget: BUDGET,
        }
    }

    /// Returns the strategy with this many workers, which take stripes from a queue if there are several.
    pub(crate) fn with_workers(self, workers: usize) -> Self {
        let model = if workers > 1 { Model::Pool } else { Model::Serial };
        Self { workers, model, ..self }
    }

    /// True if a worker can use the same files, queues and buffers for this strategy as for the other one.
    pub(crate) fn has_the_engines_of(&self, other: &Self) -> bool {
        let Self { workers, model, stripe, allocation, budget, .. } = *self;
        *self == Self { workers, model, stripe, allocation, budget, ..other.clone() }
    }

    /// Returns the memory for its buffers and mapped parts, in bytes. Files mapped whole are in the page cache, and do not count.
    ///
    /// ```
    /// use fullbore::buf::Pool;
    /// use fullbore::strategy::Strategy;
    /// let buffer = Pool::capacity(256 << 10) as u64; // one for reading, one for writing
    /// assert_eq!(Strategy::plain().memory(), 2 * buffer);
    /// assert_eq!(Strategy { workers: 3, ..Strategy::plain() }.memory(), 6 * buffer);
    /// ```
    pub fn memory(&self) -> u64 {
        self.memory_of(self.workers)
    }

    /// True if writes bypass the page cache.
    pub(crate) fn writes_past_cache(&self) -> bool {
        self.write.capabilities.passes_cache(self.write_cache)
    }

    /// The stripe for a file of `len` bytes: at most a quarter of a worker's share.
    pub(crate) fn stripe_within(&self, len: u64) -> u64 {
        let request = self.request as u64;
        let share = (len / (4 * self.workers as u64)).next_multiple_of(request).max(request);
        self.stripe.min(share)
    }

    /// Buffers of one worker for a run of `len` bytes; contiguous for direct transfers if the budget permits a huge page
    /// for each worker and side.
    pub(crate) fn pool(&self, count: usize, request: usize, len: u64) -> io::Result<Pool> {
        /// For fewer bytes, the preparation of a huge page takes longer than it saves.
        const LEAST: u64 = 256 << 10;
        let direct = [self.read_cache, self.write_cache].contains(&CachePolicy::Direct);
        let fits = self.workers.saturating_mul(2 * HUGE_PAGE) as u64 <= self.budget;
        Pool::allocate(count, request, direct && fits && len >= LEAST)
    }

    /// Returns the memory as [`memory`](Self::memory) does, but for this many workers.
    pub(crate) fn memory_of(&self, workers: usize) -> u64 {
        let per_worker = |method: &Method| match (method.capabilities.mapped, self.window) {
            (true, Some(window)) => window.max(self.request),
            (true, None) => 0,
            (false, _) => self.depth.min(method.capabilities.depth) * Pool::capacity(self.request),
        };
        (workers * (per_worker(self.read) + per_worker(self.write))) as u64
    }
}

/// The method that works on every file.
pub(crate) fn buffered() -> &'static Method {
    method("buffered").expect("buffered is registered")
}

impl fmt::Display for Strategy {
    /// In the form that `--strategy` accepts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.read == self.write {
            write!(f, "method={}", self.read.name)?;
        } else {
            write!(f, "read={},write={}", self.read.name, self.write.name)?;
        }
        write!(f, ",request={},depth={}", size::exact(self.request as u64), self.depth)?;
        write!(f, ",workers={},model={}", self.workers, self.model)?;
        if self.model != Model::Serial {
            write!(f, ",stripe={}", size::exact(self.stripe))?;
        }
        if self.read.capabilities.mapped || self.write.capabilities.mapped {
            match self.window {
                Some(window) => write!(f, ",window={}", size::exact(window as u64))?,
                None => write!(f, ",window=whole")?,
            }
        }
        write!(f, ",alloc={}", self.allocation)?;
        if self.read_cache == self.write_cache {
            write!(f, ",cache={}", self.read_cache)?;
        } else {
            write!(f, ",read-cache={},write-cache={}", self.read_cache, self.write_cache)?;
        }
        if self.completion == Completion::Ordered {
            write!(f, ",completion=ordered")?;
        }
        if self.budget != BUDGET {
            write!(f, ",budget={}", size::exact(self.budget))?;
        }
        Ok(())
    }
}
