//! A cell of an experiment's grid: its labels, its raw samples, and what they come to.

use serde::{Deserialize, Serialize};

use super::summary::{Summary, SummaryOptions, summarise};
use crate::stats::WarmUp;

/// One fully specified trial of an experiment and every sample taken of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Unique within the document.
    pub id: String,
    /// Experiment the cell belongs to (`read`, `write`, `depth`, `random`, `transform`, `memory` or another).
    pub experiment: String,
    /// Everything that tells the cell from others.
    pub labels: Labels,
    /// Samples in the order they were taken, contradicted ones included.
    #[serde(default)]
    pub samples: Vec<Sample>,
    /// What the usable samples come to; `None` when there are none.
    #[serde(default)]
    pub summary: Option<Summary>,
    /// Why the cell was not measured.
    #[serde(default)]
    pub skipped: Option<String>,
}

impl Cell {
    /// A cell yet to be measured.
    pub fn new(id: impl Into<String>, experiment: impl Into<String>, labels: Labels) -> Self {
        let (id, experiment) = (id.into(), experiment.into());
        Self { id, experiment, labels, samples: Vec::new(), summary: None, skipped: None }
    }

    /// A cell that cannot be measured here, and why.
    pub fn skipped(
        id: impl Into<String>,
        experiment: impl Into<String>,
        labels: Labels,
        reason: impl Into<String>,
    ) -> Self {
        Self { skipped: Some(reason.into()), ..Self::new(id, experiment, labels) }
    }

    /// Computes the summary anew from the samples.
    pub fn summarise(&mut self, options: &SummaryOptions) {
        self.summary = summarise(&self.samples, &self.labels, options);
    }

    /// Rates of the usable samples (bytes a second), in order; without those at the front that the summary says were
    /// still warming up.
    pub fn rates(&self) -> Vec<f64> {
        let warming = self.summary.as_ref().and_then(|s| s.warm_up).map_or(0, WarmUp::left_out);
        self.samples.iter().filter(|s| s.usable()).skip(warming).map(Sample::rate).collect()
    }
}

/// What tells a cell from the others of its experiment. Text fields hold the words of the command line.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Labels {
    /// Kind of job a person would name, such as `sequential read`; cells of one job compete for the choice.
    pub job: String,
    /// What is done: `read`, `write`, `copy`, or an operation such as `shift:10`.
    pub operation: String,
    /// Access method.
    pub method: String,
    /// Request size in bytes.
    pub request_bytes: Option<u64>,
    /// Requests each worker keeps in flight.
    pub depth: Option<u32>,
    /// Workers.
    pub workers: Option<u32>,
    /// How stripes reach workers: `serial`, `striped`, `pool`.
    pub model: Option<String>,
    /// Allocation of the output, such as `preallocate`.
    pub allocation: Option<String>,
    /// What happens to the page cache: `keep`, `drop`, `direct`.
    pub cache_policy: Option<String>,
    /// State of the output before: `existing`, `truncated`, `extended`, `preallocated`, `overwritten`.
    pub file_state: Option<String>,
    /// Page cache state asked for.
    pub cache: Option<CacheState>,
    /// `sequential`, `random` or `strided`.
    pub order: Option<String>,
    /// The strategy as `--strategy` takes it: a name, or fields.
    pub strategy: Option<String>,
    /// Whether written bytes were brought to the device within the time (`fdatasync`).
    pub flush: Option<bool>,
    /// Length of the file in bytes, where it is not that of the run.
    pub file_bytes: Option<u64>,
    /// Sequential streams at once.
    pub streams: Option<u32>,
    /// Directories (disks) at once.
    pub targets: Option<u32>,
    /// Chunk of a file striped over them, in bytes.
    pub chunk_bytes: Option<u64>,
    /// How far requests lie from a multiple of their size, in bytes; may be negative.
    pub offset_bytes: Option<i64>,
    /// Requests a second asked for, where requests come at a set rate.
    pub load_per_s: Option<u64>,
    /// Memory that the process and its page cache may have, in bytes.
    pub memory_limit_bytes: Option<u64>,
    /// The program that did it, where that is not fullbore: `fio`, `cp` …
    pub peer: Option<String>,
    /// Whatever else tells it from its fellows, in a word or two: `scalar`, `hint sequential`.
    pub variant: Option<String>,
}

/// How much of the file the page cache holds when a trial begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheState {
    /// All of it.
    Warm,
    /// None of it.
    Cold,
    /// Some of it.
    Mixed,
}

impl CacheState {
    /// The word used everywhere.
    pub fn word(self) -> &'static str {
        match self {
            Self::Warm => "warm",
            Self::Cold => "cold",
            Self::Mixed => "mixed",
        }
    }
}

/// One timed run of a cell.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sample {
    /// Round of the run in which it was taken, from 0.
    pub round: u32,
    /// Seconds from the start of the run to the start of the sample.
    pub start_s: f64,
    /// Bytes moved.
    pub bytes: u64,
    /// Wall time in seconds.
    pub seconds: f64,
    /// Requests issued.
    pub requests: u64,
    /// Processor time in user mode, seconds over all threads.
    pub user_s: f64,
    /// Processor time in the kernel charged to the process, seconds over all threads.
    pub system_s: f64,
    /// Busy processor time of the whole system beyond the process, seconds: kernel threads, and any other load.
    pub uncharged_s: Option<f64>,
    /// Page faults served without a read.
    pub minor_faults: Option<u64>,
    /// Page faults that waited for a read.
    pub major_faults: Option<u64>,
    /// Bytes of the file in the page cache before.
    pub cached_before_bytes: Option<u64>,
    /// Bytes of the file in the page cache after.
    pub cached_after_bytes: Option<u64>,
    /// Size of the file range that the two above refer to.
    pub cache_total_bytes: Option<u64>,
    /// Bytes the devices read meanwhile.
    pub device_read_bytes: Option<u64>,
    /// Bytes the devices wrote meanwhile.
    pub device_written_bytes: Option<u64>,
    /// Mean number of requests in flight a worker.
    pub depth_mean: Option<f64>,
    /// Time a request took, by share of requests.
    pub latency: Option<Latency>,
    /// Where the requests' time went.
    pub phases: Option<Phases>,
    /// Bytes a second of each of several streams or targets.
    pub streams: Vec<f64>,
    /// Whether the cache state asked for was proved.
    pub proof: Proof,
}

impl Sample {
    /// Bytes a second; 0 when no time passed.
    pub fn rate(&self) -> f64 {
        if self.seconds > 0.0 { self.bytes as f64 / self.seconds } else { 0.0 }
    }

    /// Charged processor time in seconds.
    pub fn charged_s(&self) -> f64 {
        self.user_s + self.system_s
    }

    /// Whether the sample enters the figures: it took time, moved bytes, and its proof does not contradict it.
    pub fn usable(&self) -> bool {
        self.bytes > 0
            && self.seconds.is_finite()
            && self.seconds > 0.0
            && !matches!(self.proof, Proof::Contradicted { .. })
    }
}

/// Whether measurement confirms the cache state that a sample claims.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum Proof {
    /// It does.
    Confirmed,
    /// It contradicts it; the sample is kept but enters no figure.
    Contradicted {
        /// What was found.
        reason: String,
    },
    /// It could not be told.
    Unproved {
        /// Why not.
        reason: String,
    },
}

impl Default for Proof {
    fn default() -> Self {
        Self::Unproved { reason: "no proof recorded".into() }
    }
}

/// How long requests took, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Latency {
    /// Median.
    pub p50_s: f64,
    /// 90 % took no longer.
    pub p90_s: f64,
    /// 99 % took no longer.
    pub p99_s: f64,
    /// 99.9 % took no longer.
    pub p999_s: f64,
    /// The longest.
    pub max_s: f64,
}

/// Where the time of requests went: sums over the requests of a sample, in seconds, and what the device made of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Phases {
    /// In the call that hands a request to the system.
    pub submit_s: f64,
    /// Between the call and the device (the queue), where block tracing tells.
    pub queue_s: Option<f64>,
    /// At the device, as the block layer counts it.
    pub device_s: Option<f64>,
    /// From the device's completion to the application's knowledge of it, or from submission on where no more is known.
    pub complete_s: f64,
    /// Requests the device completed.
    pub device_requests: u64,
    /// Requests that were merged with a neighbour before the device got them.
    pub merges: u64,
    /// Requests of the device beyond those asked for and not merged: what the system split.
    pub splits: u64,
    /// Mean size of the device's requests, in bytes.
    pub device_request_bytes: f64,
}
