//! Reasons for and against strategies, as data that can be printed.

use std::fmt;

use serde::{Serialize, Serializer};

use super::job::ProfileJob;
use crate::operation::Split;
use fullbore_io::engine::deep_method;
use fullbore_io::file::Output;
use fullbore_io::{size, sys};

/// A kind of file system on which the blocks of a new file are not allocated before they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unallocated {
    /// It keeps its files in memory.
    InMemory,
    /// It may compress files.
    Compressed,
}

impl Unallocated {
    pub(super) fn of(output: &Output) -> Option<Self> {
        let kind = sys::file_system_kind(output.file()).ok()?;
        match (kind.is_in_memory(), kind.compresses()) {
            (true, _) => Some(Self::InMemory),
            (_, true) => Some(Self::Compressed),
            _ => None,
        }
    }
}

/// One reason for a decision.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Evidence {
    /// Buffered reads; the share of the input in the page cache, if known.
    Buffered {
        share: Option<f64>,
    },
    /// Mapped parts of `window` bytes; the share of the input in the page cache.
    Mapped {
        window: u64,
        share: f64,
    },
    /// Direct reads, `depth` requests of `request` bytes in flight.
    DeepReads {
        depth: usize,
        request: u64,
    },
    /// The request size of cached input.
    Request {
        len: u64,
        new_file: bool,
    },
    Workers {
        workers: usize,
        processors: usize,
    },
    /// Workers that take turns at reading an input without a length.
    Turns {
        workers: usize,
    },
    /// Fewer workers than processors permit, because of the memory budget, in bytes.
    Memory {
        workers: usize,
        budget: u64,
    },
    /// One worker, although more are available.
    Serial(Serial),
    /// The input is read sequentially to its end.
    NoLength,
    Small {
        len: u64,
    },
    Rotational,
    /// The kind of the target's file system.
    Unallocated(Unallocated),
    Fallocate,
    /// A rate of the profile, in bytes per second with its 95% interval.
    Measured {
        best: bool,
        date: String,
        job: ProfileJob,
        rate: f64,
        low: f64,
        high: f64,
    },
    NotClearlyFaster {
        other: String,
    },
    /// The contender that was fastest in earlier runs: the number of its trials, and its average rate in bytes per second.
    Learned {
        count: u32,
        rate: f64,
    },
    /// A contender that is tried on this file, or was the fastest on others of the run.
    Trial,
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Buffered { share: Some(share) } => {
                write!(f, "buffered: {:.0}% of the input is in the page cache", share * 100.0)
            }
            Self::Buffered { share: None } => {
                f.write_str("buffered: the share of the input in the page cache is unknown")
            }
            Self::Mapped { window, share } => {
                let (window, share) = (size::exact(*window), share * 100.0);
                write!(
                    f,
                    "mmap, {window} at a time: {share:.0}% of the input is in the page cache, and is used there"
                )
            }
            Self::DeepReads { depth, request } => {
                let (method, request) = (deep_method().name, size::exact(*request));
                write!(f, "{method}, direct, depth {depth}, {request}: the bytes come from the device")
            }
            Self::Request { len, new_file } => {
                let why = if *new_file { "large folios in the new file" } else { "calls to cost little" };
                let len = size::exact(*len);
                write!(f, "{len}: large enough for {why}, small enough for the processor's cache")
            }
            Self::Workers { workers: 1, processors: 1 } => f.write_str("1 worker: there is one processor"),
            Self::Workers { workers, processors } if workers == processors => {
                write!(f, "{workers} workers: one per processor ({processors})")
            }
            Self::Workers { workers, processors } => {
                write!(f, "{workers} workers: more gain nothing on one file ({processors} processors)")
            }
            Self::Turns { workers } => {
                write!(f, "{workers} workers: one reads while another processes the previous bytes")
            }
            Self::Memory { workers, budget } => {
                write!(f, "{workers} workers: more would exceed {} of memory", size::exact(*budget))
            }
            Self::Serial(serial) => write!(f, "1 worker: {serial}"),
            Self::NoLength => f.write_str("the input is read sequentially: its length is unknown"),
            Self::Small { len } => {
                write!(f, "1 worker: processing {} takes less time than starting a thread", size::human(*len))
            }
            Self::Rotational => f.write_str("1 worker, sequential: rotational media, where seeks cost most"),
            Self::Unallocated(kind) => f.write_str(match kind {
                Unallocated::InMemory => {
                    "alloc=size: the file system keeps its files in memory, and fallocate would fill it twice"
                }
                Unallocated::Compressed => {
                    "alloc=size: the file system may compress files, but not blocks allocated by fallocate"
                }
            }),
            Self::Fallocate => {
                f.write_str("alloc=fallocate: writers of an extending file wait for one another")
            }
            Self::Measured { best, date, job, rate, low, high } => {
                let fastest = if *best { "fastest " } else { "" };
                let has_interval = low < high;
                let [rate, low, high] = [rate, low, high].map(|rate| size::rate(*rate));
                write!(f, "{fastest}measured here on {date} for {job}: {rate} ")?;
                match has_interval {
                    true => write!(f, "(95% interval {low} to {high})"),
                    false => f.write_str("(no interval)"),
                }
            }
            Self::Learned { count, rate } => {
                let trials = if *count == 1 { "trial" } else { "trials" };
                write!(f, "learned: the fastest in {count} {trials}, at {}", size::rate(*rate))
            }
            Self::Trial => f.write_str("tried on this file, or the fastest on earlier files of this run"),
            Self::NotClearlyFaster { other } => write!(f, "{other} was not clearly faster"),
        }
    }
}

/// The reason that a strategy was not chosen.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Reason {
    NeedsLength,
    Seeks,
    PageFaults,
    /// The method copies bytes that a mapping shows in place.
    CopiesBytes,
    ReadsFromDevice,
    NothingToWaitFor,
    ShallowReadAhead,
    MovesEnd,
    Unsupported(String),
    /// A rate of the profile in bytes per second, and its ratio to the best.
    Measured {
        rate: f64,
        share: f64,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NeedsLength => "need a file of known length",
            Self::Seeks => "would make the disk seek",
            Self::PageFaults => "a page fault every few pages costs more than copying them",
            Self::CopiesBytes => {
                "copying the bytes costs more than mapping them on most machines, up to half more"
            }
            Self::ReadsFromDevice => "would read from the device what memory holds",
            Self::NothingToWaitFor => "gains nothing in the page cache, where requests do not wait",
            Self::ShallowReadAhead => "reads ahead less deeply than the device can serve",
            Self::MovesEnd => "allocates and moves the end of the file at every write",
            Self::Unsupported(reason) => reason,
            Self::Measured { rate, share } => {
                return write!(f, "measured {}, {share:.2} of the best", size::rate(*rate));
            }
        })
    }
}

/// A strategy that was not chosen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Alternative {
    /// The strategy, as `--strategy` names it.
    pub strategy: String,
    /// The reason against it.
    pub reason: Reason,
}

/// The reason for one worker where more are available.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Serial {
    /// The operation cannot be split.
    EachStepNeedsTheLast,
    /// The other workers process other files.
    OthersAreBusy,
}

impl Serial {
    /// The reason that an operation itself gives.
    pub(crate) fn of(split: Split) -> Option<Self> {
        (split == Split::Sequential).then_some(Self::EachStepNeedsTheLast)
    }
}

impl fmt::Display for Serial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EachStepNeedsTheLast => "each step needs the one before",
            Self::OthersAreBusy => "the others process other files",
        })
    }
}

impl Serialize for Evidence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
