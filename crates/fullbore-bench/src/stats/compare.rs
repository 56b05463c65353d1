//! Comparison of two cells: a ratio with its interval and a verdict in words.

use serde::{Deserialize, Serialize};

use super::interval::{Bootstrap, Estimate, resampled_medians};
use super::quantile::{median_of_sorted, sorted};
use super::rng::Xoshiro256;

/// Rates within 3 % of each other are equal for every purpose here (Riedel's margin of repeatability).
pub const DEFAULT_MARGIN: f64 = 0.03;

/// What a comparison says of the first cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The first is faster: the interval lies above 1 and the estimate above the margin.
    Faster,
    /// The first is slower, likewise.
    Slower,
    /// The whole interval lies within the margin.
    NoDifferenceThatMatters,
    /// The interval is too wide to tell.
    Unclear,
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::NoDifferenceThatMatters => "no difference that matters",
            Self::Unclear => "unclear",
        })
    }
}

/// The ratio of two medians and what it means.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// First median ÷ second median, with its interval.
    pub ratio: Estimate,
    /// What follows.
    pub verdict: Verdict,
}

/// Compares two sets of rates (more is better, same unit) with an equivalence `margin` (0.03 is 3 %).
///
/// `None` when either has no finite value or the second's median is not positive.
pub fn compare_rates(
    first: &[f64],
    second: &[f64],
    margin: f64,
    bootstrap: &Bootstrap,
) -> Option<Comparison> {
    let (first, second) = (sorted(first), sorted(second));
    let (top, bottom) = (median_of_sorted(&first)?, median_of_sorted(&second)?);
    if bottom <= 0.0 {
        return None;
    }
    let ratio = top / bottom;
    if first.len() < 2 || second.len() < 2 {
        let ratio = Estimate { value: ratio, low: ratio, high: ratio };
        return Some(Comparison { ratio, verdict: Verdict::Unclear });
    }
    let mut rng = Xoshiro256::seeded(bootstrap.seed);
    let resamples = bootstrap.resamples.max(1);
    let (mut tops, mut bottoms) = (Vec::with_capacity(resamples), Vec::with_capacity(resamples));
    resampled_medians(&first, resamples, &mut rng, &mut tops);
    resampled_medians(&second, resamples, &mut rng, &mut bottoms);
    let ratios = tops.iter().zip(&bottoms).map(|(t, b)| t / b).collect();
    let ratio = bootstrap.percentiles(ratio, ratios, first.len().min(second.len()));
    let (least, most) = (1.0 / (1.0 + margin), 1.0 + margin);
    let verdict = if ratio.low >= least && ratio.high <= most {
        Verdict::NoDifferenceThatMatters
    } else if ratio.low > 1.0 && ratio.value >= most {
        Verdict::Faster
    } else if ratio.high < 1.0 && ratio.value <= least {
        Verdict::Slower
    } else {
        Verdict::Unclear
    };
    Some(Comparison { ratio, verdict })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(middle: f64, spread: f64, n: usize) -> Vec<f64> {
        let mut rng = Xoshiro256::seeded(n as u64);
        (0..n).map(|_| middle * (1.0 + spread * (rng.unit() - 0.5))).collect()
    }

    fn verdict(a: &[f64], b: &[f64]) -> Verdict {
        compare_rates(a, b, DEFAULT_MARGIN, &Bootstrap::default()).unwrap().verdict
    }

    #[test]
    fn verdicts() {
        let base = around(10.0, 0.02, 15);
        assert_eq!(verdict(&around(12.0, 0.02, 20), &base), Verdict::Faster);
        assert_eq!(verdict(&around(8.0, 0.02, 20), &base), Verdict::Slower);
        assert_eq!(verdict(&around(10.05, 0.02, 20), &base), Verdict::NoDifferenceThatMatters);
        assert_eq!(verdict(&around(10.5, 1.0, 9), &base), Verdict::Unclear);
        assert_eq!(verdict(&[12.0], &base), Verdict::Unclear, "one sample says nothing");
        assert_eq!(compare_rates(&[], &base, 0.03, &Bootstrap::default()), None);
        assert_eq!(compare_rates(&base, &[0.0, 0.0], 0.03, &Bootstrap::default()), None);
    }

    #[test]
    fn the_ratio_holds_the_truth() {
        let mut rng = Xoshiro256::seeded(5);
        let mut held = 0;
        for seed in 0..500 {
            let mut draw =
                |middle: f64| -> Vec<f64> { (0..15).map(|_| middle * (0.9 + 0.2 * rng.unit())).collect() };
            let (a, b) = (draw(3.0), draw(2.0));
            let bootstrap = Bootstrap { seed, resamples: 500, ..Bootstrap::default() };
            held += usize::from(compare_rates(&a, &b, 0.03, &bootstrap).unwrap().ratio.contains(1.5));
        }
        assert!(held >= 465, "{held} of 500");
    }
}
