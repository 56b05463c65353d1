//! Multimodal cells: samples on two levels, such as those of a disk with and without burst credit, or on more, each with its
//! share and the interval of its median.

use serde::{Deserialize, Serialize};

use super::interval::{Bootstrap, Estimate};
use super::quantile::{mean, median_of_sorted, sorted};

/// Minimum number of samples; with fewer, two modes cannot be distinguished from chance.
pub const MIN_SAMPLES_FOR_MODES: usize = 8;

/// Levels closer than this (as a share of the lower) count as one.
const LEVELS_APART: f64 = 0.10;
/// Minimum share of the samples in a mode (and at least two samples); fewer are outliers.
const SMALLEST_SHARE: f64 = 0.15;

/// A level of samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// Median of the samples at this level, in their unit.
    pub value: f64,
    /// Share of the samples at this level, 0 to 1.
    pub share: f64,
    /// Interval of the level's median; set only by [`levels`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Estimate>,
}

/// The two levels of a bimodal cell.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Modes {
    /// The lower level.
    pub low: Level,
    /// The higher level.
    pub high: Level,
    /// Share of the variance that the split explains, 0 to 1.
    pub explained: f64,
}

/// Finds two modes; `None` if a unimodal distribution explains the samples as well.
///
/// The samples are cut in two where that leaves the least variance within the parts. The best cut explains 64% of the
/// variance of a normal and 75% of a uniform distribution, more in small samples; it must explain more than in about
/// 99.5% of uniform samples of that number, the flattest unimodal distribution.
pub fn find_modes(values: &[f64]) -> Option<Modes> {
    let sorted = sorted(values);
    let n = sorted.len();
    let (left, edges) = cuts(&sorted, 2).into_iter().next()?;
    if 1.0 - left < critical_share(n) || !apart(&sorted, &edges) {
        return None;
    }
    let level = |values: &[f64]| {
        let share = values.len() as f64 / n as f64;
        Some(Level { value: median_of_sorted(values)?, share, interval: None })
    };
    let (low, high) = sorted.split_at(edges[1]);
    Some(Modes { low: level(low)?, high: level(high)?, explained: 1.0 - left })
}

/// Returns the 99.5th to 99.9th percentile of the explained share in uniform samples (4000 simulated for each of n = 8,
/// 9, 10, 12, 15, 20, 30, 50 and 100), fitted by a curve in 1/√n.
fn critical_share(n: usize) -> f64 {
    0.77 + 0.62 / (n as f64).sqrt()
}

/// Maximum number of levels that can each hold 15% of the samples and be distinguished.
const MOST_LEVELS: usize = 5;

/// Finds the levels of `values` (in the order taken), ascending; empty if a unimodal distribution explains them as
/// well.
///
/// For two to five levels, the samples are cut where that leaves the least variance within the parts (Fisher's exact
/// optimum). A uniform distribution, the flattest unimodal one, leaves about 1/k² of its variance within k parts. As in
/// [`find_modes`], a number of levels counts only if it leaves less than nearly all uniform samples of
/// that number do, every level holds 15% of the samples and is 10% above the one below. Of the numbers that count,
/// the one farthest below chance is taken.
///
/// Intervals treat the assignment of samples to levels as known; shares are those of the samples.
pub fn levels(values: &[f64], bootstrap: &Bootstrap) -> Vec<Level> {
    let ordered = sorted(values);
    let n = ordered.len();
    let best = cuts(&ordered, MOST_LEVELS)
        .into_iter()
        .filter(|(_, edges)| apart(&ordered, edges))
        .filter_map(|(left, edges)| {
            let chance = left_by_chance(edges.len() - 1, n);
            (left < chance).then(|| (left / chance, edges))
        })
        .min_by(|a, b| a.0.total_cmp(&b.0));
    let Some((_, edges)) = best else { return Vec::new() };
    edges
        .windows(2)
        .filter_map(|edge| {
            let (low, high) = (ordered[edge[0]], ordered[edge[1] - 1]);
            let here: Vec<f64> = values.iter().copied().filter(|v| (low..=high).contains(v)).collect();
            let interval = bootstrap.median(&here)?;
            let share = (edge[1] - edge[0]) as f64 / n as f64;
            Some(Level { value: interval.value, share, interval: Some(interval) })
        })
        .collect()
}

/// Returns the share of the variance within `parts` parts that uniform samples undercut in about one case in a
/// thousand, from simulated samples (3000 for each of n = 8, 10, 12, 15, 20, 30, 50 and 100), fitted by a curve in
/// 1/√n.
fn left_by_chance(parts: usize, n: usize) -> f64 {
    if parts == 2 {
        return 1.0 - critical_share(n);
    }
    (0.90 - 3.1 / (n as f64).sqrt()) / (parts * parts) as f64
}

/// True if each part's median is far enough above the one below.
fn apart(ordered: &[f64], edges: &[usize]) -> bool {
    let medians: Vec<f64> =
        edges.windows(2).filter_map(|edge| median_of_sorted(&ordered[edge[0]..edge[1]])).collect();
    medians.windows(2).all(|pair| pair[1] - pair[0] >= LEVELS_APART * pair[0].abs())
}

/// Returns, for each number of parts from two to `most`, the share of the variance that the best cut leaves within them,
/// and the parts' edges; none for too few samples.
fn cuts(ordered: &[f64], most: usize) -> Vec<(f64, Vec<usize>)> {
    let n = ordered.len();
    if n < MIN_SAMPLES_FOR_MODES {
        return Vec::new();
    }
    let least = 2.max((SMALLEST_SHARE * n as f64).ceil() as usize);
    let mean = mean(ordered);
    // Running sums of the distances from the mean and of their squares give any run's variance directly.
    let mut sums = vec![(0.0, 0.0)];
    for value in ordered {
        let (sum, squares) = sums[sums.len() - 1];
        let distance = value - mean;
        sums.push((sum + distance, squares + distance * distance));
    }
    let within = |from: usize, to: usize| {
        let (sum, squares) = (sums[to].0 - sums[from].0, sums[to].1 - sums[from].1);
        (squares - sum * sum / (to - from) as f64).max(0.0)
    };
    let total = within(0, n);
    if total <= 0.0 {
        return Vec::new();
    }
    // cost[to]: the least variance within the parts so far, the last of which ends before `to`.
    let mut cost: Vec<f64> =
        (0..=n).map(|to| if to < least { f64::INFINITY } else { within(0, to) }).collect();
    let mut starts: Vec<Vec<usize>> = Vec::new();
    let mut found = Vec::new();
    for parts in 2..=most {
        let mut next = vec![f64::INFINITY; n + 1];
        let mut start = vec![0; n + 1];
        // The best start of a last part moves up with its end, so the ends on each side of the middle one search one side of its
        // start: n log n steps.
        let first = (parts - 1) * least;
        let mut open = vec![(first + least..n + 1, first..n + 1)];
        while let Some((ends, froms)) = open.pop() {
            if ends.is_empty() {
                continue;
            }
            let to = ends.start + ends.len() / 2;
            let most = froms.end.min(to - least + 1);
            for (from, before) in cost.iter().enumerate().take(most).skip(froms.start) {
                let here = before + within(from, to);
                if here < next[to] {
                    (next[to], start[to]) = (here, from);
                }
            }
            open.push((ends.start..to, froms.start..start[to] + 1));
            open.push((to + 1..ends.end, start[to]..froms.end));
        }
        starts.push(start);
        cost = next;
        if cost[n].is_finite() {
            let mut edges = vec![n];
            for start in starts.iter().rev() {
                edges.push(start[edges[edges.len() - 1]]);
            }
            edges.push(0);
            edges.reverse();
            found.push((cost[n] / total, edges));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Xoshiro256;
    use crate::stats::quantile::squares;

    #[test]
    fn two_levels_are_found_with_their_shares() {
        let mut rng = Xoshiro256::seeded(4);
        let mut found = 0;
        for _ in 0..500 {
            let values: Vec<f64> =
                (0..20).map(|i| if i % 4 == 0 { 1.3 } else { 2.6 } * (1.0 + 0.03 * rng.normal())).collect();
            if let Some(modes) = find_modes(&values) {
                found += 1;
                assert!((modes.low.value - 1.3).abs() < 0.15 && (modes.high.value - 2.6).abs() < 0.2);
                assert!((modes.low.share - 0.25).abs() < 1e-9 && (modes.high.share - 0.75).abs() < 1e-9);
            }
        }
        assert!(found >= 495, "{found} of 500");
    }

    #[test]
    fn small_differences_and_single_outliers_are_not_modes() {
        let near: Vec<f64> = (0..20).map(|i| if i % 2 == 0 { 100.0 } else { 103.0 }).collect();
        let few = [1.0, 1.0, 1.0, 9.0, 9.0, 9.0, 9.0];
        for values in [near.as_slice(), &few] {
            assert!(find_modes(values).is_none() && levels(values, &Bootstrap::default()).is_empty());
        }
        assert!(levels(&[4.0; 30], &Bootstrap::default()).is_empty());
        let mut outlier = vec![1.0, 1.01, 0.99, 1.0, 1.02, 0.98, 1.0, 1.01, 0.99];
        outlier.push(9.0);
        assert_eq!(find_modes(&outlier), None);
    }

    #[test]
    fn best_cut_agrees_with_brute_force() {
        let mut rng = Xoshiro256::seeded(12);
        for _ in 0..50 {
            // 15% are 2 of 8 to 13 samples and 8 of 50.
            let (n, part) = if rng.unit() < 0.5 { (12, 2) } else { (50, 8) };
            let values: Vec<f64> = (0..n).map(|_| rng.unit()).collect();
            let ordered = sorted(&values);
            let mut least = f64::INFINITY;
            for one in part..=n - 2 * part {
                for two in one + part..=n - part {
                    least = least.min(
                        squares(&ordered[..one]) + squares(&ordered[one..two]) + squares(&ordered[two..]),
                    );
                }
            }
            let found = &cuts(&ordered, 3)[1];
            assert_eq!(found.1.len(), 4);
            assert!((found.0 - least / squares(&ordered)).abs() < 1e-12);
        }
    }

    #[test]
    fn three_levels_are_found_where_find_modes_finds_none() {
        // Evenly spaced and equally full: the best cut in two explains three quarters, as for a uniform distribution.
        let values: Vec<f64> = (0..24).map(|i| f64::from(i % 3 + 1) + 0.01 * f64::from(i)).collect();
        assert_eq!(find_modes(&values), None);
        let found = levels(&values, &Bootstrap::default());
        assert_eq!(found.len(), 3, "{found:?}");
        for (level, expected) in found.iter().zip([1.105, 2.115, 3.125]) {
            assert!((level.value - expected).abs() < 0.01 && (level.share - 1.0 / 3.0).abs() < 1e-12);
            assert!(level.interval.unwrap().contains(level.value));
        }
    }

    #[test]
    fn old_documents_have_no_interval() {
        let level: Level = serde_json::from_str(r#"{"value":2.5,"share":0.4}"#).unwrap();
        assert_eq!(level, Level { value: 2.5, share: 0.4, interval: None });
        assert_eq!(serde_json::to_string(&level).unwrap(), r#"{"value":2.5,"share":0.4}"#);
    }
}
