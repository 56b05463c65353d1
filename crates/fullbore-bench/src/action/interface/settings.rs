//! The registry of interfaces, their settings, and the validation of these. A new interface is a file in this folder and a
//! line here.

use fullbore::buf::ALIGNMENT;
use fullbore::file::Hint;
use fullbore::size;
use serde::Deserialize;

use super::blocking::MOST_VECTORS;
use super::open::Completion::{Any, Batch, Each, Ordered, Tasks, Threads};
use super::open::OptionalSetting::{
    Buffer, Direct, Hints, HugePages, MemoryOffset, New, Preallocation, Vectors,
};
use super::open::{Allocation, Completion, InterfaceEntry, OpenInterface, OptionalSetting};
use super::{blocking, in_flight};
use crate::action::one_way::Direction;
use crate::action::settings::{Bytes, RequestOrder, refuse};
use crate::document::CacheState;

#[cfg(feature = "peers")]
const PEERS: [OpenInterface; 2] = [super::tokio::open, super::compio::open];
#[cfg(not(feature = "peers"))]
const PEERS: [OpenInterface; 2] = [unavailable; 2];

pub(super) const INTERFACES: &[InterfaceEntry] = &[
    entry("std", &[MemoryOffset, New], &[Each], blocking::open_std),
    entry("std-buffered", &[Buffer, New], &[Each], blocking::open_std_buffered),
    entry("std-positional", &[MemoryOffset, New], &[Each, Threads], blocking::open_std_positional),
    entry(
        "file",
        &[Direct, Hints, HugePages, MemoryOffset, New, Preallocation, Vectors],
        &[Each, Threads],
        blocking::open_file,
    ),
    entry("stream", &[Buffer, Hints, New, Preallocation], &[Each], blocking::open_stream),
    entry(
        "asynchronous",
        &[Direct, Hints, HugePages, Vectors],
        &[Each, Batch, Ordered, Any],
        in_flight::open,
    ),
    entry("tokio", &[], &[Each, Tasks], PEERS[0]),
    entry("compio", &[Direct], &[Each, Batch, Ordered, Any, Tasks], PEERS[1]),
];

const fn entry(
    name: &'static str,
    takes: &'static [OptionalSetting],
    completions: &'static [Completion],
    open: OpenInterface,
) -> InterfaceEntry {
    InterfaceEntry { name, takes, completions, open }
}

/// Returns the error for a peer that this program does not contain.
#[cfg(not(feature = "peers"))]
fn unavailable(
    config: &super::open::OpenConfig,
    _pool: &mut fullbore::buf::Pool,
) -> fullbore::Result<Box<dyn super::open::Interface>> {
    use fullbore::error::{Error, ErrorKind};
    let what = "this program was built without its peers";
    Err(Error::new(ErrorKind::Unsupported, "measure", &config.path, what)
        .advise("build fullbore with --features peers"))
}

/// Maximum length of a record and of a buffer, in bytes.
const LARGEST: u64 = 64 << 20;

/// Maximum memory of the records in flight, in bytes.
const MOST_MEMORY: u64 = 1 << 30;

/// Maximum number of concurrent calls.
const DEEPEST: usize = 256;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InterfaceSpec {
    pub(super) interface: String,
    pub(super) direction: Direction,
    pub(super) record: Bytes,
    #[serde(default)]
    pub(super) order: RequestOrder,
    pub(super) cache: Option<CacheState>,
    #[serde(default)]
    pub(super) direct: bool,
    /// True if the records are on huge pages.
    #[serde(default)]
    pub(super) huge_pages: bool,
    /// Distance of a record's memory from a page boundary, in bytes.
    pub(super) memory_offset: Option<u64>,
    pub(super) flush: Option<bool>,
    /// Length of the interface's own buffer; `None`: its default.
    pub(super) buffer: Option<Bytes>,
    pub(super) hint: Option<AccessHint>,
    pub(super) vectors: Option<usize>,
    pub(super) depth: Option<usize>,
    #[serde(default)]
    pub(super) completion: Completion,
    #[serde(default)]
    pub(super) file: InterfaceFileState,
    pub(super) allocation: Option<Allocation>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub(super) enum InterfaceFileState {
    #[default]
    Overwritten,
    /// No file: creating, allocating and closing it are part of the measured time.
    New,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum AccessHint {
    /// No hint; the label states so.
    None,
    Sequential,
    Random,
    NoReuse,
}

impl AccessHint {
    /// Returns the hint to the system, and its words in labels.
    pub(super) fn hint(self) -> (Option<Hint>, &'static str) {
        match self {
            Self::None => (None, "no hint"),
            Self::Sequential => (Some(Hint::Sequential), "hint sequential"),
            Self::Random => (Some(Hint::Random), "hint random"),
            Self::NoReuse => (Some(Hint::NoReuse), "hint no reuse"),
        }
    }
}

impl InterfaceSpec {
    /// Returns the interface, if it supports the settings.
    pub(super) fn validate(&self) -> Result<&'static InterfaceEntry, String> {
        let record = self.record.0;
        if !(1..=LARGEST).contains(&record) {
            return Err(format!("record: expected 1 byte to {}, found {record}", size::exact(LARGEST)));
        }
        if self.buffer.is_some_and(|buffer| buffer.0 > LARGEST) {
            return Err(format!("buffer: at most {}", size::exact(LARGEST)));
        }
        let Some(entry) = INTERFACES.iter().find(|known| known.name == self.interface) else {
            let known: Vec<&str> = INTERFACES.iter().map(|known| known.name).collect();
            return Err(format!(
                "interface: expected one of {}, found {:?}",
                known.join(", "),
                self.interface
            ));
        };
        self.check_supported(entry)?;
        self.check_values(record)?;
        Ok(entry)
    }

    /// Rejects settings that the interface would ignore.
    fn check_supported(&self, entry: &InterfaceEntry) -> Result<(), String> {
        let set = [
            (self.buffer.is_some(), OptionalSetting::Buffer, "buffer"),
            (self.direct, OptionalSetting::Direct, "direct"),
            (self.hint.is_some(), OptionalSetting::Hints, "hint"),
            (self.huge_pages, OptionalSetting::HugePages, "huge_pages"),
            (self.memory_offset.is_some(), OptionalSetting::MemoryOffset, "memory_offset"),
            (self.vectors.is_some(), OptionalSetting::Vectors, "vectors"),
            (self.file == InterfaceFileState::New, OptionalSetting::New, "file = \"new\""),
            (
                matches!(self.allocation, Some(Allocation::Reserve | Allocation::Fallocate)),
                OptionalSetting::Preallocation,
                "preallocation",
            ),
        ];
        for (set, extra, name) in set {
            if set && !entry.takes.contains(&extra) {
                let who: Vec<&str> = INTERFACES
                    .iter()
                    .filter(|known| known.takes.contains(&extra))
                    .map(|known| known.name)
                    .collect();
                return Err(format!("{name} is for {}, not for {}", who.join(", "), entry.name));
            }
        }
        if !entry.completions.contains(&self.completion) {
            let known: Vec<&str> = entry.completions.iter().map(|known| known.words()).collect();
            return Err(format!(
                "completion: {} supports {}, not {}",
                entry.name,
                known.join(", "),
                self.completion.words()
            ));
        }
        Ok(())
    }

    fn check_values(&self, record: u64) -> Result<(), String> {
        let writes = self.direction.writes();
        let new = self.file == InterfaceFileState::New;
        let vectors = self.vectors.unwrap_or(1);
        if !(1..=MOST_VECTORS).contains(&vectors) {
            return Err(format!("vectors: must be from 1 to {MOST_VECTORS}"));
        }
        let threads = self.completion == Completion::Threads;
        refuse([
            (!writes && (new || self.flush.is_some()), "file and flush are for writes"),
            (
                self.allocation.is_some() != new,
                "allocation is for new files: set it if file = \"new\", and only then",
            ),
            (
                new && self.order != RequestOrder::Sequential,
                "a new file is written sequentially: leave out order",
            ),
            (new && self.cache.is_some(), "a new file is not cached: leave out cache"),
            (self.direct && self.cache.is_some(), "direct bypasses the page cache: leave cache out"),
            (!record.is_multiple_of(vectors as u64), "vectors does not divide record"),
            (
                self.memory_offset.is_some_and(|offset| writes || vectors > 1 || offset >= ALIGNMENT as u64),
                "memory_offset: must be less than 4096; it is only for reads into one buffer",
            ),
            (vectors > 1 && threads, "several vectors need one thread: leave out completion = \"threads\""),
        ])?;
        let depth = self.depth.unwrap_or(1);
        if record.saturating_mul(depth as u64) > MOST_MEMORY {
            let (each, most) = (size::exact(record), size::exact(MOST_MEMORY));
            return Err(format!("depth: {depth} records of {each} exceed {most}"));
        }
        let wrong = |what: &str| Err(what.to_owned());
        match (self.completion, self.depth) {
            (Completion::Each, None | Some(1)) => Ok(()),
            (Completion::Each, Some(_)) => wrong("a depth above 1 needs completion"),
            (_, Some(depth)) if (1..=DEEPEST).contains(&depth) => Ok(()),
            (_, Some(_)) => Err(format!("depth: must be from 1 to {DEEPEST}")),
            (_, None) => wrong("completion is for concurrent calls: set depth"),
        }
    }

    pub(super) fn variant(&self) -> Option<String> {
        let buffer = self.buffer.map(|buffer| match buffer.0 {
            0 => "no buffer".to_owned(),
            bytes => format!("buffer {}", crate::units::size(bytes)),
        });
        let vectors = self.vectors.map(|count| crate::units::count(count, "buffer") + " a call");
        let hint = self.hint.map(|hint| hint.hint().1.to_owned());
        let completion = (self.completion != Completion::Each).then(|| self.completion.words().to_owned());
        let pages = self.huge_pages.then(|| "huge pages".to_owned());
        let memory = self.memory_offset.map(|offset| match offset {
            0 => "page-aligned memory".to_owned(),
            bytes => format!("memory {bytes} bytes after a page boundary"),
        });
        let words = [buffer, vectors, hint, pages, memory, completion];
        let words: Vec<String> = words.into_iter().flatten().collect();
        (!words.is_empty()).then(|| words.join(", "))
    }
}
