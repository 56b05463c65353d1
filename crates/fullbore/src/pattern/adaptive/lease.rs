//! A lease, the slice and the parts it comes from, and the settings of a run.

use std::collections::VecDeque;
use std::ops::Range;

use crate::strategy::{Contender, Selections, Strategy, StrategySpec};

/// A part of the file, leased to a worker under one contender.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::pattern) struct Lease {
    pub(super) region: usize,
    pub(super) epoch: u32,
    pub(super) slice: usize,
    pub(super) contender: usize,
    /// The number of workers at the time.
    pub(super) workers: usize,
    /// True while contenders are tried.
    pub(super) trial: bool,
    /// The first requests of each worker, which fill its queue at the device: a trial does not measure them.
    pub(super) filling: usize,
    /// The strategy to use.
    pub(in crate::pattern) strategy: Strategy,
    /// The part.
    pub(super) range: Range<u64>,
}

/// The cost of a lease, or of another part of a run.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::pattern) struct Spent {
    /// The bytes that were moved meanwhile.
    pub(in crate::pattern) bytes: u64,
    /// Wall time in seconds.
    pub(in crate::pattern) seconds: f64,
    /// CPU time in seconds.
    pub(in crate::pattern) cpu: f64,
}

/// A run of leases for one contender, measured together.
#[derive(Debug, Default)]
pub(super) struct Slice {
    pub(super) contender: usize,
    /// Bytes not leased yet.
    pub(super) left: u64,
    /// The number of leases.
    pub(super) leases: usize,
    /// The number of workers at the last one.
    pub(super) workers: usize,
    /// True if other workers were busy with another region.
    pub(super) shared: bool,
    /// Bytes recorded.
    pub(super) bytes: u64,
    /// The time that they took all workers together, and the CPU time of each, in seconds.
    pub(super) spent: Spent,
    /// The logarithmic rate of each lease of a trial, times the workers.
    pub(super) rates: Vec<f64>,
    /// True for the first slice of a run, which is slow with any strategy: threads start, caches are cold.
    pub(super) uncounted: bool,
}

impl Slice {
    /// The logarithm of the rate of all workers, from the bytes that one of them moves while it is active: a worker may
    /// start its part late.
    pub(super) fn rate(&self) -> Option<f64> {
        let rate = self.bytes as f64 / self.spent.seconds;
        (self.bytes > 0 && self.spent.seconds > 0.0).then(|| rate.ln())
    }
}

/// The settings of an adaptive run.
#[derive(Debug)]
pub(super) struct Settings<'a> {
    /// Every lease is a multiple of this, in bytes.
    pub(super) grain: u64,
    /// The largest number of workers that may be tried.
    pub(super) most: usize,
    /// True if the run writes a file.
    pub(super) writes: bool,
    /// True if a trial may use parts from all over the file.
    pub(super) any_order: bool,
    pub(super) spec: &'a StrategySpec,
    pub(super) selections: &'a Selections,
    /// Assigns parts to contenders at random, with this seed.
    #[cfg(test)]
    pub(super) shuffle: Option<u64>,
}

/// Parts of the file, and the contenders for them.
#[derive(Debug)]
pub(super) struct Parts {
    /// True if the page cache has them.
    pub(super) cached: bool,
    /// The parts in file order.
    pub(super) ranges: Vec<Range<u64>>,
    /// The contenders, best expected first.
    pub(super) contenders: Vec<Contender>,
    /// The number of those that are tried; the others replace one that cannot be opened.
    pub(super) tried: usize,
}

/// The least length of a part with a mapping of its own, in bytes. With mappings of 2 MiB `wc` of 100 MB takes 1.08 of the time of
/// one with 16 MiB; with 1 MiB, for which no huge page serves, 1.5.
pub(super) const MAPPED: u64 = 2 << 20;

/// The length of a lease of a short trial of a region of `total` bytes, in bytes. With half of it, noise decided more often:
/// 100 MB took up to 2.5% longer.
pub(super) fn short_lease(strategy: &Strategy, total: u64, grain: u64) -> u64 {
    let lease = 1 << (total / 64).min(1 << 20).max(grain).ilog2();
    let lease = if strategy.read.capabilities.mapped { MAPPED.max(lease) } else { lease };
    lease.min(strategy.stripe)
}

/// Takes about `len` bytes, a multiple of `grain`, out of `ranges`, after this share of them if possible. Ends are multiples of a
/// power of two, so that a mapped part has whole large folios.
pub(super) fn cut(ranges: &mut VecDeque<Range<u64>>, grain: u64, share: f64, len: u64) -> Option<Range<u64>> {
    let (first, last) = (ranges.front()?, ranges.back()?);
    let place = first.start + (share * (last.end - first.start) as f64) as u64;
    let index = ranges.iter().position(|range| range.end > place).unwrap_or(0);
    let found = &mut ranges[index];
    let power = 1u64 << len.ilog2();
    let whole = power.is_multiple_of(grain) && found.start.is_multiple_of(grain);
    let step = if whole { power } else { grain };
    let base = if whole { 0 } else { found.start };
    let down = |offset: u64| base + (offset - base) / step * step;
    let start = down(place.max(found.start)).max(found.start);
    let end = Some(down(start + len)).filter(|&end| end > start).unwrap_or(start + len);
    let cut = start..end.min(found.end);
    let rest = cut.end..found.end;
    found.end = cut.start;
    if !rest.is_empty() {
        ranges.insert(index + 1, rest);
    }
    if ranges[index].is_empty() {
        ranges.remove(index);
    }
    Some(cut)
}
