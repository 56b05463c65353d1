//! The machine and storage of a run, and the meter's own cost.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::stats::Estimate;

/// The machine and the storage measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Environment {
    /// Kernel name, release and version.
    pub kernel: String,
    /// Processor model.
    pub cpu_model: String,
    /// Processors that the system reports.
    pub logical_cpus: u32,
    /// Processors that the control group allows, if limited.
    pub cpu_quota: Option<f64>,
    /// Memory in bytes: the machine's, or the control group's limit if lower.
    pub memory_bytes: Option<u64>,
    /// File system of the measured directory.
    pub file_system: FileSystem,
    /// Devices below the file system, as far as known.
    pub devices: Vec<Device>,
    /// Engines, available or not, with the reason.
    pub engines: Vec<EngineFact>,
    /// All other facts from the probe, unchanged.
    pub facts: Value,
}

/// A mounted file system.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileSystem {
    /// Type, such as `ext4`.
    pub kind: String,
    /// Mount point.
    pub mount_point: String,
    /// Mount options, comma-separated, as the kernel reports them.
    pub options: String,
    /// Mounted device, such as `/dev/vda1`.
    pub source: String,
}

/// A block device.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Device {
    /// Name, such as `nvme0n1`.
    pub name: String,
    /// Model, if reported.
    pub model: Option<String>,
    /// True for rotational media.
    pub rotational: Option<bool>,
    /// Queue settings by their name in sysfs (`scheduler`, `read_ahead_kb`, `max_sectors_kb`, `write_cache` …).
    pub queue: BTreeMap<String, String>,
}

/// Availability of an engine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EngineFact {
    /// Name of the access method.
    pub name: String,
    /// True if a trial call succeeded.
    pub available: bool,
    /// Reason for the unavailability, or a limitation.
    pub reason: Option<String>,
}

/// The meter's measurements of itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Audit {
    /// Seconds per request of the null engine: the meter's own share of each request.
    pub null_request_s: Option<Estimate>,
    /// Seconds per reading of the clock.
    pub clock_s: Option<f64>,
    /// Findings, a sentence each.
    pub findings: Vec<String>,
    /// Ids of the cells whose throughput the meter limits, not the storage.
    pub tool_bound: Vec<String>,
}
