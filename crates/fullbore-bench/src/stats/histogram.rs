//! Latencies by the million in a few kilobytes: a log-linear histogram that can be merged.
//!
//! The buckets are those of Tene's HdrHistogram (the crate `hdrhistogram`): each power of two is cut into the same
//! number of equal parts, so the relative error is bounded wherever the value lies. What this adds is a mean,
//! smallest and largest that are exact, values in the middle of their bucket instead of at its top, and a serialised
//! form that JSON can carry.

use hdrhistogram::Histogram as Buckets;
use serde::{Deserialize, Serialize};

/// Three decimal digits: 2048 parts a power of two at most, so a bucket's middle is within 0.05 % of its values.
const DIGITS: u8 = 3;
/// An hour in nanoseconds: longer waits count as one hour in quantiles (`max_ns` stays exact).
const LONGEST: u64 = 3_600_000_000_000;

/// Times in whole nanoseconds, counted.
///
/// Nothing is corrected: a caller that measures open loop records the time from when a request was *due*, and
/// coordinated omission does not arise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Counted", into = "Counted")]
pub struct Histogram {
    buckets: Buckets<u64>,
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// An empty histogram; it holds about 270 KB however much it counts.
    pub fn new() -> Self {
        let buckets = Buckets::new_with_max(LONGEST, DIGITS).expect("constant bounds that the crate takes");
        Self { buckets, sum_ns: 0, min_ns: u64::MAX, max_ns: 0 }
    }

    /// Counts one time.
    pub fn record(&mut self, ns: u64) {
        self.record_n(ns, 1);
    }

    /// Counts a time that occurred `times` times.
    pub fn record_n(&mut self, ns: u64, times: u64) {
        if times == 0 {
            return;
        }
        self.buckets.saturating_record_n(ns.min(LONGEST), times);
        self.sum_ns = self.sum_ns.saturating_add(ns.saturating_mul(times));
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// Adds the counts of another, as if all its times had been recorded here.
    pub fn merge(&mut self, other: &Self) {
        self.buckets.add(&other.buckets).expect("the same bounds hold the same values");
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Times counted.
    pub fn count(&self) -> u64 {
        self.buckets.len()
    }

    /// The exact mean in nanoseconds (up to 584 years of waiting altogether); `None` when empty.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.sum_ns as f64 / self.count() as f64)
    }

    /// The exact largest time; `None` when empty.
    pub fn max_ns(&self) -> Option<u64> {
        (self.count() > 0).then_some(self.max_ns)
    }

    /// The exact smallest time; `None` when empty.
    pub fn min_ns(&self) -> Option<u64> {
        (self.count() > 0).then_some(self.min_ns)
    }

    /// The time in nanoseconds that a share `q` (0 to 1) of all does not exceed: the smallest recorded with at least
    /// q · count at or below it, to 0.05 % (and 1 ns). Quantile 0 is the smallest, 1 the largest. `None` when empty or
    /// `q` is not a number.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        if self.count() == 0 || q.is_nan() {
            return None;
        }
        if q <= 0.0 {
            return Some(self.min_ns as f64);
        }
        if q >= 1.0 {
            return Some(self.max_ns as f64);
        }
        let top = self.buckets.value_at_quantile(q);
        let (low, high) = (self.buckets.lowest_equivalent(top), self.buckets.highest_equivalent(top));
        Some((low as f64 / 2.0 + high as f64 / 2.0).clamp(self.min_ns as f64, self.max_ns as f64))
    }

    /// Counts up to a time: the share of all that took at most `ns`, to the bucket. `None` when empty.
    pub fn share_within(&self, ns: u64) -> Option<f64> {
        let within = self.buckets.count_between(0, ns.min(LONGEST));
        (self.count() > 0).then(|| within as f64 / self.count() as f64)
    }
}

/// How a histogram is written: only the buckets that hold something, each by its lowest value.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Counted {
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
    /// Lowest nanoseconds of the bucket, and how many.
    counts: Vec<(u64, u64)>,
}

impl From<Histogram> for Counted {
    fn from(histogram: Histogram) -> Self {
        let counts = histogram.buckets.iter_recorded().map(|bucket| {
            (histogram.buckets.lowest_equivalent(bucket.value_iterated_to()), bucket.count_at_value())
        });
        Self {
            sum_ns: histogram.sum_ns,
            min_ns: histogram.min_ns,
            max_ns: histogram.max_ns,
            counts: counts.collect(),
        }
    }
}

impl TryFrom<Counted> for Histogram {
    type Error = String;

    fn try_from(counted: Counted) -> Result<Self, String> {
        let mut histogram = Self::new();
        for &(ns, times) in &counted.counts {
            histogram.buckets.saturating_record_n(ns, times);
        }
        let (least, most) = (histogram.buckets.min(), histogram.buckets.max());
        let empty = histogram.count() == 0;
        let fits = histogram.buckets.equivalent(counted.min_ns.min(LONGEST), least)
            && histogram.buckets.equivalent(counted.max_ns.min(LONGEST), most);
        if !empty && !fits {
            return Err(format!(
                "a histogram whose counts lie from {least} to {most} ns cannot have its smallest at {} and its largest at {} ns",
                counted.min_ns, counted.max_ns
            ));
        }
        if !empty {
            histogram.sum_ns = counted.sum_ns;
            histogram.min_ns = counted.min_ns;
            histogram.max_ns = counted.max_ns;
        }
        Ok(histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Xoshiro256;

    /// Times that span seven powers of ten.
    fn times(n: usize, seed: u64) -> Vec<u64> {
        let mut rng = Xoshiro256::seeded(seed);
        (0..n).map(|_| (50.0 * (16.0 * rng.unit()).exp()) as u64).collect()
    }

    fn counted(times: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        times.iter().for_each(|&ns| histogram.record(ns));
        histogram
    }

    #[test]
    fn quantiles_are_those_of_the_sorted_times() {
        let mut times = times(30_000, 1);
        let histogram = counted(&times);
        times.sort_unstable();
        for q in [0.0, 0.001, 0.01, 0.1, 0.25, 0.5, 0.9, 0.99, 0.999, 0.9999, 1.0] {
            let rank = ((q * times.len() as f64).ceil() as usize).max(1) - 1;
            let (exact, found) = (times[rank] as f64, histogram.quantile(q).unwrap());
            assert!((found - exact).abs() <= 1.0f64.max(0.000_6 * exact), "{q}: {found} for {exact}");
        }
        let mean = times.iter().map(|&ns| ns as f64).sum::<f64>() / times.len() as f64;
        assert!((histogram.mean_ns().unwrap() / mean - 1.0).abs() < 1e-9);
        assert_eq!((histogram.min_ns(), histogram.max_ns()), (times.first().copied(), times.last().copied()));
        assert_eq!(histogram.count(), 30_000);
    }

    #[test]
    fn merged_parts_are_the_whole() {
        let times = times(5000, 2);
        let whole = counted(&times);
        let mut merged = Histogram::new();
        times.chunks(777).for_each(|part| merged.merge(&counted(part)));
        assert_eq!(merged, whole);
        let mut twice = counted(&times);
        twice.merge(&whole);
        let mut at_once = Histogram::new();
        times.iter().for_each(|&ns| at_once.record_n(ns, 2));
        assert_eq!(twice, at_once);
    }

    #[test]
    fn written_and_read_it_is_the_same() {
        for histogram in [Histogram::new(), counted(&times(2000, 3)), counted(&[0, 1, u64::MAX])] {
            let text = serde_json::to_string(&histogram).unwrap();
            let read: Histogram = serde_json::from_str(&text).unwrap();
            assert_eq!(read, histogram, "{text}");
        }
        let lie = r#"{"sum_ns":5,"min_ns":7,"max_ns":9,"counts":[[1000,3]]}"#;
        assert!(serde_json::from_str::<Histogram>(lie).unwrap_err().to_string().contains("smallest at 7"));
    }

    #[test]
    fn empty_and_extreme() {
        let mut histogram = Histogram::new();
        assert_eq!((histogram.quantile(0.5), histogram.mean_ns(), histogram.max_ns()), (None, None, None));
        assert_eq!(histogram.share_within(5), None);
        histogram.record_n(9, 0);
        assert_eq!(histogram.count(), 0);
        histogram.record(0);
        histogram.record(u64::MAX);
        assert_eq!((histogram.quantile(0.5), histogram.quantile(1.0)), (Some(0.0), Some(u64::MAX as f64)));
        assert_eq!((histogram.quantile(f64::NAN), histogram.max_ns()), (None, Some(u64::MAX)));
        assert_eq!(histogram.share_within(1_000_000), Some(0.5));
    }
}
