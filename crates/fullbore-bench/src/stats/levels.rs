//! Multimodal cells: two or more levels, each with its share and the interval of its median.

use super::interval::Bootstrap;
use super::modes::{LEVELS_APART, Level, MIN_SAMPLES_FOR_MODES, SMALLEST_SHARE, critical_share};
use super::quantile::{median_of_sorted, sorted};

/// Maximum number of levels that can each hold 15 % of the samples and be distinguished.
const MOST_LEVELS: usize = 5;

/// Finds the levels of `values` (in the order taken), ascending; empty if a unimodal distribution explains them as
/// well.
///
/// For two to five levels, the samples are cut where that leaves the least variance within the parts (Fisher's exact
/// optimum). A uniform distribution, the flattest unimodal one, leaves about 1/k² of its variance within k parts. As in
/// [`two_humps`](super::two_humps), a number of levels counts only if it leaves less than nearly all uniform samples of
/// that number do, every level holds 15 % of the samples and is 10 % above the one below. Of the numbers that count,
/// the one farthest below chance is taken.
///
/// Intervals treat the assignment of samples to levels as known; shares are those of the samples.
pub fn levels(values: &[f64], bootstrap: &Bootstrap) -> Vec<Level> {
    let ordered = sorted(values);
    let n = ordered.len();
    if n < MIN_SAMPLES_FOR_MODES {
        return Vec::new();
    }
    let least = 2.max((SMALLEST_SHARE * n as f64).ceil() as usize);
    let best = cuts(&ordered, least)
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

/// Returns, for two to five parts of at least `least` values each, the share of the variance that the best cut leaves
/// within them, and the parts' edges.
fn cuts(ordered: &[f64], least: usize) -> Vec<(f64, Vec<usize>)> {
    let n = ordered.len();
    let mean = ordered.iter().sum::<f64>() / n as f64;
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
    for parts in 2..=MOST_LEVELS {
        let mut next = vec![f64::INFINITY; n + 1];
        let mut start = vec![0; n + 1];
        for to in parts * least..=n {
            for (from, before) in cost.iter().enumerate().take(to - least + 1).skip((parts - 1) * least) {
                let here = before + within(from, to);
                if here < next[to] {
                    (next[to], start[to]) = (here, from);
                }
            }
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
    use crate::stats::{Xoshiro256, two_humps};

    #[test]
    fn best_cut_agrees_with_brute_force() {
        let mut rng = Xoshiro256::seeded(12);
        for _ in 0..50 {
            let values: Vec<f64> = (0..12).map(|_| rng.unit()).collect();
            let ordered = sorted(&values);
            let spread = |part: &[f64]| {
                let mean = part.iter().sum::<f64>() / part.len() as f64;
                part.iter().map(|v| (v - mean).powi(2)).sum::<f64>()
            };
            let mut least = f64::INFINITY;
            for one in 2..=8 {
                for two in one + 2..=10 {
                    least = least
                        .min(spread(&ordered[..one]) + spread(&ordered[one..two]) + spread(&ordered[two..]));
                }
            }
            let found = &cuts(&ordered, 2)[1];
            assert_eq!(found.1.len(), 4);
            assert!((found.0 - least / spread(&ordered)).abs() < 1e-12);
        }
    }

    #[test]
    fn three_levels_are_found_where_two_humps_finds_none() {
        // Evenly spaced and equally full: the best cut in two explains three quarters, as for a uniform distribution.
        let values: Vec<f64> = (0..24).map(|i| f64::from(i % 3 + 1) + 0.01 * f64::from(i)).collect();
        assert_eq!(two_humps(&values), None);
        let found = levels(&values, &Bootstrap::default());
        assert_eq!(found.len(), 3, "{found:?}");
        for (level, expected) in found.iter().zip([1.105, 2.115, 3.125]) {
            assert!((level.value - expected).abs() < 0.01 && (level.share - 1.0 / 3.0).abs() < 1e-12);
            assert!(level.interval.unwrap().contains(level.value));
        }
    }

    #[test]
    fn unimodal_samples_have_no_levels() {
        assert!(levels(&[1.0, 1.0, 1.0, 9.0, 9.0, 9.0, 9.0], &Bootstrap::default()).is_empty());
        assert!(levels(&[4.0; 30], &Bootstrap::default()).is_empty());
        let near: Vec<f64> = (0..20).map(|i| if i % 2 == 0 { 100.0 } else { 103.0 }).collect();
        assert!(levels(&near, &Bootstrap::default()).is_empty());
    }

    #[test]
    fn old_documents_have_no_interval() {
        let level: Level = serde_json::from_str(r#"{"value":2.5,"share":0.4}"#).unwrap();
        assert_eq!(level, Level { value: 2.5, share: 0.4, interval: None });
        assert_eq!(serde_json::to_string(&level).unwrap(), r#"{"value":2.5,"share":0.4}"#);
    }
}
