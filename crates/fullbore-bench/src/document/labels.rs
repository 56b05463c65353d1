//! Labels of a cell: the settings that distinguish it from the other cells of its experiment.

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
