//! Drift: a rise or fall of samples with the order in which they were taken.

use serde::{Deserialize, Serialize};

use super::distribution::normal_cdf;
use super::quantile::{median, sorted};

/// The Mann–Kendall test of a trend, with the size of the trend besides its significance.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// Kendall's rank correlation of value and order, −1 (always falling) to 1 (always rising).
    pub tau: f64,
    /// Probability of an equally strong trend in either direction, if there were none.
    pub p: f64,
    /// Change from the first to the last sample along the Theil–Sen line, as a share of the median.
    pub relative_change: f64,
}

/// A trend, or a jump, is reported if chance explains it in fewer than one case in a hundred …
pub(super) const SIGNIFICANCE: f64 = 0.01;
/// … and matters if it changes the cell by at least this share of its median, or of the level before.
pub(super) const CHANGE_THAT_MATTERS: f64 = 0.05;
/// Most points of a trend. Of more samples, groups of adjacent ones are replaced by their medians: the number of slopes is
/// quadratic.
const POINTS: usize = 1000;
/// Up to this many samples without ties, the null distribution is counted exactly.
const EXACT_UP_TO: usize = 20;

impl Drift {
    /// True if the trend is both significant (p < 0.01) and large enough to matter (5% over the run).
    pub fn matters(&self) -> bool {
        self.p < SIGNIFICANCE && self.relative_change.abs() >= CHANGE_THAT_MATTERS
    }
}

/// Returns the trend of `values` in the order taken; `None` below four finite samples.
pub fn mann_kendall(values: &[f64]) -> Option<Drift> {
    let points: Vec<(f64, f64)> =
        values.iter().enumerate().filter(|(_, v)| v.is_finite()).map(|(i, v)| (i as f64, *v)).collect();
    let span = points.last()?.0 - points[0].0;
    let group = points.len().div_ceil(POINTS);
    let middle = |points: &[(f64, f64)]| {
        let values: Vec<f64> = points.iter().map(|point| point.1).collect();
        (points[0].0, median(&values).unwrap_or(points[0].1))
    };
    let points: Vec<(f64, f64)> = points.chunks(group).map(middle).collect();
    let n = points.len();
    if n < 4 {
        return None;
    }
    let mut score = 0i64;
    let mut ties = false;
    let mut slopes = Vec::with_capacity(n * (n - 1) / 2);
    for (i, early) in points.iter().enumerate() {
        for late in &points[i + 1..] {
            let difference = late.1 - early.1;
            slopes.push(difference / (late.0 - early.0));
            ties |= difference == 0.0;
            score += i64::from(difference > 0.0) - i64::from(difference < 0.0);
        }
    }
    let pairs = (n * (n - 1) / 2) as f64;
    let p = if n <= EXACT_UP_TO && !ties { exact_p(n, score) } else { normal_p(&points, score) };
    let middle = median(&points.iter().map(|p| p.1).collect::<Vec<_>>())?;
    let rise = median(&slopes)? * span;
    let relative_change = if middle == 0.0 { 0.0 } else { rise / middle };
    Some(Drift { tau: score as f64 / pairs, p, relative_change })
}

/// Computes the two-sided p by counting the permutations of `n` at least as far from balance as `score`.
fn exact_p(n: usize, score: i64) -> f64 {
    // share[k]: share of permutations with k inversions, built up one element at a time.
    let mut share = vec![1.0];
    for size in 2..=n {
        let mut next = vec![0.0; share.len() + size - 1];
        for (k, value) in share.iter().enumerate() {
            for slot in &mut next[k..k + size] {
                *slot += value / size as f64;
            }
        }
        share = next;
    }
    let pairs = (share.len() - 1) as i64;
    let extreme = |(k, _): &(usize, &f64)| (pairs - 2 * *k as i64).abs() >= score.abs();
    share.iter().enumerate().filter(extreme).map(|(_, s)| s).sum::<f64>().min(1.0)
}

/// Computes the two-sided p by the normal approximation, corrected for ties and continuity.
fn normal_p(points: &[(f64, f64)], score: i64) -> f64 {
    let n = points.len() as f64;
    let tied: f64 = sorted(&points.iter().map(|p| p.1).collect::<Vec<_>>())
        .chunk_by(|a, b| a == b)
        .map(|group| {
            let t = group.len() as f64;
            t * (t - 1.0) * (2.0 * t + 5.0)
        })
        .sum();
    let variance = (n * (n - 1.0) * (2.0 * n + 5.0) - tied) / 18.0;
    if variance <= 0.0 || score == 0 {
        return 1.0;
    }
    let z = (score.abs() - 1) as f64 / variance.sqrt();
    (2.0 * normal_cdf(-z)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_straight_rise_is_certain() {
        let drift = mann_kendall(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        // Two of 120 orders are monotone.
        assert_eq!(drift.tau, 1.0);
        assert!((drift.p - 2.0 / 120.0).abs() < 1e-12);
        assert!((drift.relative_change - 4.0 / 3.0).abs() < 1e-12);
        assert_eq!(mann_kendall(&[1.0, 2.0, 3.0]), None);
    }

    /// Without the groups there would be five thousand million pairs of samples.
    #[test]
    fn many_samples_have_the_trend_of_their_groups() {
        let values: Vec<f64> =
            (0..100_000).map(|i| 1e6 + f64::from(i * 7919 % 100_000) + f64::from(i)).collect();
        let drift = mann_kendall(&values).unwrap();
        assert!((drift.relative_change - 0.09).abs() < 0.005 && drift.tau > 0.9, "{drift:?}");
    }

    #[test]
    fn flat_and_tied_samples_do_not_drift() {
        let drift = mann_kendall(&[7.0; 12]).unwrap();
        assert_eq!((drift.p, drift.relative_change, drift.matters()), (1.0, 0.0, false));
    }

    #[test]
    fn a_significant_but_tiny_trend_does_not_matter() {
        let values: Vec<f64> = (0..30).map(|i| 100.0 + 0.01 * f64::from(i)).collect();
        let drift = mann_kendall(&values).unwrap();
        assert!(drift.p < 1e-6 && !drift.matters());
    }
}
