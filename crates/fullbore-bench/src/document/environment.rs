//! Where a run took place, and what the meter found out about itself.

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
    /// Processors the system shows.
    pub logical_cpus: u32,
    /// Processors the control group allows, if limited.
    pub cpu_quota: Option<f64>,
    /// Memory in bytes (of the machine, or the control group's limit when lower).
    pub memory_bytes: Option<u64>,
    /// The file system of the directory measured.
    pub file_system: FileSystem,
    /// The devices below it, as far as known.
    pub devices: Vec<Device>,
    /// Engines that run here, and those that do not with the reason.
    pub engines: Vec<EngineFact>,
    /// Everything else the probe found, as it found it.
    pub facts: Value,
}

/// A mounted file system.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileSystem {
    /// Type, such as `ext4`.
    pub kind: String,
    /// Where it is mounted.
    pub mount_point: String,
    /// Mount options, comma-separated as the kernel gives them.
    pub options: String,
    /// What is mounted, such as `/dev/vda1`.
    pub source: String,
}

/// A block device.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Device {
    /// Name, such as `nvme0n1`.
    pub name: String,
    /// Model, if it tells.
    pub model: Option<String>,
    /// Whether it turns.
    pub rotational: Option<bool>,
    /// Queue settings by their name in sysfs (`scheduler`, `read_ahead_kb`, `max_sectors_kb`, `write_cache` …).
    pub queue: BTreeMap<String, String>,
}

/// Whether an engine runs here.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EngineFact {
    /// Name of the access method.
    pub name: String,
    /// Whether it ran when tried.
    pub available: bool,
    /// Why not, or what is limited.
    pub reason: Option<String>,
}

/// What the meter measured of itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Audit {
    /// Seconds a request of the null engine: what the meter itself adds to each request.
    pub null_request_s: Option<Estimate>,
    /// Seconds a reading of the clock takes.
    pub clock_s: Option<f64>,
    /// What was found, a sentence each.
    pub findings: Vec<String>,
    /// Ids of the cells bound by the meter and not by the storage.
    pub tool_bound: Vec<String>,
}
