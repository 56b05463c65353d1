//! What a grid may say of an interface, and what of it makes sense.

use fullbore::file::Hint;
use fullbore::size;
use serde::Deserialize;

use super::{Allocation, Completion, INTERFACES, InterfaceEntry, OptionalSetting, vectored};
use crate::action::one_way::Direction;
use crate::document::CacheState;

/// The largest record, in bytes.
const LARGEST: u64 = 64 << 20;

/// The most calls at once.
const DEEPEST: usize = 256;

/// What a grid may say.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InterfaceSpec {
    /// Its name in the registry.
    pub(super) interface: String,
    pub(super) direction: Direction,
    /// Bytes a call.
    record: String,
    #[serde(default)]
    pub(super) order: InterfaceOrder,
    /// How much of the file the page cache holds.
    pub(super) cache: Option<CacheState>,
    /// Whether the page cache is passed by.
    #[serde(default)]
    pub(super) direct: bool,
    /// Whether writes are brought to the device within the time.
    pub(super) flush: Option<bool>,
    /// The interface's own buffer.
    buffer: Option<String>,
    /// What the system is told when the file is opened.
    pub(super) hint: Option<AccessHint>,
    /// Buffers a call.
    pub(super) vectors: Option<usize>,
    /// Calls at once.
    pub(super) depth: Option<usize>,
    /// How they are waited for.
    #[serde(default)]
    pub(super) completion: Completion,
    #[serde(default)]
    pub(super) file: InterfaceFileState,
    /// How a new file gets its blocks.
    pub(super) allocation: Option<Allocation>,
}

/// In which order records come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub(super) enum InterfaceOrder {
    /// From front to back.
    #[default]
    Sequential,
    /// From back to front, each place told from the end of the file.
    Backward,
    /// Each record at most once, all over the file.
    Random,
    /// The same, over the first half of the file, as in the action `read`.
    RandomHalf,
}

impl InterfaceOrder {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Backward => "backward",
            Self::Random => "random",
            Self::RandomHalf => "random over half",
        }
    }
}

/// What a write finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub(super) enum InterfaceFileState {
    /// Blocks with data, which are written over.
    #[default]
    Overwritten,
    /// Nothing: making, allocating and closing the file count.
    New,
}

/// What the system is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum AccessHint {
    /// Nothing, and the label says so.
    None,
    Sequential,
    Random,
    NoReuse,
}

impl AccessHint {
    pub(super) fn hint(self) -> Option<Hint> {
        match self {
            Self::None => None,
            Self::Sequential => Some(Hint::Sequential),
            Self::Random => Some(Hint::Random),
            Self::NoReuse => Some(Hint::NoReuse),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::None => "no hint",
            Self::Sequential => "hint sequential",
            Self::Random => "hint random",
            Self::NoReuse => "hint no reuse",
        }
    }
}

/// Settings that make sense.
#[derive(Debug)]
pub(super) struct ValidatedSpec {
    pub(super) spec: InterfaceSpec,
    /// Bytes a call.
    pub(super) record: usize,
    /// Bytes of the interface's own buffer; `None`: its default.
    pub(super) buffer: Option<usize>,
}

impl InterfaceSpec {
    /// Looks whether it makes sense.
    pub(super) fn validate(self) -> Result<(ValidatedSpec, &'static InterfaceEntry), String> {
        let bytes = |text: &str| size::parse(text).map_err(|error| error.to_string());
        let record = bytes(&self.record)?;
        if !(1..=LARGEST).contains(&record) {
            return Err(format!("a record has 1 byte to {}, not {record}", size::exact(LARGEST)));
        }
        let buffer = self.buffer.as_deref().map(bytes).transpose()?;
        if buffer.is_some_and(|buffer| buffer > LARGEST) {
            return Err(format!("a buffer has at most {}", size::exact(LARGEST)));
        }
        let Some(entry) = INTERFACES.iter().find(|known| known.name == self.interface) else {
            let known: Vec<&str> = INTERFACES.iter().map(|known| known.name).collect();
            return Err(format!("an interface is one of {}, not {:?}", known.join(", "), self.interface));
        };
        self.check_supported(entry)?;
        self.check_values(record)?;
        let (record, buffer) = (record as usize, buffer.map(|buffer| buffer as usize));
        Ok((ValidatedSpec { spec: self, record, buffer }, entry))
    }

    /// Whether the interface takes what is set: what it would ignore is no setting of it.
    fn check_supported(&self, entry: &InterfaceEntry) -> Result<(), String> {
        let set = [
            (self.buffer.is_some(), OptionalSetting::Buffer, "buffer"),
            (self.direct, OptionalSetting::Direct, "direct"),
            (self.hint.is_some(), OptionalSetting::Hints, "hint"),
            (self.vectors.is_some(), OptionalSetting::Vectors, "vectors"),
            (self.file == InterfaceFileState::New, OptionalSetting::New, "file = \"new\""),
            (
                matches!(self.allocation, Some(Allocation::Reserve | Allocation::Preallocate)),
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
                "calls of {} are waited for {}, not {}",
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
        let wrong = |what: &str| Err(what.to_owned());
        if !writes && (new || self.flush.is_some()) {
            return wrong("file and flush are for writes");
        }
        if self.allocation.is_some() != new {
            return wrong("a new file, and no other, has an allocation");
        }
        if new && self.order != InterfaceOrder::Sequential {
            return wrong("a new file is written from front to back");
        }
        if new && self.cache.is_some() {
            return wrong("of a new file nothing is cached");
        }
        if self.direct && self.cache.is_some() {
            return wrong("past the page cache it does not matter what that holds: leave cache out");
        }
        match self.vectors {
            Some(count) if !(1..=vectored::MOST).contains(&count) => {
                return Err(format!("vectors is from 1 to {}", vectored::MOST));
            }
            Some(count) if !record.is_multiple_of(count as u64) => {
                return wrong("vectors does not divide record");
            }
            Some(count) if count > 1 && self.completion == Completion::Threads => {
                return wrong("several buffers a call are for one thread");
            }
            _ => {}
        }
        match (self.completion, self.depth) {
            (Completion::Each, None | Some(1)) => Ok(()),
            (Completion::Each, Some(_)) => {
                wrong("with a depth above 1, completion says how the calls are waited for")
            }
            (_, Some(depth)) if (1..=DEEPEST).contains(&depth) => Ok(()),
            (_, Some(_)) => Err(format!("depth is from 1 to {DEEPEST}")),
            (_, None) => wrong("completion is for several calls at once: say how many with depth"),
        }
    }
}

impl ValidatedSpec {
    /// What else tells it from its fellows.
    pub(super) fn variant(&self) -> Option<String> {
        let spec = &self.spec;
        let buffer = self.buffer.map(|buffer| match buffer {
            0 => "no buffer".to_owned(),
            bytes => format!("buffer {}", crate::units::size(bytes as u64)),
        });
        let vectors = spec.vectors.map(|count| crate::units::count(count, "buffer") + " a call");
        let hint = spec.hint.map(|hint| hint.words().to_owned());
        let completion = (spec.completion != Completion::Each).then(|| spec.completion.words().to_owned());
        let words: Vec<String> = [buffer, vectors, hint, completion].into_iter().flatten().collect();
        (!words.is_empty()).then(|| words.join(", "))
    }
}
