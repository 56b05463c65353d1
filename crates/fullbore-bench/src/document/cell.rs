//! A cell of an experiment's grid: labels, raw samples, summary.

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
    /// Labels that identify the cell within its experiment.
    pub labels: Labels,
    /// Samples in the order in which they were taken, contradicted ones included.
    #[serde(default)]
    pub samples: Vec<Sample>,
    /// Summary of the usable samples; `None` if there are none.
    #[serde(default)]
    pub summary: Option<Summary>,
    /// Reason why the cell was not measured.
    #[serde(default)]
    pub skipped: Option<String>,
}

impl Cell {
    /// Creates a cell without samples.
    pub fn new(id: impl Into<String>, experiment: impl Into<String>, labels: Labels) -> Self {
        let (id, experiment) = (id.into(), experiment.into());
        Self { id, experiment, labels, samples: Vec::new(), summary: None, skipped: None }
    }

    /// Creates a cell that cannot be measured here.
    pub fn skipped(
        id: impl Into<String>,
        experiment: impl Into<String>,
        labels: Labels,
        reason: impl Into<String>,
    ) -> Self {
        Self { skipped: Some(reason.into()), ..Self::new(id, experiment, labels) }
    }

    /// Recomputes the summary from the samples.
    pub fn summarise(&mut self, options: &SummaryOptions) {
        self.summary = summarise(&self.samples, &self.labels, options);
    }

    /// Returns the rates of the usable samples (bytes per second) in order, without the first ones that the summary
    /// classifies as warm-up.
    pub fn rates(&self) -> Vec<f64> {
        let warming = self.summary.as_ref().and_then(|s| s.warm_up).map_or(0, WarmUp::left_out);
        self.samples.iter().filter(|s| s.usable()).skip(warming).map(Sample::rate).collect()
    }
}

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
    /// Allocation of the output, such as `preallocate`.
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
    /// CPU time in user mode, in seconds over all threads.
    pub user_s: f64,
    /// CPU time in the kernel charged to the process, in seconds over all threads.
    pub system_s: f64,
    /// CPU time of the whole system beyond the process, in seconds: kernel threads and any other load.
    pub uncharged_s: Option<f64>,
    /// Page faults served without a read.
    pub minor_faults: Option<u64>,
    /// Page faults that waited for a read.
    pub major_faults: Option<u64>,
    /// Bytes of the range in the page cache before the sample.
    pub cached_before_bytes: Option<u64>,
    /// Bytes of the range in the page cache after the sample.
    pub cached_after_bytes: Option<u64>,
    /// Length of the range that `cached_before_bytes` and `cached_after_bytes` refer to.
    pub cache_total_bytes: Option<u64>,
    /// Bytes that the devices read during the sample.
    pub device_read_bytes: Option<u64>,
    /// Bytes that the devices wrote during the sample.
    pub device_written_bytes: Option<u64>,
    /// Mean number of requests in flight per worker.
    pub depth_mean: Option<f64>,
    /// Percentiles of the time of a request.
    pub latency: Option<Latency>,
    /// Phases of the requests' time.
    pub phases: Option<Phases>,
    /// Throughput of each stream or target, in bytes per second.
    pub streams: Vec<f64>,
    /// Result of the check of the requested cache state.
    pub proof: Proof,
}

impl Sample {
    /// Returns the throughput in bytes per second; 0 if no time passed.
    pub fn rate(&self) -> f64 {
        if self.seconds > 0.0 { self.bytes as f64 / self.seconds } else { 0.0 }
    }

    /// Returns the CPU time charged to the process, in seconds.
    pub fn charged_s(&self) -> f64 {
        self.user_s + self.system_s
    }

    /// True if the sample counts: it took time, moved bytes, and its proof does not contradict it.
    pub fn usable(&self) -> bool {
        self.bytes > 0
            && self.seconds.is_finite()
            && self.seconds > 0.0
            && !matches!(self.proof, Proof::Contradicted { .. })
    }
}

/// Result of checking a sample's cache state against the counters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum Proof {
    /// The counters confirm the state.
    Confirmed,
    /// The counters refute the state; the sample is kept but does not count.
    Contradicted {
        /// The measured state.
        reason: String,
    },
    /// No counter can decide.
    Unproved {
        /// The missing counter.
        reason: String,
    },
}

impl Default for Proof {
    fn default() -> Self {
        Self::Unproved { reason: "no proof recorded".into() }
    }
}

/// Percentiles of the time of a request, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Latency {
    /// Median.
    pub p50_s: f64,
    /// 90th percentile.
    pub p90_s: f64,
    /// 99th percentile.
    pub p99_s: f64,
    /// 99.9th percentile.
    pub p999_s: f64,
    /// Maximum.
    pub max_s: f64,
}

/// Phases of the requests' time, in seconds, summed over the requests of a sample; and the device's requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Phases {
    /// Time in the call that submits a request.
    pub submit_s: f64,
    /// Time between the call and the device (the queue); only with block tracing.
    pub queue_s: Option<f64>,
    /// Time at the device, as the block layer counts it.
    pub device_s: Option<f64>,
    /// Time from the device's completion until the application receives it; without device times, from submission.
    pub complete_s: f64,
    /// Requests that the device completed.
    pub device_requests: u64,
    /// Requests merged with an adjacent one before the device received them.
    pub merges: u64,
    /// Device requests beyond those issued and not merged: the pieces into which the system split requests.
    pub splits: u64,
    /// Mean size of the device's requests, in bytes.
    pub device_request_bytes: f64,
}
