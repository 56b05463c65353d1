//! The falls of a throughput: positions at which the credit of a device, or one of its caches, is spent.

use super::super::autocorrelation::lag_one;
use super::super::quantile::{mean, squares};

/// Fewest slices before and after a fall.
const HEAD: usize = 2;
const TAIL: usize = 10;
/// A fall counts from this ratio of the rates before and after.
const RATIO: f64 = 1.1;
/// Smallest credit that counts, in seconds of the rate after the fall: limiters that account in periods of 0.1 s release
/// up to two periods at once.
pub(super) const RESOLUTION_S: f64 = 0.25;
/// Smallest distance of two levels in standard errors that allow for correlated slices.
const ERRORS_APART: f64 = 5.0;
/// Smallest share of the blocks of each part on its side of the middle between the two rates. A storage that merely
/// varies returns to its earlier rate; a spent credit does not.
const ON_ITS_SIDE: f64 = 0.85;
/// Limit of the correlation of adjacent blocks.
const HIGHEST: f64 = 0.95;

/// Returns the positions after which the rate is lower for good, ascending.
///
/// Binary segmentation by least squares; then falls that noise explains are removed, the least clear one first.
pub(super) fn falls(slices: &[f64], slice_s: f64) -> Vec<usize> {
    let mut cuts = Vec::new();
    segment(slices, 0, slice_s, &mut cuts);
    cuts.sort_unstable();
    loop {
        let edges: Vec<usize> = [0].into_iter().chain(cuts.iter().copied()).chain([slices.len()]).collect();
        let weakest = edges
            .windows(3)
            .enumerate()
            .map(|(at, edge)| (at, errors_apart(&slices[edge[0]..edge[1]], &slices[edge[1]..edge[2]])))
            .min_by(|a, b| a.1.total_cmp(&b.1));
        match weakest {
            Some((at, errors)) if errors < ERRORS_APART => drop(cuts.remove(at)),
            _ => return cuts,
        }
    }
}

fn segment(slices: &[f64], offset: usize, slice_s: f64, cuts: &mut Vec<usize>) {
    let Some(at) = best_fall(slices, TAIL) else { return };
    let (before, after) = (mean(&slices[..at]), mean(&slices[at..]));
    let excess = (before - after) * at as f64;
    let counts = before >= RATIO * after && excess >= RESOLUTION_S / slice_s * after;
    if counts && separated(&slices[..at], &slices[at..], f64::midpoint(before, after)) {
        cuts.push(offset + at);
        segment(&slices[..at], offset, slice_s, cuts);
        segment(&slices[at..], offset + at, slice_s, cuts);
    }
}

/// Returns the position at which two levels, the second lower, fit best by least squares; at least `tail` slices follow.
pub(super) fn best_fall(slices: &[f64], tail: usize) -> Option<usize> {
    let (n, total) = (slices.len(), slices.iter().sum::<f64>());
    let mut best = (0.0, None);
    let mut sum = 0.0;
    for (i, value) in slices.iter().enumerate() {
        let at = i + 1;
        sum += value;
        if at < HEAD || at + tail > n {
            continue;
        }
        let rest = (n - at) as f64;
        let difference = sum / at as f64 - (total - sum) / rest;
        let explained = difference * difference.abs() * at as f64 * rest;
        if explained > best.0 {
            best = (explained, Some(at));
        }
    }
    best.1
}

/// True if nearly all blocks of both parts are on their side of `middle`.
fn separated(head: &[f64], tail: &[f64], middle: f64) -> bool {
    let share = |part: &[f64], right: &dyn Fn(f64) -> bool| {
        let blocks = blocks(part, if part.len() >= 50 { 10 } else { 5 });
        blocks.iter().filter(|block| right(**block)).count() as f64 / blocks.len() as f64
    };
    share(head, &|block| block > middle) >= ON_ITS_SIDE && share(tail, &|block| block < middle) >= ON_ITS_SIDE
}

/// Returns the means of blocks of `len` slices; if there are not as many slices, the mean of all.
fn blocks(slices: &[f64], len: usize) -> Vec<f64> {
    let len = len.min(slices.len()).max(1);
    slices.chunks_exact(len).map(mean).collect()
}

/// Returns the variance of a slice, as if slices were independent: that of block means, times the length of a block and
/// the inflation by correlated blocks (Bayley and Hammersley); `None` for fewer than eight slices.
pub(super) fn variance(slices: &[f64]) -> Option<f64> {
    if slices.len() < 8 {
        return None;
    }
    let len = (slices.len() / 16).clamp(2, 20);
    let blocks = blocks(slices, len);
    let n = blocks.len() as f64;
    let spread = squares(&blocks) / (n - 1.0);
    let correlation =
        lag_one(&blocks).filter(|rho| *rho > 1.0 / n.sqrt()).map_or(0.0, |rho| rho.min(HIGHEST));
    Some(spread * len as f64 * (1.0 + correlation) / (1.0 - correlation))
}

/// Returns the distance of the means of two parts in standard errors; of a part too short for a variance, that of the
/// other is used.
fn errors_apart(head: &[f64], tail: &[f64]) -> f64 {
    let (one, two) = (variance(head), variance(tail));
    let Some((one, two)) = one.or(two).zip(two.or(one)) else { return f64::INFINITY };
    let error = (one / head.len() as f64 + two / tail.len() as f64).sqrt();
    (mean(head) - mean(tail)) / error
}
