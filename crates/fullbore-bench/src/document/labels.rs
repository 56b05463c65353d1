//! Labels of a cell: the settings that distinguish it from the other cells of its experiment; and the headline figure that
//! it contributes to.

use serde::{Deserialize, Deserializer, Serialize};

/// Labels that distinguish a cell from the others of its experiment. Text fields use the words of the command line.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Labels {
    /// Kind of job, such as `sequential read`; the strategies of one job compete for its choice.
    pub job: String,
    /// Operation: `read`, `write`, `copy`, or one such as `shift:10`.
    pub operation: String,
    /// Access method.
    pub method: String,
    /// Request size in bytes.
    pub request_bytes: Option<u64>,
    /// Requests each worker keeps in flight.
    pub depth: Option<u32>,
    /// Workers.
    pub workers: Option<u32>,
    /// Distribution of stripes to workers: `serial`, `striped`, `pool`.
    pub model: Option<String>,
    /// Allocation of the output, such as `fallocate`.
    #[serde(deserialize_with = "with_current_allocation")]
    pub allocation: Option<String>,
    /// Cache policy: `keep`, `drop`, `direct`.
    pub cache_policy: Option<String>,
    /// State of the output before: `existing`, `truncated`, `extended`, `preallocated`, `overwritten`.
    pub file_state: Option<String>,
    /// Requested page-cache state.
    pub cache: Option<CacheState>,
    /// `sequential`, `random` or `strided`.
    pub order: Option<String>,
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

/// Reads a label in which documents of earlier builds say `preallocate` for `fallocate`.
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

/// Variant label of disks measured concurrently.
pub(crate) const TOGETHER: &str = "together";

/// Returns the variant label of a disk measured alone; disks count from 1.
pub(crate) fn alone(disk: usize) -> String {
    format!("disk {disk} alone")
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
        if labels.method == "memory" {
            return Some(Self::Roof);
        }
        if !is_ordinary(labels) {
            return None;
        }
        let random = labels.order.as_deref() == Some("random");
        match (labels.operation.as_str(), labels.cache_state(), random) {
            ("read", Some(CacheState::Warm), false) => Some(Self::CachedReads),
            ("read", Some(CacheState::Cold), false) => Some(Self::DeviceReads),
            ("read", Some(CacheState::Cold), true) => Some(Self::RandomReads),
            ("read", _, true) => Some(Self::CachedRandomReads),
            ("write", _, false) if labels.flush == Some(true) => Some(Self::FlushedWrites),
            ("write", _, false) if labels.bypasses_cache() => Some(Self::DirectWrites),
            ("write", _, false) => Some(Self::CachedWrites),
            _ => None,
        }
    }
}

/// The request size at which random reads are compared: that of most pages if it was measured, otherwise the smallest.
pub(crate) fn page_size(measured: impl Iterator<Item = u64> + Clone) -> Option<u64> {
    const USUAL: u64 = 4 << 10;
    measured.clone().find(|size| *size == USUAL).or_else(|| measured.min())
}

/// True for fullbore's own cells with one stream, one disk and no memory limit.
pub(crate) fn is_ordinary(labels: &Labels) -> bool {
    labels.peer.is_none()
        && labels.targets.unwrap_or(1) <= 1
        && labels.streams.unwrap_or(1) <= 1
        && labels.memory_limit_bytes.is_none()
}
