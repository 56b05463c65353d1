//! A sample: one timed run of a cell, with its counters and the proof of its cache state.

use serde::{Deserialize, Serialize};

use super::regime::{Regime, Slices, SteadyPart};
use crate::stats::Course;

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
    /// True for writes to a device, false for reads; `None` for work without a device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writes: Option<bool>,
    /// Regime of the device; `None` for a sample that needs none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regime: Option<Regime>,
    /// Course of the device's transfers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slices: Option<Slices>,
    /// The part that determines the throughput; `None`: the whole sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steady: Option<SteadyPart>,
    /// Share of the throughput by which the device's accounting period may falsify it.
    #[serde(skip_serializing_if = "is_zero")]
    pub uncertainty: f64,
    /// Bytes over time of a continuous transfer, with idle periods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub course: Option<Course>,
    /// Result of the check of the requested cache state.
    pub proof: Proof,
}

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

impl Sample {
    /// Returns the throughput in bytes per second; 0 if no time passed.
    pub fn rate(&self) -> f64 {
        match self.steady {
            Some(part) if part.seconds > 0.0 => part.bytes / part.seconds,
            _ if self.seconds > 0.0 => self.bytes as f64 / self.seconds,
            _ => 0.0,
        }
    }

    /// Returns the requests per second; `None` if requests were not counted.
    pub fn requests_per_s(&self) -> Option<f64> {
        (self.requests > 0 && self.bytes > 0).then(|| self.requests as f64 * self.rate() / self.bytes as f64)
    }

    /// Returns the CPU time charged to the process, in seconds.
    pub fn charged_s(&self) -> f64 {
        self.user_s + self.system_s
    }

    /// True if it writes to a device, or the devices wrote more than they read; `None` if neither is known.
    pub(crate) fn writes_device(&self) -> Option<bool> {
        let more =
            || self.device_written_bytes.zip(self.device_read_bytes).map(|(written, read)| written > read);
        self.writes.or_else(more)
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
