//! The half-power point: the smallest request size, or depth, that reaches half of the peak throughput.

use serde::{Deserialize, Serialize};

use super::interval::{Bootstrap, Estimate, SampleSet};
use super::quantile::squares;

/// A half-power point on one axis (request size in bytes, or depth in requests).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HalfPower {
    /// Smallest measured position whose median is at least half of the peak.
    pub at: u64,
    /// True if nothing smaller was measured, so that the true point may be below `at`.
    pub at_most: bool,
    /// Interpolated point at which the curve crosses half of its plateau, on a log2 axis between the measured
    /// positions, with its interval; `None` if `at_most`. The plateau is the mean of the medians within one standard
    /// error of the largest, because the largest of several equal ones is biased upwards.
    pub crossing: Option<Estimate>,
    /// The peak: the largest median, in the unit of the samples.
    pub peak: f64,
    /// Position of the peak.
    pub peak_at: u64,
    /// True if the peak is at the largest measured position and the curve is still rising (by more than 5% from the
    /// position before), so that the true peak, and with it the half-power point, may be larger.
    pub still_rising: bool,
}

/// Growth over the last step above which the curve has not levelled off.
const LEVEL: f64 = 0.05;

/// Finds the half-power point of a curve of (position, samples of the rate there), in any order.
///
/// Positions without finite samples are skipped; `None` below two positions or if the peak is not positive.
pub fn half_power(curve: &[(u64, Vec<f64>)], bootstrap: &Bootstrap) -> Option<HalfPower> {
    let mut points: Vec<(u64, SampleSet)> = curve
        .iter()
        .map(|(at, values)| (*at, SampleSet::of(values)))
        .filter(|(at, samples)| *at > 0 && !samples.sorted.is_empty())
        .collect();
    points.sort_by_key(|point| point.0);
    if points.len() < 2 {
        return None;
    }
    let (positions, points): (Vec<u64>, Vec<SampleSet>) = points.into_iter().unzip();
    let medians: Vec<f64> = points.iter().filter_map(SampleSet::median).collect();
    let top = (0..medians.len()).max_by(|&a, &b| medians[a].total_cmp(&medians[b]))?;
    let peak = medians[top];
    if peak <= 0.0 {
        return None;
    }
    let first = medians.iter().position(|&m| m >= peak / 2.0)?;
    let crossing = (first > 0).then(|| crossing_interval(&positions, &points, &medians, top, bootstrap));
    let last = medians.len() - 1;
    Some(HalfPower {
        at: positions[first],
        at_most: first == 0,
        crossing,
        peak,
        peak_at: positions[top],
        still_rising: top == last && medians[last] > medians[last - 1] * (1.0 + LEVEL),
    })
}

/// Returns the crossing of half of the plateau around position `top`, with its interval.
///
/// Every resample redraws all medians and keeps the same plateau. Taking each resample's own largest median as its peak
/// would bias the peak upwards a second time: such intervals held the true crossing in 60 to 86% of cases.
fn crossing_interval(
    positions: &[u64],
    points: &[SampleSet],
    medians: &[f64],
    top: usize,
    bootstrap: &Bootstrap,
) -> Estimate {
    let drawn = bootstrap.drawn(points);
    // The variance of resampled medians is the squared standard error of the median.
    let errors: Vec<f64> = drawn.iter().map(|d| squares(d) / d.len().max(1) as f64).collect();
    let plateau: Vec<usize> = (0..points.len())
        .filter(|&i| medians[top] - medians[i] <= (errors[top] + errors[i]).sqrt())
        .collect();
    let level = |curve: &[f64]| plateau.iter().map(|&i| curve[i]).sum::<f64>() / plateau.len() as f64;
    let crossings = bootstrap.refit(&drawn, |curve| crossing(positions, curve, level(curve) / 2.0));
    let fewest = points.iter().map(|p| p.worth).min().unwrap_or(0);
    bootstrap.percentiles(crossing(positions, medians, level(medians) / 2.0), crossings, fewest)
}

/// Returns the position at which a curve first reaches `half`: linear in the rate, logarithmic in the position. The
/// smallest position if it starts above, the largest if it never does.
fn crossing(positions: &[u64], rates: &[f64], half: f64) -> f64 {
    let Some(first) = rates.iter().position(|&r| r >= half) else {
        return positions[positions.len() - 1] as f64;
    };
    if first == 0 {
        return positions[0] as f64;
    }
    let (low, high) = ((positions[first - 1] as f64).log2(), (positions[first] as f64).log2());
    let share = (half - rates[first - 1]) / (rates[first] - rates[first - 1]);
    (low + share * (high - low)).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Xoshiro256;

    /// Returns the curve of a disk limited to `iops` requests and `bps` bytes per second.
    fn limited(iops: f64, bps: f64, noise: f64) -> Vec<(u64, Vec<f64>)> {
        let mut rng = Xoshiro256::seeded(9);
        (12..=22)
            .map(|power| {
                let request = 1u64 << power;
                let rate = (iops * request as f64).min(bps);
                (request, (0..9).map(|_| rate * (1.0 + noise * (rng.unit() - 0.5))).collect())
            })
            .collect()
    }

    #[test]
    fn known_limits_give_the_known_point() {
        for (iops, bps) in
            [(2_000.0f64, 100e6f64), (500.0, 150e6), (10_000.0, 400e6), (100.0, 60e6), (5_000.0, 97e6)]
        {
            let expected: u64 = (bps / (2.0 * iops)).log2().ceil().exp2() as u64;
            for noise in [0.0, 0.02] {
                let found = half_power(&limited(iops, bps, noise), &Bootstrap::default()).unwrap();
                assert_eq!(found.at, expected, "{iops} {bps} {found:?}");
                assert!((found.peak / bps - 1.0).abs() < 0.02 && !found.at_most && !found.still_rising);
                let crossing = found.crossing.unwrap();
                assert!(crossing.low <= crossing.value && crossing.value <= crossing.high);
                assert!(crossing.high <= expected as f64 * 1.05 && crossing.low >= expected as f64 / 2.2);
            }
        }
        // Without the requests that reach the limit of bytes, the curve still rises.
        let cut = half_power(&limited(2_000.0, 100e6, 0.0)[..4], &Bootstrap::default()).unwrap();
        assert!(cut.still_rising);
    }

    #[test]
    fn a_flat_curve_is_an_upper_bound_only() {
        let curve: Vec<(u64, Vec<f64>)> = [1, 3, 8, 32].map(|d| (d, vec![90.0, 100.0, 101.0])).to_vec();
        let found = half_power(&curve, &Bootstrap::default()).unwrap();
        assert_eq!((found.at, found.at_most, found.crossing), (1, true, None));
    }

    #[test]
    fn no_curve_gives_none() {
        let bootstrap = Bootstrap::default();
        assert_eq!(half_power(&[], &bootstrap), None);
        assert_eq!(half_power(&[(1, vec![1.0])], &bootstrap), None);
        assert_eq!(half_power(&[(1, vec![0.0]), (2, vec![0.0])], &bootstrap), None);
        assert_eq!(half_power(&[(1, vec![f64::NAN]), (2, vec![1.0])], &bootstrap), None);
    }
}
