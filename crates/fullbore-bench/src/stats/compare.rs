//! Comparison of two cells: a ratio with its interval, and a verdict.

use serde::{Deserialize, Serialize};

use super::interval::{Bootstrap, Estimate, SampleSet};

/// Rates within 3% of each other count as equal (Riedel's margin of repeatability).
pub const DEFAULT_MARGIN: f64 = 0.03;

/// Verdict on the first cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The first is faster: the interval is above 1 and the estimate at or above the margin.
    Faster,
    /// The first is slower: the interval is below 1 and the estimate at or below the reciprocal of the margin.
    Slower,
    /// The difference does not matter: the whole interval is within the margin.
    NoDifferenceThatMatters,
    /// The interval is too wide for a verdict.
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

/// The ratio of two medians, with a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RatioComparison {
    /// First median ÷ second median, with its interval.
    pub ratio: Estimate,
    /// Verdict on the ratio.
    pub verdict: Verdict,
}

impl RatioComparison {
    /// Returns the reason why there is no verdict although the interval excludes 1; `None` otherwise.
    pub(crate) fn unclear_because(&self) -> Option<&'static str> {
        let undecided = self.verdict == Verdict::Unclear && !self.ratio.contains(1.0);
        let most = 1.0 + DEFAULT_MARGIN;
        let near = self.ratio.value < most && self.ratio.value > 1.0 / most;
        undecided.then_some(if near { "less than 3% apart" } else { "too few samples" })
    }
}

/// Minimum number of samples of each set for a verdict: three all above another three occur by chance in one case of
/// ten. Correlated samples are never taken to be worth fewer, because the interval would then be the extremes.
pub(crate) const FEWEST_SAMPLES: usize = 4;
/// Minimum number of pairs for a verdict: five ratios all on one side of their true median occur in one case of
/// sixteen, and the interval of fewer than six is their range.
pub(crate) const FEWEST_PAIRS: usize = 6;

/// Compares two sets of rates (more is better, same unit), each in the order taken, with an equivalence `margin` (0.03
/// is 3%).
///
/// The interval is that of the ratio of medians. Autocorrelated sets are resampled as the smaller number of independent
/// samples that they are worth ([`effective_samples`](super::effective_samples)). `None` if either has no finite value
/// or the second's median is not positive.
pub fn compare_rates(
    first: &[f64],
    second: &[f64],
    margin: f64,
    bootstrap: &Bootstrap,
) -> Option<RatioComparison> {
    let [first, second] = [first, second].map(|values| {
        let samples = SampleSet::of(values);
        let worth = samples.worth.max(FEWEST_SAMPLES).min(samples.sorted.len());
        SampleSet { worth, ..samples }
    });
    let (top, bottom) = (first.median()?, second.median()?);
    if bottom <= 0.0 {
        return None;
    }
    let ratio = top / bottom;
    let fewest = first.worth.min(second.worth);
    if fewest < 2 {
        let ratio = Estimate { value: ratio, low: ratio, high: ratio };
        return Some(RatioComparison { ratio, verdict: Verdict::Unclear });
    }
    let bootstrap = Bootstrap { resamples: bootstrap.resamples.max(1), ..*bootstrap };
    let drawn = bootstrap.drawn([&first, &second]);
    let ratios = drawn[0].iter().zip(&drawn[1]).map(|(t, b)| t / b).collect();
    let ratio = bootstrap.percentiles(ratio, ratios, fewest);
    Some(RatioComparison { ratio, verdict: verdict(&ratio, margin, fewest >= FEWEST_SAMPLES) })
}

/// Compares rates measured alternately: `first[i]` and `second[i]` in the same round, with an equivalence `margin`.
///
/// Conditions that both of a round share (heat, other load, an expiring credit) cancel in their ratio. The interval is
/// that of the median of these ratios, as computed by [`Bootstrap::median`]. Rounds in which either value is missing,
/// not finite or not positive are skipped; `None` if none remains.
pub fn compare_paired(
    first: &[f64],
    second: &[f64],
    margin: f64,
    bootstrap: &Bootstrap,
) -> Option<RatioComparison> {
    let usable = |v: &f64| v.is_finite() && *v > 0.0;
    let rounds = first.iter().zip(second).filter(|(a, b)| usable(a) && usable(b));
    let ratios: Vec<f64> = rounds.map(|(a, b)| a / b).collect();
    let ratio = bootstrap.median(&ratios)?;
    Some(RatioComparison { ratio, verdict: verdict(&ratio, margin, ratios.len() >= FEWEST_PAIRS) })
}

/// Derives the verdict from a ratio's interval; `enough` is true if there are enough samples for one.
fn verdict(ratio: &Estimate, margin: f64, enough: bool) -> Verdict {
    let (least, most) = (1.0 / (1.0 + margin), 1.0 + margin);
    if !enough {
        Verdict::Unclear
    } else if ratio.low >= least && ratio.high <= most {
        Verdict::NoDifferenceThatMatters
    } else if ratio.low > 1.0 && ratio.value >= most {
        Verdict::Faster
    } else if ratio.high < 1.0 && ratio.value <= least {
        Verdict::Slower
    } else {
        Verdict::Unclear
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Xoshiro256;

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
        assert_eq!(verdict(&[12.0], &base), Verdict::Unclear, "one sample gives no verdict");
        let three = [30.0, 30.0, 30.1];
        assert_eq!(verdict(&three, &[10.0, 10.1, 10.0]), Verdict::Unclear, "three samples give no verdict");
        assert_eq!(compare_rates(&[], &base, 0.03, &Bootstrap::default()), None);
        assert_eq!(compare_rates(&base, &[0.0, 0.0], 0.03, &Bootstrap::default()), None);
    }

    #[test]
    fn pairing_cancels_shared_noise() {
        let mut rng = Xoshiro256::seeded(8);
        // The machine slows down to half its speed over the run; the first is 10% faster throughout.
        let shared: Vec<f64> = (0..12).map(|i| 100.0 / (1.0 + f64::from(i) / 11.0)).collect();
        let mut noisy = |factor: f64| -> Vec<f64> {
            shared.iter().map(|v| v * factor * (0.99 + 0.02 * rng.unit())).collect()
        };
        let (first, second) = (noisy(1.1), noisy(1.0));
        let bootstrap = Bootstrap::default();
        let paired = compare_paired(&first, &second, DEFAULT_MARGIN, &bootstrap).unwrap();
        assert_eq!(paired.verdict, Verdict::Faster);
        assert!(paired.ratio.contains(1.1) && paired.ratio.relative_half_width() < 0.02, "{paired:?}");
        assert_eq!(verdict(&first, &second), Verdict::Unclear, "unpaired, the drift hides the difference");
        let five = compare_paired(&first[..5], &second, DEFAULT_MARGIN, &bootstrap).unwrap();
        assert_eq!(five.verdict, Verdict::Unclear, "five pairs give no verdict");
        let same = compare_paired(&first, &first, DEFAULT_MARGIN, &bootstrap).unwrap();
        assert_eq!(same.verdict, Verdict::NoDifferenceThatMatters);
        assert_eq!(compare_paired(&[f64::NAN, 1.0], &[1.0, 0.0], 0.03, &bootstrap), None);
    }
}
