//! The headline figures of a run.

use super::labels::{CacheState, Labels};

/// A headline figure: the highest throughput of its cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Headline {
    /// Sequential reads from the page cache.
    CachedReads,
    /// Sequential reads from the device.
    DeviceReads,
    /// Random reads from the device.
    RandomReads,
    /// Random reads that may come from the page cache.
    CachedRandomReads,
    /// Sequential writes that end in the page cache.
    CachedWrites,
    /// Sequential writes with direct I/O.
    DirectWrites,
    /// Sequential writes flushed to the device within the measured time.
    FlushedWrites,
    /// Reads and copies of memory.
    Roof,
}

impl Headline {
    /// Figures that the summary shows, each with the one that it replaces.
    pub(crate) const REPLACED: [(Self, Self); 2] =
        [(Self::RandomReads, Self::CachedRandomReads), (Self::FlushedWrites, Self::DirectWrites)];

    /// Returns the figure that a cell, or a path, with these labels contributes to.
    pub(crate) fn of(labels: &Labels) -> Option<Self> {
        if labels.method == "memory" {
            return Some(Self::Roof);
        }
        if !is_ordinary(labels) {
            return None;
        }
        let random = labels.order.as_deref() == Some("random");
        match (labels.operation.as_str(), labels.cache_state(), random) {
            ("read", Some(CacheState::Warm), false) => Some(Self::CachedReads),
            ("read", Some(CacheState::Cold), false) => Some(Self::DeviceReads),
            ("read", Some(CacheState::Cold), true) => Some(Self::RandomReads),
            ("read", _, true) => Some(Self::CachedRandomReads),
            ("write", _, false) if labels.flush == Some(true) => Some(Self::FlushedWrites),
            ("write", _, false) if labels.bypasses_cache() => Some(Self::DirectWrites),
            ("write", _, false) => Some(Self::CachedWrites),
            _ => None,
        }
    }
}

/// The request size at which random reads are compared: that of most pages if it was measured, otherwise the smallest.
pub(crate) fn page_size(measured: impl Iterator<Item = u64> + Clone) -> Option<u64> {
    const USUAL: u64 = 4 << 10;
    measured.clone().find(|size| *size == USUAL).or_else(|| measured.min())
}

/// True for fullbore's own cells with one stream, one disk and no memory limit.
pub(crate) fn is_ordinary(labels: &Labels) -> bool {
    labels.peer.is_none()
        && labels.targets.unwrap_or(1) <= 1
        && labels.streams.unwrap_or(1) <= 1
        && labels.memory_limit_bytes.is_none()
}
