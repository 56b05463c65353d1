//! Facts of volumes, disks and limits that calls report, for systems without files about them.

use std::path::PathBuf;

/// A volume: a file system with its mount point.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(not(windows), allow(dead_code, reason = "made on Windows"))]
pub(crate) struct Volume {
    /// Mount point.
    pub(crate) point: PathBuf,
    /// Name of the type of file system.
    pub(crate) kind: String,
    /// The volume's unique name, or a server's.
    pub(crate) source: String,
    /// True if nothing can be written to it.
    pub(crate) read_only: bool,
    /// Features of the file system that it has.
    pub(crate) features: Vec<&'static str>,
    /// Unit of allocation in bytes.
    pub(crate) cluster: u64,
    /// True if its files are on a network; `None` if unknown.
    pub(crate) network: Option<bool>,
    /// True if its files are in memory.
    pub(crate) in_memory: bool,
}

/// A disk under a volume. `None` means that the system does not report the fact.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(not(windows), allow(dead_code, reason = "made on Windows"))]
pub(crate) struct Disk {
    /// Number of the disk.
    pub(crate) number: u32,
    /// Number of the partition, if the volume is in one.
    pub(crate) partition: Option<u32>,
    /// Start of the volume on the disk and its length there, in bytes.
    pub(crate) extent: Option<(u64, u64)>,
    /// The maker's name of the model.
    pub(crate) model: Option<String>,
    /// The maker's serial number.
    pub(crate) serial: Option<String>,
    /// The bus.
    pub(crate) bus: Option<&'static str>,
    /// Size in bytes.
    pub(crate) size: Option<u64>,
    /// True if nothing can be written to it.
    pub(crate) read_only: Option<bool>,
    /// True if seeks take time: rotational media.
    pub(crate) seek_penalty: Option<bool>,
    /// True if blocks can be discarded.
    pub(crate) trim: Option<bool>,
    /// Logical and physical sector in bytes.
    pub(crate) sectors: Option<(u64, u64)>,
    /// True if the device acknowledges writes before they are durable.
    pub(crate) write_cache: Option<bool>,
    /// True if single writes can be forced past that cache.
    pub(crate) write_through: Option<bool>,
    /// Maximum size of a request, in bytes.
    pub(crate) max_request: Option<u64>,
}

/// Limits of the group of processes that this one is in; `None` means no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct GroupLimits {
    /// Share of the CPU time of all processors, 0 to 1.
    pub(crate) cpu_share: Option<f64>,
    /// Processors that the process may run on.
    pub(crate) processors: Option<u64>,
    /// Memory in bytes.
    pub(crate) memory: Option<u64>,
}
