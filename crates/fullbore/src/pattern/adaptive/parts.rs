//! The two kinds of parts of an adaptive run: those in the page cache, and the others.

use std::ops::Range;

use super::lease::{Parts, Settings};
use super::leases::Leases;
use crate::strategy::{ADAPTIVE, Adaptive, Contender, MIXED};
use fullbore_io::file::File;
use fullbore_io::probe;

#[derive(Debug, Clone, Copy)]
pub(in crate::pattern) struct RunInput<'a> {
    pub(in crate::pattern) file: &'a File,
    /// Offset in the file of the first byte of the run.
    pub(in crate::pattern) base: u64,
    /// The length of the file in bytes.
    pub(in crate::pattern) len: u64,
}

#[derive(Debug)]
pub(in crate::pattern) struct Terms {
    /// The bytes of the run, counted from the base of each input.
    pub(in crate::pattern) range: Range<u64>,
    /// The unit of the operation in bytes.
    pub(in crate::pattern) unit: u64,
    /// True if the run writes a file.
    pub(in crate::pattern) writes: bool,
    /// True if a trial may use parts from all over the range.
    pub(in crate::pattern) any_order: bool,
    /// The largest number of workers.
    pub(in crate::pattern) most: usize,
}

/// The bytes of a run for which one thread is started that a trial may need.
const BYTES_PER_THREAD: u64 = 32 << 20;

impl<'a> Leases<'a> {
    /// The leases of a run over these inputs, and the number of workers; `None` if the run is too short.
    pub(in crate::pattern) fn of(
        adaptive: Adaptive<'a>,
        places: &[RunInput<'_>],
        terms: &Terms,
    ) -> Option<(Self, usize)> {
        let (range, len) = (terms.range.clone(), terms.range.end - terms.range.start);
        let grain = grain(terms.unit, len).filter(|grain| grain * 64 <= len)?;
        #[cfg(test)]
        let any_length = adaptive.shuffle.is_some();
        #[cfg(not(test))]
        let any_length = false;
        if !any_length && len < MIXED {
            return None;
        }
        let contenders = adaptive.contenders;
        let workers = |list: &[Contender]| list.iter().map(|contender| contender.strategy.workers).max();
        let most = workers(&contenders.cached).max(workers(&contenders.uncached)).unwrap_or(1);
        // Threads for trials of more workers wait until they are needed; their start takes a part of a short run's time.
        let most = match adaptive.spec.workers {
            None if most > 1 => {
                let affordable = usize::try_from(len / BYTES_PER_THREAD).unwrap_or(usize::MAX).max(2 * most);
                probe::processors().min(affordable).max(most)
            }
            _ => most,
        };
        let workers = most.min(terms.most);
        let [cached, uncached] = match (contenders.cached.is_empty(), contenders.uncached.is_empty()) {
            (false, false) => regions(places, range, grain),
            (true, _) => [Vec::new(), vec![range]],
            (_, true) => [vec![range], Vec::new()],
        };
        let short = places.iter().all(|place| place.len < ADAPTIVE);
        let parts = |cached: bool, ranges: Vec<Range<u64>>, list: &[Contender]| {
            let total: u64 = ranges.iter().map(|range| range.end - range.start).sum();
            let tried = if any_length || short || total >= ADAPTIVE { list.len() } else { 1 };
            Parts { cached, ranges, contenders: list.to_vec(), tried }
        };
        let parts =
            vec![parts(true, cached, &contenders.cached), parts(false, uncached, &contenders.uncached)];
        let settings = Settings {
            grain,
            most: workers,
            writes: terms.writes,
            any_order: terms.any_order,
            spec: adaptive.spec,
            selections: adaptive.selections,
            #[cfg(test)]
            shuffle: adaptive.shuffle,
        };
        Some((Self::new(parts, settings), workers))
    }
}

/// The least length of a lease of a range, in bytes: whole units of the operation and whole blocks of direct I/O, by a power of
/// two, since cached parts mostly begin at such offsets.
pub(super) fn grain(unit: u64, range: u64) -> Option<u64> {
    let about = (range / 128).min(1 << 20);
    let block = fullbore_io::buf::ALIGNMENT as u64;
    let shared =
        (1..=block.trailing_zeros()).rev().map(|bits| 1 << bits).find(|&power| unit.is_multiple_of(power));
    let least = unit.checked_mul(block / shared.unwrap_or(1))?;
    least.checked_mul(1 << (about / least).max(1).ilog2())
}

/// The parts of a range that are in the page cache, of all inputs, and those that are not.
pub(super) fn regions(places: &[RunInput<'_>], range: Range<u64>, grain: u64) -> [Vec<Range<u64>>; 2] {
    /// The most steps.
    const STEPS: u64 = 512;
    /// The number of times that a step is halved if it is cached in part.
    const HALVINGS: u32 = 3;
    let len = range.end - range.start;
    let step = (len / STEPS).max((8 << 20).min(len / 48)).div_ceil(grain).next_power_of_two() * grain;
    // Parts that are cached in part suit either way: direct reads of a fast device, or the page cache before a slow one. A trial of
    // the uncached parts finds out; a mapping is faster than both only where little is missing.
    let enough = if len < ADAPTIVE { 0.5 } else { 0.8 };
    let cached = |range: &Range<u64>| {
        let shares = places.iter().map(|place| {
            let range = place.base + range.start..place.base + range.end;
            let residency = probe::residency_within(place.file, range, place.len);
            residency.ok().and_then(|residency| residency.share()).unwrap_or(1.0)
        });
        shares.fold(1.0, f64::min)
    };
    let mut found: [Vec<Range<u64>>; 2] = Default::default();
    // The parts to come, the first one last, and the number of times that each may be halved.
    let starts = (0..len.div_ceil(step)).rev().map(|index| range.start + index * step);
    let mut parts: Vec<_> = starts.map(|at| (at..(at + step).min(range.end), HALVINGS)).collect();
    while let Some((part, halvings)) = parts.pop() {
        let share = cached(&part);
        let middle = part.start + ((part.end - part.start) / 2).next_multiple_of(grain);
        if halvings > 0 && middle < part.end && (0.05..0.95).contains(&share) {
            parts.push((middle..part.end, halvings - 1));
            parts.push((part.start..middle, halvings - 1));
            continue;
        }
        let list = &mut found[usize::from(share < enough)];
        match list.last_mut() {
            Some(last) if last.end == part.start => last.end = part.end,
            _ => list.push(part),
        }
    }
    found
}
