//! Reads and writes a file through the interfaces of std, of this library and of asynchronous runtimes.
//!
//! The actions `read` and `write` measure engines; this action measures the calls of a programmer. Each kind of
//! interface has one file, and one line in the registry.

mod asynchronous;
#[cfg(feature = "peers")]
mod compio;
mod cursor;
mod in_flight;
mod pass;
mod positional;
mod settings;
#[cfg(test)]
mod tests;
#[cfg(feature = "peers")]
mod tokio;
mod vectored;
mod workload;

use std::fs;
use std::path::PathBuf;

use fullbore::Result;
use fullbore::buf::{Buf, Pool};
use fullbore::error::{Error, ErrorKind};
use fullbore::file::{Access, CachePolicy, File, Hint, Mode, OpenOptions};
use serde::Deserialize;

use self::pass::{Pass, Payload};
use super::{ParsedWorkload, Settings};

pub(super) fn parse(given: Settings) -> ParsedWorkload {
    workload::parse(given)
}

/// An open file under an interface.
trait Interface {
    /// Transfers every record of the pass; written bytes are passed to the system before it returns.
    ///
    /// # Errors
    /// The system's. A record that cannot be read whole is an error.
    fn pass(&mut self, pass: &Pass) -> Result<()>;

    /// Flushes written bytes to the device.
    ///
    /// # Errors
    /// The system's.
    fn flush(&mut self) -> Result<()>;
}

/// An interface that experiments may name.
struct InterfaceEntry {
    /// Name in a grid.
    name: &'static str,
    /// Settings that it takes besides the common ones.
    takes: &'static [OptionalSetting],
    /// Supported ways to wait for concurrent calls.
    completions: &'static [Completion],
    /// Opens a file, with buffers from a pool.
    open: fn(&OpenConfig, &mut Pool) -> Result<Box<dyn Interface>>,
}

use Completion::{Any, Batch, Each, Ordered, Tasks, Threads};
use OptionalSetting::{Buffer, Direct, Hints, New, Preallocation, Vectors};

/// All interfaces.
const INTERFACES: &[InterfaceEntry] = &[
    InterfaceEntry { name: "std", takes: &[New], completions: &[Each], open: cursor::open_std },
    InterfaceEntry {
        name: "std-buffered",
        takes: &[Buffer, New],
        completions: &[Each],
        open: cursor::open_std_buffered,
    },
    InterfaceEntry {
        name: "std-positional",
        takes: &[New],
        completions: &[Each, Threads],
        open: positional::open_std,
    },
    InterfaceEntry {
        name: "file",
        takes: &[Direct, Hints, New, Preallocation, Vectors],
        completions: &[Each, Threads],
        open: positional::open_file,
    },
    InterfaceEntry {
        name: "stream",
        takes: &[Buffer, Hints, New, Preallocation],
        completions: &[Each],
        open: cursor::open_stream,
    },
    InterfaceEntry {
        name: "asynchronous",
        takes: &[Direct, Hints, Vectors],
        completions: &[Each, Batch, Ordered, Any],
        open: asynchronous::open,
    },
    InterfaceEntry {
        name: "tokio",
        takes: &[],
        completions: &[Each, Tasks],
        #[cfg(feature = "peers")]
        open: tokio::open,
        #[cfg(not(feature = "peers"))]
        open: unavailable,
    },
    InterfaceEntry {
        name: "compio",
        takes: &[Direct],
        completions: &[Each, Batch, Ordered, Any, Tasks],
        #[cfg(feature = "peers")]
        open: compio::open,
        #[cfg(not(feature = "peers"))]
        open: unavailable,
    },
];

/// A setting that only some interfaces take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OptionalSetting {
    /// `buffer`: the interface has a buffer of its own.
    Buffer,
    /// `direct`: it can bypass the page cache.
    Direct,
    /// `hint`: it can pass hints to the system.
    Hints,
    /// `file = "new"`: it can create a file and state its future length.
    New,
    /// `allocation` other than `extend` and `size`.
    Preallocation,
    /// `vectors`: several buffers per call.
    Vectors,
}

/// The way to wait for concurrent calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum Completion {
    /// One call at a time.
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
    fn words(self) -> &'static str {
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

/// The way in which a new file gets its blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum Allocation {
    /// The file grows as it is written.
    #[default]
    Extend,
    /// The length is set first (`ftruncate`); blocks are allocated as they are written.
    Size,
    /// Blocks are allocated first; the length grows as it is written (.NET's `PreallocationSize`).
    Reserve,
    /// Length and blocks are set first (`fallocate`).
    Preallocate,
}

impl Allocation {
    fn word(self) -> &'static str {
        match self {
            Self::Extend => "extend",
            Self::Size => "size",
            Self::Reserve => "reserve",
            Self::Preallocate => "preallocate",
        }
    }
}

/// The file to open, and its options.
#[derive(Debug, Clone)]
struct OpenConfig {
    path: PathBuf,
    /// A new file, with its length in bytes and its allocation; `None`: an existing file.
    new: Option<(u64, Allocation)>,
    /// Length of a record in bytes.
    record: usize,
    /// Length of the interface's own buffer in bytes; `None`: its default.
    buffer: Option<usize>,
    /// True if the page cache is bypassed.
    direct: bool,
    /// Hint for the system; `None`: none.
    hint: Option<Hint>,
    /// Buffers per call.
    vectors: usize,
    /// Concurrent calls.
    depth: usize,
    completion: Completion,
    bytes: Payload,
}

impl OpenConfig {
    /// Returns the number of buffers and the length of each in bytes.
    fn memory(&self) -> (usize, usize) {
        (self.depth * self.vectors, self.record / self.vectors)
    }

    /// Creates the buffers, primed.
    fn pool(&self) -> Result<Pool> {
        let (count, each) = self.memory();
        let mut pool =
            Pool::new(count, each).map_err(|error| Error::io("create buffers for", &self.path, error))?;
        pool.prepare(|memory| self.bytes.prime(&mut memory[..each]));
        Ok(pool)
    }
}

/// Takes a buffer from the pool.
fn buffer(pool: &mut Pool) -> Result<Buf> {
    let none = || Error::new(ErrorKind::Invalid, "measure", "memory", "no buffer is left");
    pool.take().ok_or_else(none)
}

/// Opens the file as std does.
fn standard(config: &OpenConfig) -> Result<fs::File> {
    let failed = |error| Error::io("open", &config.path, error);
    let mut options = fs::File::options();
    match config.bytes.writes() {
        true => options.write(true),
        false => options.read(true),
    };
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
fn handle(config: &OpenConfig) -> Result<File> {
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
        Allocation::Preallocate => file.allocate_and_extend(len)?,
    }
    Ok(file)
}

/// Returns the error for a peer that this program does not contain.
#[cfg(not(feature = "peers"))]
fn unavailable(config: &OpenConfig, _pool: &mut Pool) -> Result<Box<dyn Interface>> {
    let what = "this program was built without its peers";
    Err(Error::new(ErrorKind::Unsupported, "measure", &config.path, what)
        .advise("build fullbore with --features peers"))
}
