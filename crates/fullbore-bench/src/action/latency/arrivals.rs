//! Arrival times of requests, independent of earlier requests' completion.

use serde::Deserialize;

use crate::stats::Xoshiro256;

/// Distribution of the gaps between requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub(super) enum Spacing {
    /// Poisson arrivals, as of many independent users: exponentially distributed gaps.
    #[default]
    Poisson,
    Constant,
}

impl Spacing {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Poisson => "poisson",
            Self::Constant => "constant",
        }
    }
}

/// Returns the arrival times of `load` requests per second over `seconds`, in seconds from the start, ascending.
///
/// Poisson arrivals are conditioned on their number, which is therefore the same in every sample: exponentially
/// distributed gaps, scaled so that their sum is the time (the order statistics of a uniform sample).
pub(super) fn schedule(spacing: Spacing, load: f64, seconds: f64, seed: u64) -> Vec<f64> {
    let count = ((load * seconds).round() as usize).max(1);
    let mut dice = Xoshiro256::seeded(seed);
    let gap = || match spacing {
        // 1 - u is in (0, 1], so the logarithm is finite.
        Spacing::Poisson => -(1.0 - dice.unit()).ln(),
        Spacing::Constant => 1.0,
    };
    let gaps: Vec<f64> = std::iter::repeat_with(gap).take(count + 1).collect();
    let scale = seconds / gaps.iter().sum::<f64>();
    let mut now = 0.0;
    gaps[..count]
        .iter()
        .map(|gap| {
            now += gap * scale;
            now
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_requests_are_evenly_spaced() {
        let dues = schedule(Spacing::Constant, 100.0, 1.0, 1);
        assert_eq!(dues.len(), 100);
        assert!(dues.windows(2).all(|two| (two[1] - two[0] - 1.0 / 101.0).abs() < 1e-9));
        assert!(dues[99] < 1.0);
    }

    /// Gaps have mean and standard deviation 1/load; the variance of counts in intervals equals their mean.
    #[test]
    fn poisson_gaps_are_exponential() {
        let dues = schedule(Spacing::Poisson, 1000.0, 100.0, 7);
        assert_eq!(dues.len(), 100_000);
        assert!(dues.is_sorted() && dues[99_999] < 100.0);
        let gaps: Vec<f64> = dues.windows(2).map(|two| two[1] - two[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let deviation = (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
        assert!((mean / 1e-3 - 1.0).abs() < 0.02, "{mean}");
        assert!((deviation / 1e-3 - 1.0).abs() < 0.03, "{deviation}");
        let mut counts = vec![0f64; 10_000];
        dues.iter().for_each(|due| counts[((due * 100.0) as usize).min(9_999)] += 1.0);
        let variance = counts.iter().map(|count| (count - 10.0).powi(2)).sum::<f64>() / counts.len() as f64;
        assert!((variance / 10.0 - 1.0).abs() < 0.06, "{variance}");
    }
}
