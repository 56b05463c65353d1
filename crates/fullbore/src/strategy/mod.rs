//! How the bytes move: all that decides speed, and none of what decides the result.
#![forbid(unsafe_code)]

mod choose;
mod named;
mod plan;
mod profile;
mod wish;

use std::fmt;
use std::str::FromStr;

pub use choose::{Alternative, Decision, Situation, Target, choose};
pub use named::{NAMED, Named};
pub use plan::{Plan, plan};
pub use profile::{Entry, Job, Profile, ProfileError, Temperature, key};
pub use wish::{ParseWishError, Wish};

use crate::engine::{Cache, Method, method};
use crate::size;

/// The memory that the buffers of a run may take, in bytes, unless told otherwise.
pub const BUDGET: u64 = 64 << 20;

/// How the work is shared out.
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
names!(Cache { Keep = "keep", Drop = "drop", Direct = "direct" });

/// A strategy in full. Two runs that differ in nothing else give the same bytes.
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
    /// What becomes of the page cache.
    pub cache: Cache,
    /// In which order completions are handled.
    pub completion: Completion,
}

impl Strategy {
    /// One worker that reads and writes 256 KiB at a time: right everywhere, and the best one worker can do on
    /// most machines (GNU coreutils measured the same size on eleven, `ioblksize.h`).
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
            cache: Cache::Keep,
            completion: Completion::Any,
        }
    }

    /// The memory that its buffers and mapped windows take, in bytes. Files that are mapped whole are not
    /// counted: they take what they take.
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
        write!(f, ",alloc={},cache={}", self.allocation, self.cache)?;
        if self.completion == Completion::Ordered {
            write!(f, ",completion=ordered")?;
        }
        Ok(())
    }
}
