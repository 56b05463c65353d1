//! An interface and its capabilities; the file of a pass: its options, its buffers and the calls that open it.

use std::fs;
use std::path::PathBuf;

use fullbore::Result;
use fullbore::buf::{Buf, Pool};
use fullbore::error::{Error, ErrorKind};
use fullbore::file::{Access, CachePolicy, File, Hint, Mode, OpenOptions};
use serde::Deserialize;

use super::pass::{Pass, Payload};

/// An open file under an interface.
pub(super) trait Interface {
    /// Transfers every record of the pass whole; written bytes are passed to the system before it returns.
    fn pass(&mut self, pass: &Pass) -> Result<()>;

    /// Flushes written bytes to the device.
    fn flush(&mut self) -> Result<()>;
}

/// Opens a file, with buffers from a pool.
pub(super) type OpenInterface = fn(&OpenConfig, &mut Pool) -> Result<Box<dyn Interface>>;

pub(super) struct InterfaceEntry {
    pub(super) name: &'static str,
    pub(super) takes: &'static [OptionalSetting],
    pub(super) completions: &'static [Completion],
    pub(super) open: OpenInterface,
}

/// A setting that only some interfaces take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OptionalSetting {
    Buffer,
    Direct,
    Hints,
    /// `file = "new"`: it can create a file and state its future length.
    New,
    /// `allocation` other than `extend` and `size`.
    Preallocation,
    Vectors,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub(super) enum Completion {
    #[default]
    Each,
    /// Starts `depth` calls, then waits for all of them.
    Batch,
    /// Keeps `depth` calls in flight: when the oldest completes, another starts.
    Ordered,
    /// Keeps `depth` calls in flight: when any completes, another starts.
    Any,
    /// `depth` tasks of the runtime, each with one call at a time.
    Tasks,
    /// `depth` threads, each with one call at a time.
    Threads,
}

impl Completion {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Each => "one at a time",
            Self::Batch => "in batches",
            Self::Ordered => "oldest first",
            Self::Any => "as they come",
            Self::Tasks => "tasks",
            Self::Threads => "threads",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub(super) enum Allocation {
    /// The file grows as it is written.
    #[default]
    Extend,
    /// The length is set first (`ftruncate`); blocks are allocated as they are written.
    Size,
    /// Blocks are allocated first; the length grows as it is written (.NET's `PreallocationSize`).
    Reserve,
    /// Length and blocks are set first, as fallocate(1).
    Fallocate,
}

impl Allocation {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Extend => "extend",
            Self::Size => "size",
            Self::Reserve => "reserve",
            Self::Fallocate => "fallocate",
        }
    }
}

/// The file to open, and its options.
#[derive(Debug, Clone)]
pub(super) struct OpenConfig {
    pub(super) path: PathBuf,
    /// A new file, with its length in bytes and its allocation; `None`: an existing file.
    pub(super) new: Option<(u64, Allocation)>,
    /// Length of a record in bytes.
    pub(super) record: usize,
    /// Length of the interface's own buffer in bytes; `None`: its default.
    pub(super) buffer: Option<usize>,
    pub(super) direct: bool,
    pub(super) hint: Option<Hint>,
    pub(super) vectors: usize,
    pub(super) depth: usize,
    pub(super) completion: Completion,
    pub(super) bytes: Payload,
}

impl OpenConfig {
    pub(super) fn memory(&self) -> (usize, usize) {
        (self.depth * self.vectors, self.record / self.vectors)
    }

    /// Creates the buffers, primed.
    pub(super) fn pool(&self) -> Result<Pool> {
        let (count, each) = self.memory();
        let mut pool =
            Pool::new(count, each).map_err(|error| Error::io("create buffers for", &self.path, error))?;
        pool.prepare(|memory| self.bytes.prime(&mut memory[..each]));
        Ok(pool)
    }
}

pub(super) fn buffer(pool: &mut Pool) -> Result<Buf> {
    let none = || Error::new(ErrorKind::Invalid, "measure", "memory", "no buffer is left");
    pool.take().ok_or_else(none)
}

pub(super) fn standard(config: &OpenConfig) -> Result<fs::File> {
    let failed = |error| Error::io("open", &config.path, error);
    let mut options = fs::File::options();
    options.read(!config.bytes.writes()).write(config.bytes.writes());
    let Some((len, allocation)) = config.new else {
        return options.open(&config.path).map_err(failed);
    };
    let file = options.create_new(true).open(&config.path).map_err(failed)?;
    if allocation != Allocation::Extend {
        // The settings allow no other allocation here.
        file.set_len(len).map_err(failed)?;
    }
    Ok(file)
}

/// Opens the file as this library does. A rejected option is an error, because the cell would be mislabelled.
pub(super) fn handle(config: &OpenConfig) -> Result<File> {
    let mut options = OpenOptions::new();
    let access = if config.bytes.writes() { Access::Write } else { Access::Read };
    options.access(access);
    if config.direct {
        options.cache(CachePolicy::Direct).strict(true);
    }
    if let Some(hint) = config.hint {
        options.hint(hint).strict(true);
    }
    let Some((len, allocation)) = config.new else {
        return options.open(&config.path);
    };
    options.mode(Mode::CreateNew);
    if allocation == Allocation::Reserve {
        options.reserve(len).strict(true);
    }
    let file = options.open(&config.path)?;
    match allocation {
        Allocation::Extend | Allocation::Reserve => {}
        Allocation::Size => file.set_len(len)?,
        Allocation::Fallocate => file.allocate_and_extend(len)?,
    }
    Ok(file)
}
