//! Facts of a path: its file system, devices and their queues, direct-I/O alignment, layout and residency; facts of the
//! machine; and the counters of process, machine and device before and after a measurement.
//!
//! [`facts()`](fn@facts) gathers everything about a path and never fails because of a part: [`Facts::unknown`] lists the facts that
//! could not be determined. The functions that a measurement needs repeatedly ([`residency()`](fn@residency), [`provenance`],
//! [`direct_alignment`], the counters) do not need these facts, and take open files.
#![forbid(unsafe_code)]

mod device;
mod direct;
mod extents;
mod facts;
mod human;
mod identity;
mod kernel_files;
mod machine;
mod mounts;
mod queue;
mod residency;
mod storage;
mod unknown;
mod usage;

#[cfg(all(test, target_os = "linux"))]
mod against_tools;

pub use device::{Device, DeviceNumber, Partition, disks};
pub use direct::{Alignment, AlignmentSource, NoDirect, direct_alignment};
pub(crate) use direct::{LARGEST_FOLIO, reported_alignment};
pub use extents::{FileExtent, Layout, Provenance, ProvenanceSource, extents, layout, provenance};
pub use facts::{Direct, EngineFact, Facts, FileFacts, facts, rotational};
pub use human::{human, human_machine};
pub use identity::{FileSystemId, Learned};
pub use identity::{identity, identity_of, in_memory, off_device, overlaid, processors};
pub use machine::{Machine, machine};
pub use mounts::FileSystemFacts;
pub use queue::Link;
pub use queue::Queue;
pub use residency::{Residency, ResidencySource, residency, residency_within};
pub use unknown::Unknown;
pub(crate) use usage::process_status;
pub use usage::{DeviceCounters, ProcessUsage, SystemUsage, Transfers, peak_memory};
