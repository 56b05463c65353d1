//! Bootstrap confidence intervals of a median.

use serde::{Deserialize, Serialize};

use super::autocorrelation::effective_samples;
use super::distribution::{normal_cdf, student_t_quantile};
use super::quantile::{median_of_sorted, quantile_of_sorted, sorted};
use super::rng::Xoshiro256;

/// A value with its confidence interval, all in one unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The point estimate.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl Estimate {
    /// False for the value of one sample, or of equal ones.
    pub(crate) fn has_interval(&self) -> bool {
        self.low != self.high
    }

    /// Returns the same value with an interval extended to cover that of `other`.
    pub fn holding(&self, other: &Self) -> Self {
        Self { value: self.value, low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// Returns the same value with an interval wider by this share of the value on both sides.
    pub fn widened(&self, share: f64) -> Self {
        let more = (share * self.value).abs();
        Self { value: self.value, low: self.low - more, high: self.high + more }
    }

    /// Returns half the interval's width as a share of the value; infinite if the value is 0 and the interval is not.
    pub fn relative_half_width(&self) -> f64 {
        let half = (self.high - self.low) / 2.0;
        if half == 0.0 { 0.0 } else { (half / self.value).abs() }
    }

    /// Returns the estimate in another unit.
    pub fn scaled(&self, factor: f64) -> Self {
        let (one, two) = (self.low * factor, self.high * factor);
        Self { value: self.value * factor, low: one.min(two), high: one.max(two) }
    }

    /// Returns the reciprocal: from the time per request, the requests per time.
    pub fn inverse(&self) -> Self {
        Self { value: 1.0 / self.value, low: 1.0 / self.high, high: 1.0 / self.low }
    }

    /// True if `value` is within the interval, ends included.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// Parameters of intervals: percentile bootstrap, expanded for small samples, with a fixed seed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bootstrap {
    /// Share of intervals that should hold the true value, 0 to 1.
    pub confidence: f64,
    /// Number of resamples.
    pub resamples: usize,
    /// Seed of the resampling.
    pub seed: u64,
}

impl Default for Bootstrap {
    /// 95%, 2000 resamples.
    fn default() -> Self {
        Self { confidence: 0.95, resamples: 2000, seed: 0x66_75_6C_6C_62_6F_72_65 }
    }
}

/// Below this many samples, the percentiles of the bootstrap median are the extremes, so the range is the interval.
const SMALLEST_RESAMPLED: usize = 6;

impl Bootstrap {
    /// Returns the median of values in the order taken, with its percentile interval; `None` if no value is finite.
    ///
    /// Autocorrelated values are resampled as the smaller number of independent ones that they are worth
    /// ([`effective_samples`](super::effective_samples)); sorted values would count as such a series. With fewer than
    /// six samples (or worth fewer), the interval is the whole range: no distribution-free interval is narrower at
    /// 95%, and the range holds the true median only in 1 − 2^(1−n) of cases (94% for five, 75% for three).
    pub fn median(&self, values: &[f64]) -> Option<Estimate> {
        let samples = SampleSet::of(values);
        let value = samples.median()?;
        if samples.worth < SMALLEST_RESAMPLED || self.resamples == 0 {
            let sorted = &samples.sorted;
            return Some(Estimate { value, low: sorted[0], high: sorted[sorted.len() - 1] });
        }
        let medians = samples.resampled(self.resamples, &mut Xoshiro256::seeded(self.seed));
        Some(self.percentiles(value, medians, samples.worth))
    }

    /// Returns the resampled medians of each set.
    pub(crate) fn drawn<'a>(&self, sets: impl IntoIterator<Item = &'a SampleSet>) -> Vec<Vec<f64>> {
        let mut rng = Xoshiro256::seeded(self.seed);
        sets.into_iter().map(|samples| samples.resampled(self.resamples, &mut rng)).collect()
    }

    /// Returns a fit to the medians of each resample of all sets, from their resampled medians.
    pub(crate) fn refit<T>(&self, drawn: &[Vec<f64>], fit: impl Fn(&[f64]) -> T) -> Vec<T> {
        let curve = |resample: usize| drawn.iter().map(|medians| medians[resample]).collect::<Vec<f64>>();
        (0..self.resamples).map(|resample| fit(&curve(resample))).collect()
    }

    /// Returns the bootstrap for samples that were to be taken until their interval is narrow (see
    /// [`StopRule`](super::StopRule)), whether it became narrow or the time ran out: as in group sequential trials
    /// (Pocock 1977), the last look is corrected for the earlier ones.
    ///
    /// The requested share of misses is reduced to two fifths (98% for 95%), with which simulated runs have the
    /// requested share (`docs/statistics.md`).
    pub fn after_stopping(&self) -> Self {
        Self { confidence: 1.0 - 0.4 * (1.0 - self.confidence), ..*self }
    }

    /// Returns the interval that resampled statistics span around `value`, if the smallest resampled set had `n`
    /// values.
    ///
    /// Plain percentiles are too narrow for few samples (they hold the median of nine in 90% of cases, not 95%), like
    /// a normal interval with the sample's own deviation. The tails are therefore cut by Student's t, corrected for the
    /// resampling's loss of 1/n of the variance: Hesterberg's expanded percentile interval.
    pub(crate) fn percentiles(&self, value: f64, mut resampled: Vec<f64>, n: usize) -> Estimate {
        resampled.retain(|v| v.is_finite());
        resampled.sort_by(f64::total_cmp);
        let tail = expanded_tail((1.0 - self.confidence.clamp(0.0, 1.0)) / 2.0, n);
        let low = quantile_of_sorted(&resampled, tail).unwrap_or(value);
        let high = quantile_of_sorted(&resampled, 1.0 - tail).unwrap_or(value);
        Estimate { value, low: low.min(value), high: high.max(value) }
    }
}

/// Returns the share to cut from each end of a bootstrap distribution so that a share `tail` is beyond.
fn expanded_tail(tail: f64, n: usize) -> f64 {
    let size = n as f64;
    match student_t_quantile(tail, size - 1.0) {
        Some(t) if n > 1 => normal_cdf(t * (size / (size - 1.0)).sqrt()),
        _ => tail,
    }
}

/// Samples in ascending order.
#[derive(Debug)]
pub(crate) struct SampleSet {
    pub(crate) sorted: Vec<f64>,
    /// Number of independent ones that they are worth.
    pub(crate) worth: usize,
}

impl SampleSet {
    /// The finite ones of `values`, in the order taken.
    pub(crate) fn of(values: &[f64]) -> Self {
        Self { sorted: sorted(values), worth: effective_samples(values) }
    }

    pub(crate) fn median(&self) -> Option<f64> {
        median_of_sorted(&self.sorted)
    }

    /// Returns the medians of `resamples` draws with replacement of as many values as the samples, at least one, are worth.
    ///
    /// Because the values are sorted, a resample is a count per rank, and its median is the rank at which the running count
    /// passes the middle: no resample is sorted.
    fn resampled(&self, resamples: usize, rng: &mut Xoshiro256) -> Vec<f64> {
        let (sorted, size) = (&self.sorted, self.worth);
        let n = sorted.len();
        let mut out = Vec::with_capacity(resamples);
        let mut counts = vec![0u32; n];
        let (lower_rank, upper_rank) = ((size - 1) / 2, size / 2);
        for _ in 0..resamples {
            counts.fill(0);
            let mut drawn = 0;
            while drawn < size {
                let bits = rng.next_u64();
                // Two draws from one output: 32 bits suffice for a rank.
                for half in [bits & 0xFFFF_FFFF, bits >> 32] {
                    if drawn < size {
                        counts[((half * n as u64) >> 32) as usize] += 1;
                        drawn += 1;
                    }
                }
            }
            let mut passed = 0usize;
            let mut lower = None;
            for (rank, &count) in counts.iter().enumerate() {
                passed += count as usize;
                if lower.is_none() && passed > lower_rank {
                    lower = Some(sorted[rank]);
                }
                if passed > upper_rank {
                    let upper = sorted[rank];
                    out.push((lower.unwrap_or(upper) + upper) / 2.0);
                    break;
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_samples_give_their_range() {
        let bootstrap = Bootstrap::default();
        assert_eq!(bootstrap.median(&[]), None);
        assert_eq!(bootstrap.median(&[2.0]), Some(Estimate { value: 2.0, low: 2.0, high: 2.0 }));
        assert_eq!(bootstrap.median(&[1.0, 9.0, 2.0]), Some(Estimate { value: 2.0, low: 1.0, high: 9.0 }));
    }

    #[test]
    fn is_deterministic_and_depends_on_the_seed_only() {
        let values: Vec<f64> = (0..40).map(|i| ((i * 7919) % 101) as f64).collect();
        let mut turned = values.clone();
        turned.reverse();
        let bootstrap = Bootstrap::default();
        assert_eq!(bootstrap.median(&values), bootstrap.median(&turned));
    }

    #[test]
    fn relative_width_matches_hand_computation() {
        let estimate = Estimate { value: 10.0, low: 9.0, high: 11.5 };
        assert!((estimate.relative_half_width() - 0.125).abs() < 1e-12);
        assert_eq!(Estimate { value: 0.0, low: 0.0, high: 0.0 }.relative_half_width(), 0.0);
        assert_eq!(estimate.scaled(-2.0), Estimate { value: -20.0, low: -23.0, high: -18.0 });
    }
}
