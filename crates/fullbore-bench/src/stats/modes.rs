//! Bimodal cells: samples on two levels, such as those of a disk with and without burst credit.

use serde::{Deserialize, Serialize};

use super::interval::Estimate;
use super::quantile::{median_of_sorted, sorted};

/// Minimum number of samples; with fewer, two modes cannot be distinguished from chance.
pub const MIN_SAMPLES_FOR_MODES: usize = 8;

/// Levels closer than this (as a share of the lower) count as one.
pub(super) const LEVELS_APART: f64 = 0.10;
/// Minimum share of the samples in a mode (and at least two samples); fewer are outliers.
pub(super) const SMALLEST_SHARE: f64 = 0.15;

/// A level of samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// Median of the samples at this level, in their unit.
    pub value: f64,
    /// Share of the samples at this level, 0 to 1.
    pub share: f64,
    /// Interval of the level's median; set only by [`levels`](super::levels).
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
/// The samples are cut in two where that leaves the least variance within the parts. The best cut explains 64 % of the
/// variance of a normal and 75 % of a uniform distribution, more in small samples; it must explain more than in about
/// 99.5 % of uniform samples of that number, the flattest unimodal distribution.
pub fn two_humps(values: &[f64]) -> Option<Modes> {
    let sorted = sorted(values);
    let n = sorted.len();
    if n < MIN_SAMPLES_FOR_MODES {
        return None;
    }
    let mean = sorted.iter().sum::<f64>() / n as f64;
    let total: f64 = sorted.iter().map(|v| (v - mean).powi(2)).sum();
    if total <= 0.0 {
        return None;
    }
    let smallest = 2.max((SMALLEST_SHARE * n as f64).ceil() as usize);
    let mut best: Option<(usize, f64)> = None;
    let mut running = 0.0;
    for cut in 1..n {
        running += sorted[cut - 1] - mean;
        if cut < smallest || n - cut < smallest {
            continue;
        }
        // Both parts' distance from the mean, weighted by their size, is the variance that the cut explains.
        let between = running * running * n as f64 / (cut as f64 * (n - cut) as f64);
        if best.is_none_or(|(_, b)| between > b) {
            best = Some((cut, between));
        }
    }
    let (cut, between) = best?;
    let explained = between / total;
    let (low, high) = (median_of_sorted(&sorted[..cut])?, median_of_sorted(&sorted[cut..])?);
    if explained < critical_share(n) || high - low < LEVELS_APART * low.abs() {
        return None;
    }
    let share = cut as f64 / n as f64;
    Some(Modes {
        low: Level { value: low, share, interval: None },
        high: Level { value: high, share: 1.0 - share, interval: None },
        explained,
    })
}

/// Returns the 99.5th to 99.9th percentile of the explained share in uniform samples (4000 simulated for each of n = 8,
/// 9, 10, 12, 15, 20, 30, 50 and 100), fitted by a curve in 1/√n.
pub(super) fn critical_share(n: usize) -> f64 {
    0.77 + 0.62 / (n as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Xoshiro256;

    fn normal(rng: &mut Xoshiro256) -> f64 {
        (-2.0 * (1.0 - rng.unit()).ln()).sqrt() * (std::f64::consts::TAU * rng.unit()).cos()
    }

    #[test]
    fn one_mode_is_rarely_reported_as_two() {
        let mut rng = Xoshiro256::seeded(3);
        for n in [8, 12, 20, 40] {
            let mut found = [0; 3];
            for _ in 0..2000 {
                let flat: Vec<f64> = (0..n).map(|_| 1.0 + rng.unit()).collect();
                let bell: Vec<f64> = (0..n).map(|_| 10.0 + normal(&mut rng)).collect();
                let skewed: Vec<f64> = (0..n).map(|_| 1.0 - 0.3 * (1.0 - rng.unit()).ln()).collect();
                for (count, values) in found.iter_mut().zip([flat, bell, skewed]) {
                    *count += usize::from(two_humps(&values).is_some());
                }
            }
            assert!(found[0] <= 20 && found[1] <= 20, "{n}: {found:?} of 2000");
            // A long tail resembles a second level more often; still in at most one case of twenty.
            assert!(found[2] <= 100, "{n}: {found:?} of 2000");
        }
    }

    #[test]
    fn two_levels_are_found_with_their_shares() {
        let mut rng = Xoshiro256::seeded(4);
        let mut found = 0;
        for _ in 0..500 {
            let values: Vec<f64> = (0..20)
                .map(|i| if i % 4 == 0 { 1.3 } else { 2.6 } * (1.0 + 0.03 * normal(&mut rng)))
                .collect();
            if let Some(modes) = two_humps(&values) {
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
        assert_eq!(two_humps(&near), None);
        let mut outlier = vec![1.0, 1.01, 0.99, 1.0, 1.02, 0.98, 1.0, 1.01, 0.99];
        outlier.push(9.0);
        assert_eq!(two_humps(&outlier), None);
        assert_eq!(two_humps(&[1.0, 1.0, 1.0, 9.0, 9.0, 9.0, 9.0]), None, "seven are too few");
    }
}
