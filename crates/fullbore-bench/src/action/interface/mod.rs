//! Reading and writing a file through the interfaces that programs use: std's, this library's, the run-times'.
//!
//! The engines are measured by the actions `read` and `write`; here it is what a programmer calls. One file a kind of
//! interface, one line in the registry.

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
use fullbore::error::{Error, Kind};
use fullbore::file::{Access, CachePolicy, File, Hint, Mode, OpenOptions};
use serde::Deserialize;

use self::pass::{Pass, Payload};
use super::{ParsedWorkload, Settings};

pub(super) fn parse(given: Settings) -> ParsedWorkload {
    workload::parse(given)
}

/// An open file under an interface.
trait Interface {
    /// Moves every record of the pass; what was written is handed to the system when it returns.
    ///
    /// # Errors
    /// The system's; a record that is not there whole is one.
    fn pass(&mut self, pass: &Pass) -> Result<()>;

    /// Brings what was written to the device.
    ///
    /// # Errors
    /// The system's.
    fn flush(&mut self) -> Result<()>;
}

/// An interface that experiments may name.
struct InterfaceEntry {
    /// Its name in a grid.
    name: &'static str,
    /// The settings it takes beside those that all take.
    takes: &'static [OptionalSetting],
    /// How it can wait for several calls at once.
    completions: &'static [Completion],
    /// Opens a file, with the buffers of a pool.
    open: fn(&OpenConfig, &mut Pool) -> Result<Box<dyn Interface>>,
}

use Completion::{Any, Batch, Each, Ordered, Tasks, Threads};
use OptionalSetting::{Buffer, Direct, Hints, New, Preallocation, Vectors};

/// Every interface.
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

/// A setting that not every interface takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OptionalSetting {
    /// `buffer`: it has one of its own.
    Buffer,
    /// `direct`: it can pass the page cache by.
    Direct,
    /// `hint`: it can tell the system what is to come.
    Hints,
    /// `file = "new"`: it can make a file, and say how long it will be.
    New,
    /// `allocation` other than `extend` and `size`.
    Preallocation,
    /// `vectors`: several buffers a call.
    Vectors,
}

/// How several calls at once are waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum Completion {
    /// There is one at a time.
    #[default]
    Each,
    /// So many are started, then all of them are waited for.
    Batch,
    /// Always so many: when the oldest ends, another is started.
    Ordered,
    /// Always so many: whichever ends is followed by another.
    Any,
    /// So many tasks of the run-time, each with one call at a time.
    Tasks,
    /// So many threads, each with one call at a time.
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

/// How the blocks of a new file come to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum Allocation {
    /// As it is written: it grows.
    #[default]
    Extend,
    /// Its length at first (`ftruncate`), its blocks as they are written.
    Size,
    /// Its blocks at first, its length as it is written (.NET's `PreallocationSize`).
    Reserve,
    /// Length and blocks at first (`fallocate`).
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

/// What is opened, and how.
#[derive(Debug, Clone)]
struct OpenConfig {
    path: PathBuf,
    /// A new file, with room for so many bytes and how it gets it; `None`: one that is there.
    new: Option<(u64, Allocation)>,
    /// Bytes of a record.
    record: usize,
    /// Bytes of the interface's own buffer; `None`: its default.
    buffer: Option<usize>,
    /// Whether the page cache is passed by.
    direct: bool,
    /// What the system is told; `None`: nothing.
    hint: Option<Hint>,
    /// Buffers a call.
    vectors: usize,
    /// Calls at once.
    depth: usize,
    completion: Completion,
    bytes: Payload,
}

impl OpenConfig {
    /// How many buffers it takes, and of how many bytes each.
    fn memory(&self) -> (usize, usize) {
        (self.depth * self.vectors, self.record / self.vectors)
    }

    /// The buffers, primed.
    fn pool(&self) -> Result<Pool> {
        let (count, each) = self.memory();
        let mut pool =
            Pool::new(count, each).map_err(|error| Error::io("take buffers for", &self.path, error))?;
        pool.prepare(|memory| self.bytes.prime(&mut memory[..each]));
        Ok(pool)
    }
}

/// A buffer of the pool.
fn buffer(pool: &mut Pool) -> Result<Buf> {
    let none = || Error::new(Kind::Invalid, "measure", "memory", "no buffer is left");
    pool.take().ok_or_else(none)
}

/// The file as std opens it.
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
        // The settings ask it for no other.
        file.set_len(len).map_err(failed)?;
    }
    Ok(file)
}

/// The file as this library opens it. An option that is refused is an error: the cell would be mislabelled.
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

/// Why a peer is not measured.
#[cfg(not(feature = "peers"))]
fn unavailable(config: &OpenConfig, _pool: &mut Pool) -> Result<Box<dyn Interface>> {
    let what = "this program was built without its peers";
    Err(Error::new(Kind::Unsupported, "measure", &config.path, what).advise("build it with --features peers"))
}
