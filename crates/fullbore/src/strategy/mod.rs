//! How the bytes move: all that decides speed, and none of what decides the result.
//!
//! ```
//! use fullbore::strategy::{Strategy, StrategySpec};
//! let spec: StrategySpec = "cci-mt,workers=4,request=256K".parse()?;
//! let strategy = spec.apply(Strategy::plain());
//! assert_eq!((strategy.workers, strategy.request, strategy.read.name), (4, 256 << 10, "buffered"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod choose;
mod evidence;
mod named;
mod plan;
mod profile;
mod spec;

use std::fmt;
use std::str::FromStr;

pub use choose::{Decision, PlanInput, Purpose, Target, choose};
pub use evidence::{Alternative, Evidence, Reason, Serial};
pub use named::{NAMED, Named};
pub use plan::{Plan, Planner};
pub use profile::{CacheState, Entry, FileSystem, Job, Measured, Profile, ProfileError, key};
pub use spec::{ParseSpecError, StrategySpec};

use crate::engine::{CachePolicy, Method, method};
use crate::size;

/// The memory that the buffers of a run may take, in bytes, unless told otherwise.
///
/// ```
/// use fullbore::strategy::{BUDGET, Strategy};
/// assert!(Strategy::plain().memory() <= BUDGET);
/// ```
pub const BUDGET: u64 = 64 << 20;

/// How the work is shared out.
///
/// ```
/// use fullbore::strategy::Model;
/// assert_eq!("striped".parse(), Ok(Model::Striped));
/// assert_eq!(Model::Pool.to_string(), "pool");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Model {
    /// One worker, from front to back.
    #[default]
    Serial,
    /// Stripes dealt round-robin, each worker with its own handle.
    Striped,
    /// Stripes taken from a queue.
    Pool,
}

/// How a new output gets its blocks.
///
/// ```
/// use fullbore::strategy::Allocation;
/// assert_eq!("preallocate".parse(), Ok(Allocation::Preallocate));
/// assert_eq!(Allocation::default().to_string(), "extend");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Allocation {
    /// As it is written; the file grows.
    #[default]
    Extend,
    /// Its length at once, its blocks as they are written.
    Size,
    /// Length and blocks at once (`fallocate`).
    Preallocate,
}

/// In which order completions are handled.
///
/// ```
/// use fullbore::strategy::Completion;
/// assert_eq!("ordered".parse(), Ok(Completion::Ordered));
/// assert_eq!(Completion::default().to_string(), "any");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Completion {
    /// As they come.
    #[default]
    Any,
    /// In the order of the requests: the oldest is waited for.
    Ordered,
}

/// Gives an enum of named values its names.
macro_rules! names {
    ($type:ident { $($value:ident = $name:literal),+ $(,)? }) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$value => $name),+ })
            }
        }

        impl FromStr for $type {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $($name => Ok(Self::$value),)+
                    _ => Err(format!("{text:?} is none of {}", [$($name),+].join(", "))),
                }
            }
        }
    };
}

names!(Model { Serial = "serial", Striped = "striped", Pool = "pool" });
names!(Allocation { Extend = "extend", Size = "size", Preallocate = "preallocate" });
names!(Completion { Any = "any", Ordered = "ordered" });
names!(CachePolicy { Keep = "keep", DontCache = "drop", Direct = "direct" });

/// A strategy in full. Two runs that differ in nothing else give the same bytes.
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
#[derive(Debug, Clone, PartialEq)]
pub struct Strategy {
    /// The access method for reading.
    pub read: &'static Method,
    /// The access method for writing.
    pub write: &'static Method,
    /// The request size in bytes.
    pub request: usize,
    /// The requests that one worker keeps in flight.
    pub depth: usize,
    /// The workers.
    pub workers: usize,
    /// How they share the work.
    pub model: Model,
    /// The run of the file that a worker is given at a time, in bytes.
    pub stripe: u64,
    /// The size of a mapping's windows in bytes; `None`: the whole file.
    pub window: Option<usize>,
    /// How a new output gets its blocks.
    pub allocation: Allocation,
    /// What becomes of the page cache where bytes are read.
    pub read_cache: CachePolicy,
    /// What becomes of the page cache where bytes are written.
    pub write_cache: CachePolicy,
    /// In which order completions are handled.
    pub completion: Completion,
    /// The memory that buffers, windows and results that wait for their turn may take, in bytes.
    pub budget: u64,
}

impl Strategy {
    /// One worker that reads and writes 256 KiB at a time: right everywhere, and the best one worker can do on
    /// most machines (GNU coreutils measured the same size on eleven, `ioblksize.h`).
    ///
    /// ```
    /// let strategy = fullbore::strategy::Strategy::plain();
    /// assert_eq!((strategy.read.name, strategy.request, strategy.workers), ("buffered", 256 << 10, 1));
    /// ```
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

    /// The memory that its buffers and mapped windows take, in bytes. Files that are mapped whole are not
    /// counted: they take what they take.
    ///
    /// ```
    /// use fullbore::buf::Pool;
    /// use fullbore::strategy::Strategy;
    /// let buffer = Pool::capacity(256 << 10) as u64; // one where it reads, one where it writes
    /// assert_eq!(Strategy::plain().memory(), 2 * buffer);
    /// assert_eq!(Strategy { workers: 3, ..Strategy::plain() }.memory(), 6 * buffer);
    /// ```
    pub fn memory(&self) -> u64 {
        let way = |method: &Method| match (method.capabilities.mapped, self.window) {
            (true, Some(window)) => window.max(self.request),
            (true, None) => 0,
            (false, _) => {
                self.depth.min(method.capabilities.depth) * crate::buf::Pool::capacity(self.request)
            }
        };
        (self.workers * (way(self.read) + way(self.write))) as u64
    }
}

/// The method that works everywhere.
pub(crate) fn buffered() -> &'static Method {
    method("buffered").expect("buffered is registered")
}

impl fmt::Display for Strategy {
    /// As `--strategy` would take it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.read == self.write {
            write!(f, "method={}", self.read.name)?;
        } else {
            write!(f, "read={},write={}", self.read.name, self.write.name)?;
        }
        write!(
            f,
            ",request={},depth={},workers={},model={}",
            size::exact(self.request as u64),
            self.depth,
            self.workers,
            self.model
        )?;
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
