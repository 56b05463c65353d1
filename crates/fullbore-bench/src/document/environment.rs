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

impl Environment {
    /// Returns the number of processors that the run could use: those of the system or, if fewer, those of the control
    /// group, a part of one counted as one; 0 if unknown.
    pub fn usable_processors(&self) -> u32 {
        let granted = self.cpu_quota.map_or(u32::MAX, |quota| quota.ceil().max(1.0) as u32);
        self.logical_cpus.min(granted)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_limits_the_processors() {
        let usable = |logical_cpus, cpu_quota| {
            Environment { logical_cpus, cpu_quota, ..Environment::default() }.usable_processors()
        };
        assert_eq!(usable(8, None), 8);
        assert_eq!(usable(8, Some(1.5)), 2);
        assert_eq!(usable(8, Some(0.25)), 1);
        assert_eq!(usable(2, Some(16.0)), 2);
        assert_eq!(usable(0, Some(3.0)), 0);
    }
}
