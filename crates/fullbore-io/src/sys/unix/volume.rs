//! Volumes, disks and limits: no call reports them. Linux has files about them.

use std::path::Path;

use super::super::{Code, Disk, GroupLimits, Result, Volume};

/// The call that reports the alignment of direct transfers.
pub(crate) const ALIGNMENT_CALL: &str = "statx";

/// The volume of a path.
pub(crate) fn volume(_: &Path) -> Result<Volume> {
    Err(Code::UNSUPPORTED)
}

/// The disks under a path.
pub(crate) fn disks(_: &Path) -> Result<Vec<Disk>> {
    Err(Code::UNSUPPORTED)
}

/// The limits of this process' group.
pub(crate) fn group_limits() -> GroupLimits {
    GroupLimits::default()
}

/// The maker's name of the processor.
pub(crate) fn processor_name() -> Option<String> {
    None
}

/// The memory that programs may use without swapping, in bytes.
pub(crate) fn memory_available() -> Option<u64> {
    None
}
