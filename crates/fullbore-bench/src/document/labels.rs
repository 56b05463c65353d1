//! Labels of a cell: the settings that distinguish it from the other cells of its experiment; and the headline figure that
//! it contributes to.

use std::fmt;

use fullbore::size;
use serde::{Deserialize, Deserializer, Serialize};

use super::terms::{AccessMethod, Allocation, FileState, Operation, Order};

/// Labels that distinguish a cell from the others of its experiment. Text fields use the words of the command line.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Labels {
    /// Kind of job: `read`, `scan`, `search`, `hash`, `compare`, `transform over an existing file`, `transform to a new
    /// file`, `copy`; empty if none. The strategies of one job compete for its choice.
    pub job: String,
    /// Operation: `read`, `write`, `copy`, or one such as `shift:10`.
    pub operation: Operation,
    /// Access method.
    pub method: AccessMethod,
    /// Request size in bytes.
    pub request_bytes: Option<u64>,
    /// Requests each worker keeps in flight.
    pub depth: Option<u32>,
    /// Workers.
    pub workers: Option<u32>,
    /// Distribution of stripes to workers: `serial`, `striped`, `pool`.
    pub model: Option<String>,
    /// Allocation of the output, such as `fallocate`.
    pub allocation: Option<Allocation>,
    /// Cache policy: `keep`, `drop`, `direct`.
    pub cache_policy: Option<String>,
    /// State of the output before: `existing`, `truncated`, `extended`, `preallocated`, `overwritten`.
    pub file_state: Option<FileState>,
    /// Requested page-cache state.
    pub cache: Option<CacheState>,
    /// `sequential`, `backward`, `random` or `random over half`.
    pub order: Option<Order>,
    /// The strategy in the syntax of `--strategy`: a name, or fields.
    #[serde(deserialize_with = "with_current_allocation")]
    pub strategy: Option<String>,
    /// True if the time includes flushing the written bytes to the device (`fdatasync`).
    pub flush: Option<bool>,
    /// Length of the file in bytes, if it differs from the run's.
    pub file_bytes: Option<u64>,
    /// Concurrent sequential streams.
    pub streams: Option<u32>,
    /// Directories (disks) used concurrently.
    pub targets: Option<u32>,
    /// Chunk of a file striped over the directories, in bytes.
    pub chunk_bytes: Option<u64>,
    /// Distance of requests from a multiple of their size, in bytes; may be negative.
    pub offset_bytes: Option<i64>,
    /// Requested arrival rate in requests per second, if requests arrive at a set rate.
    pub load_per_s: Option<u64>,
    /// Memory limit for the process and its page cache, in bytes.
    pub memory_limit_bytes: Option<u64>,
    /// The program measured, if it is not fullbore: `fio`, `cp` …
    pub peer: Option<String>,
    /// Any other distinction, in a word or two: `scalar`, `hint sequential`.
    pub variant: Option<String>,
}

/// Reads a strategy; earlier builds wrote `preallocate` for `fallocate`.
fn with_current_allocation<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let label = Option::<String>::deserialize(deserializer)?;
    Ok(label.map(|label| label.replace("preallocate", "fallocate")))
}

/// Page-cache state of the range at the start of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheState {
    /// Cached.
    Warm,
    /// Not cached.
    Cold,
    /// Partly cached.
    Mixed,
}

impl CacheState {
    /// Returns the state's name in labels, options and reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Warm => "warm",
            Self::Cold => "cold",
            Self::Mixed => "mixed",
        }
    }
}

/// The disks of a cell, in its variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Disks {
    /// The first disks, measured concurrently.
    Together,
    /// A file striped over the first disks.
    Striped,
    /// This disk only; disks count from 1.
    Alone(usize),
}

impl fmt::Display for Disks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Together => f.write_str("together"),
            Self::Striped => f.write_str("striped"),
            Self::Alone(disk) => write!(f, "disk {disk} alone"),
        }
    }
}

/// Words in a variant that describe a test of the device, not a choice of a program. The mean rate of a continuous transfer is of
/// burst and sustained throughput together.
const DEVICE_TEST: [&str; 5] = ["reread", "prefetch", "write cache", "write-cache", "continuous"];

impl Labels {
    /// Returns labels of an operation by an access method.
    pub fn of(operation: impl Into<Operation>, method: impl Into<AccessMethod>) -> Self {
        Self { operation: operation.into(), method: method.into(), ..Self::default() }
    }

    /// Returns the parts of the strategy that no other label covers, in one order and with sizes in one form: `stripe=8M` equals
    /// `stripe=8MiB`.
    pub(crate) fn beyond_labels(&self) -> Option<Vec<String>> {
        const LABELLED: [&str; 8] =
            ["method", "read", "write", "request", "depth", "workers", "model", "alloc"];
        let mut fields: Vec<String> = (self.strategy.as_ref()?.split(',').map(str::trim))
            .filter(|field| !field.split_once('=').is_some_and(|(name, _)| LABELLED.contains(&name)))
            .map(|field| match field.split_once('=') {
                Some((name, value)) => {
                    format!("{name}={}", size::parse(value).map_or_else(|_| value.to_owned(), size::exact))
                }
                None => field.to_owned(),
            })
            .collect();
        fields.sort();
        Some(fields)
    }

    /// True if requests bypass the page cache: by the policy, or because the access method always does.
    pub fn bypasses_cache(&self) -> bool {
        self.has_direct_policy() || self.method.always_bypasses_cache()
    }

    /// True if the device gets the requests as they are. The page cache merges sequential ones.
    pub(crate) fn reach_device_as_sent(&self) -> bool {
        self.bypasses_cache() || self.is_random()
    }

    /// True if the cache policy is to bypass the page cache.
    pub(crate) fn has_direct_policy(&self) -> bool {
        self.cache_policy.as_deref() == Some("direct")
    }

    /// Returns the state of the page cache; requests that bypass it find nothing there.
    pub(crate) fn cache_state(&self) -> Option<CacheState> {
        if self.bypasses_cache() { Some(CacheState::Cold) } else { self.cache }
    }

    pub(crate) fn is_sequential(&self) -> bool {
        self.order.as_ref().is_none_or(|order| *order == Order::Sequential)
    }

    /// True for requests at random places of the file, or of a part of it.
    pub(crate) fn is_random(&self) -> bool {
        self.order.as_ref().is_some_and(Order::is_random)
    }

    /// True for requests at random places of the whole file.
    pub(crate) fn is_random_over_file(&self) -> bool {
        self.order == Some(Order::Random)
    }

    pub(crate) fn disks(&self) -> Option<Disks> {
        match self.variant.as_deref()? {
            "together" => Some(Disks::Together),
            "striped" => Some(Disks::Striped),
            other => {
                let disk = other.strip_prefix("disk ")?.strip_suffix(" alone")?;
                Some(Disks::Alone(disk.parse().ok()?))
            }
        }
    }

    /// True if the variant is a test of the device, not a choice of a program.
    pub(crate) fn tests_device(&self) -> bool {
        let variant = self.variant.as_deref().unwrap_or("").to_lowercase();
        DEVICE_TEST.iter().any(|word| variant.contains(word))
    }

    /// Returns true if the variant sets the drive's write cache on, false if off.
    pub(crate) fn write_cache(&self) -> Option<bool> {
        let variant = self.variant.as_ref()?.to_lowercase().replace('-', " ");
        match variant.strip_prefix("write cache ")?.trim() {
            "on" => Some(true),
            "off" => Some(false),
            _ => None,
        }
    }

    /// Returns the size of the stream's buffer that the variant names (`buffer 64K`, `buffer 4 KiB`, `no buffer`): 0 without
    /// one, `None` for other variants.
    pub(crate) fn buffer_bytes(&self) -> Option<u64> {
        let text = self.variant.as_deref()?.to_lowercase().replace("stream ", "").replace('=', " ");
        match text.trim() {
            "no buffer" | "unbuffered" | "buffer none" => Some(0),
            other => {
                let said = other.strip_prefix("buffer ")?.replace(' ', "").replace("ib", "");
                size::parse(said.to_uppercase().as_str()).ok()
            }
        }
    }
}

/// A headline figure: the highest throughput of its cells. Reads and writes are sequential unless named random; cached
/// random reads may come from the page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Headline {
    CachedReads,
    DeviceReads,
    RandomReads,
    CachedRandomReads,
    CachedWrites,
    DirectWrites,
    /// Sequential writes flushed to the device within the measured time.
    FlushedWrites,
    /// Reads and copies of memory.
    Roof,
}

impl Headline {
    /// Figures that the summary shows, each with the one that it replaces.
    pub(crate) const REPLACED: [(Self, Self); 2] =
        [(Self::RandomReads, Self::CachedRandomReads), (Self::FlushedWrites, Self::DirectWrites)];

    /// Returns the figure that a cell, or a path, with these labels contributes to.
    pub(crate) fn of(labels: &Labels) -> Option<Self> {
        if labels.method == AccessMethod::Memory {
            return Some(Self::Roof);
        }
        let has_order = labels.is_sequential() || labels.is_random_over_file();
        if !is_ordinary(labels) || labels.tests_device() || !has_order {
            return None;
        }
        match (&labels.operation, labels.cache_state(), labels.is_random_over_file()) {
            (Operation::Read, Some(CacheState::Warm), false) => Some(Self::CachedReads),
            (Operation::Read, Some(CacheState::Cold), false) => Some(Self::DeviceReads),
            (Operation::Read, Some(CacheState::Cold), true) => Some(Self::RandomReads),
            (Operation::Read, _, true) => Some(Self::CachedRandomReads),
            (Operation::Write, _, false) if labels.flush == Some(true) => Some(Self::FlushedWrites),
            (Operation::Write, _, false) if labels.bypasses_cache() => Some(Self::DirectWrites),
            (Operation::Write, _, false) => Some(Self::CachedWrites),
            _ => None,
        }
    }
}

/// The request size at which random reads are compared: that of most pages if it was measured, otherwise the smallest.
pub(crate) fn page_size(measured: impl Iterator<Item = u64> + Clone) -> Option<u64> {
    const USUAL: u64 = 4 << 10;
    measured.clone().find(|size| *size == USUAL).or_else(|| measured.min())
}

/// True for fullbore's own cells with one stream, the first disk alone, aligned requests, and neither a memory limit nor an
/// imposed load.
pub(crate) fn is_ordinary(labels: &Labels) -> bool {
    labels.peer.is_none()
        && labels.targets.unwrap_or(1) <= 1
        && !matches!(labels.disks(), Some(Disks::Alone(2..)))
        && labels.streams.unwrap_or(1) <= 1
        && labels.memory_limit_bytes.is_none()
        && labels.load_per_s.is_none()
        && labels.offset_bytes.is_none_or(|offset| offset == 0)
}

#[cfg(test)]
mod tests {
    use fullbore::engine;

    use super::*;

    #[test]
    fn labels_follow_the_capabilities_of_every_registered_method() {
        for method in engine::METHODS {
            let mut labels = Labels { method: method.name.into(), ..Labels::default() };
            assert_eq!(labels.method.is_mapped(), method.capabilities.mapped, "{}", method.name);
            let always = method.capabilities.passes_cache(engine::CachePolicy::Keep);
            assert_eq!(labels.bypasses_cache(), always, "{}", method.name);
            labels.cache_policy = Some("direct".into());
            assert!(labels.bypasses_cache());
        }
        let joined = Labels { method: "mmap+buffered".into(), ..Labels::default() };
        assert!(joined.method.is_mapped() && !joined.bypasses_cache());
    }

    #[test]
    fn headlines_are_about_one_disk_and_its_medium() {
        let read = |variant: Option<&str>, targets| Labels {
            cache: Some(CacheState::Cold),
            variant: variant.map(Into::into),
            targets,
            ..Labels::of("read", "direct")
        };
        for (labels, expected) in [
            (read(None, None), Some(Headline::DeviceReads)),
            (read(Some("disk 1 alone"), Some(1)), Some(Headline::DeviceReads)),
            (read(Some("disk 2 alone"), Some(1)), None),
            (read(Some("together"), Some(2)), None),
            (read(Some("reread"), None), None),
        ] {
            assert_eq!(Headline::of(&labels), expected, "{labels:?}");
        }
        for order in ["backward", "random over half"] {
            let labels = Labels { order: Some(order.into()), ..read(None, None) };
            assert_eq!(Headline::of(&labels), None, "{order}");
        }
    }

    #[test]
    fn sizes_of_a_strategy_are_exact() {
        for (bytes, request) in [(65_536, "64K"), (1536, "1536"), (1000, "1000")] {
            let labels = Labels { request_bytes: Some(bytes), ..Labels::of("read", "buffered") };
            assert_eq!(labels.strategy_text(), format!("method=buffered,request={request}"));
        }
    }

    #[test]
    fn buffer_sizes_are_parsed_from_variants() {
        for (text, bytes) in [
            ("buffer 4096", Some(4096)),
            ("buffer 64K", Some(65536)),
            ("stream buffer 4 KiB", Some(4096)),
            ("buffer=1M", Some(1 << 20)),
            ("no buffer", Some(0)),
            ("scalar", None),
            ("buffer of gold", None),
        ] {
            let labels = Labels { variant: Some(text.into()), ..Labels::default() };
            assert_eq!(labels.buffer_bytes(), bytes, "{text}");
        }
    }
}
