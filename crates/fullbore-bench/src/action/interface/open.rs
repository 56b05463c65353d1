//! An interface and its capabilities; the file of a pass: its options, buffers and the calls that open it; the records of the
//! pass in their order, and the source or use of their bytes.

use std::io::SeekFrom;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fmt, fs};

use fullbore::Result;
use fullbore::buf::{Buf, Pool};
use fullbore::error::{Error, ErrorKind};
use fullbore::file::{Access, CachePolicy, File, Hint, Mode, OpenOptions};
use fullbore::operation::Generate;
use fullbore::operation::generate::Stamped;
use fullbore::pattern::Order;
use serde::{Deserialize, Serialize};

/// An open file under an interface.
pub(super) trait Interface {
    /// Transfers every record of the pass whole; written bytes are passed to the system before it returns.
    fn pass(&mut self, pass: &Pass) -> Result<()>;

    /// Flushes written bytes to the device.
    fn flush(&mut self) -> Result<()>;
}

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
    HugePages,
    /// `memory_offset`: records at a distance from a page boundary.
    MemoryOffset,
    /// `file = "new"`: the interface can create a file and state its future length.
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, Default)]
#[serde(rename_all = "lowercase")]
pub(super) enum Allocation {
    #[default]
    Extend,
    /// The length is set first (`ftruncate`); blocks are allocated as they are written.
    Size,
    /// Blocks are allocated first; the length grows as it is written (.NET's `PreallocationSize`).
    Reserve,
    /// Length and blocks are set first, as fallocate(1).
    Fallocate,
}

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
    pub(super) huge_pages: bool,
    /// Distance of a record's memory from a page boundary, in bytes.
    pub(super) memory_offset: u64,
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

    pub(super) fn pool(&self) -> Result<Pool> {
        let (count, each) = self.memory();
        let mut pool = Pool::allocate(count, each, self.huge_pages)
            .map_err(|error| Error::io("create buffers for", &self.path, error))?;
        pool.prepare(|memory| self.bytes.prime(&mut memory[..each]));
        Ok(pool)
    }
}

pub(super) fn buffer(pool: &mut Pool) -> Result<Buf> {
    let none = || Error::new(ErrorKind::Invalid, "measure", "", "no buffer is left").without_path();
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

/// Written data is stamped in units of this length, in bytes.
const BLOCK: usize = 4096;

#[derive(Debug, Clone)]
pub(super) struct Pass {
    range: Range<u64>,
    /// Length of a record in bytes; the last of the range may be shorter.
    record: usize,
    order: RecordOrder,
    /// Length of the file in bytes.
    file: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordOrder {
    Forward,
    /// From end to start; each offset is relative to the end of the file.
    Backward,
    /// Each record at most once, in the order of [`Order::Random`].
    Random {
        seed: u64,
        count: u64,
    },
}

impl Pass {
    pub(super) fn new(range: Range<u64>, record: usize, order: RecordOrder, file: u64) -> Self {
        Self { range, record, order, file }
    }

    pub(super) fn count(&self) -> u64 {
        match self.order {
            RecordOrder::Forward | RecordOrder::Backward => self.blocks(),
            RecordOrder::Random { count, .. } => count.min(self.blocks()),
        }
    }

    pub(super) fn record(&self, index: u64) -> (u64, usize) {
        let block = match self.order {
            RecordOrder::Forward => index,
            RecordOrder::Backward => self.blocks() - 1 - index,
            RecordOrder::Random { seed, count } => Order::Random { seed, count }.block(index, self.blocks()),
        };
        let offset = self.range.start + block * self.record as u64;
        (offset, (self.range.end - offset).min(self.record as u64) as usize)
    }

    pub(super) fn records(&self) -> impl Iterator<Item = (u64, usize)> + '_ {
        (0..self.count()).map(|index| self.record(index))
    }

    /// The records that no other caller takes by the same counter, the index of the next.
    pub(super) fn untaken(&self, next: &AtomicU64) -> impl Iterator<Item = (u64, usize)> {
        let indices = std::iter::repeat_with(move || next.fetch_add(1, Ordering::Relaxed));
        indices.take_while(move |&index| index < self.count()).map(move |index| self.record(index))
    }

    pub(super) fn bytes(&self) -> u64 {
        let len = self.range.end - self.range.start;
        match self.order {
            RecordOrder::Forward | RecordOrder::Backward => len,
            RecordOrder::Random { .. } if len.is_multiple_of(self.record as u64) => {
                self.count() * self.record as u64
            }
            // The last record, which is shorter, may be among them.
            RecordOrder::Random { .. } => self.records().map(|(_, len)| len as u64).sum(),
        }
    }

    pub(super) fn seek(&self, offset: u64) -> SeekFrom {
        match self.order {
            RecordOrder::Backward => SeekFrom::End(-((self.file - offset) as i64)),
            RecordOrder::Forward | RecordOrder::Random { .. } => SeekFrom::Start(offset),
        }
    }

    fn blocks(&self) -> u64 {
        (self.range.end - self.range.start).div_ceil(self.record as u64)
    }
}

/// Callback for read data: offset and bytes of a record or a part of it.
pub(super) type Observer = Arc<dyn Fn(u64, &[u8]) + Send + Sync>;

#[derive(Clone)]
pub(super) enum Payload {
    /// Data that is read and discarded, or passed to an observer.
    Read(Option<Observer>),
    Write {
        data: Arc<Stamped>,
        /// True if all records are whole blocks; two of those differ only in their stamps.
        blocks: bool,
    },
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.writes() { "Write" } else { "Read" })
    }
}

impl Payload {
    /// Creates a payload of `data` for calls of `each` bytes.
    pub(super) fn written(data: Stamped, each: usize) -> Self {
        Self::Write { data: Arc::new(data), blocks: each.is_multiple_of(BLOCK) }
    }

    pub(super) fn writes(&self) -> bool {
        matches!(self, Self::Write { .. })
    }

    #[inline]
    pub(super) fn observe(&self, offset: u64, data: &[u8]) {
        match self {
            Self::Read(Some(observer)) => observer(offset, data),
            _ => {
                std::hint::black_box(data.as_ptr());
            }
        }
    }

    /// Generates the data for `offset` in a buffer that was [primed](Self::prime) and not changed otherwise since.
    #[inline]
    pub(super) fn make(&self, offset: u64, data: &mut [u8]) {
        let Self::Write { data: stamped, blocks } = self else { return };
        if *blocks && data.len().is_multiple_of(BLOCK) && offset.is_multiple_of(BLOCK as u64) {
            stamped.renew(offset, data);
        } else {
            stamped.fill(offset, data);
        }
    }

    /// Fills a buffer with the bytes that all records have in common.
    pub(super) fn prime(&self, data: &mut [u8]) {
        if let Self::Write { data: stamped, .. } = self {
            stamped.fill(0, data);
        }
    }
}
