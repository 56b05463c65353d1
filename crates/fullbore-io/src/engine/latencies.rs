//! Request latencies, counted in buckets of constant relative width, so that the memory does not depend on their number.
//!
//! The layout is that of Gil Tene's HdrHistogram and of fio's `clat` buckets: one bucket per nanosecond below [`STEPS`]
//! nanoseconds, and [`STEPS`] equal buckets per doubling above that. A bucket is at most `1 / STEPS` of its values wide, so
//! its middle is off by at most half of that: 0.4%.

use std::time::Duration;

const STEPS: u64 = 1 << STEP_BITS;
const STEP_BITS: u32 = 7;

/// A histogram of request latencies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Latencies {
    /// Empty before the first latency is recorded, then one count per possible bucket.
    buckets: Vec<u64>,
    count: u64,
    total: u128,
    longest: u64,
}

impl Latencies {
    pub fn record(&mut self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        if self.buckets.is_empty() {
            self.buckets = vec![0; place(u64::MAX) + 1];
        }
        self.buckets[place(nanos)] += 1;
        self.count += 1;
        self.total += u128::from(nanos);
        self.longest = self.longest.max(nanos);
    }

    pub fn add(&mut self, other: &Self) {
        if self.buckets.is_empty() {
            self.buckets.clone_from(&other.buckets);
        } else {
            self.buckets.iter_mut().zip(&other.buckets).for_each(|(mine, theirs)| *mine += theirs);
        }
        self.count += other.count;
        self.total += other.total;
        self.longest = self.longest.max(other.longest);
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the quantile at `share` (0 to 1), to 0.4%; `None` if no request was counted.
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let rank = ((self.count as f64 * share).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        let bucket = self.buckets.iter().position(|count| {
            seen += count;
            seen >= rank
        })?;
        Some(Duration::from_nanos(middle(bucket).min(self.longest)))
    }

    /// Returns the exact maximum; `None` if no request was counted.
    pub fn longest(&self) -> Option<Duration> {
        (self.count > 0).then(|| Duration::from_nanos(self.longest))
    }

    /// Returns the mean, to a nanosecond; `None` if no request was counted.
    pub fn mean(&self) -> Option<Duration> {
        let nanos = self.total.checked_div(u128::from(self.count))?;
        Some(Duration::from_nanos(nanos as u64))
    }
}

fn place(nanos: u64) -> usize {
    let doublings = nanos.max(1).ilog2().saturating_sub(STEP_BITS);
    // The shifted value keeps its highest bit, worth STEPS: it carries over into the buckets of the next doubling.
    (u64::from(doublings) * STEPS + (nanos >> doublings)) as usize
}

fn middle(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < 2 * STEPS {
        return bucket;
    }
    let doublings = bucket / STEPS - 1;
    let start = (bucket - doublings * STEPS) << doublings;
    start + (1 << doublings) / 2
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn buckets_are_in_order_without_gaps() {
        let mut last = 0;
        for nanos in 0..1 << 17 {
            let bucket = place(nanos);
            assert!(bucket == last || bucket == last + 1, "{nanos}");
            assert!(middle(bucket).abs_diff(nanos) as f64 <= nanos as f64 / 255.0, "{nanos}");
            last = bucket;
        }
        for shift in 0..64 {
            let nanos = 1u64 << shift;
            assert!(place(nanos) > place(nanos - 1) || nanos < 2, "{nanos}");
            assert!(middle(place(nanos)) >= nanos);
        }
        assert!(middle(place(u64::MAX)) > u64::MAX / 256 * 255);
    }

    proptest! {
        #[test]
        fn quantiles_are_those_of_the_sorted_lengths(
            mut lengths in proptest::collection::vec(0u64..3_000_000_000, 1..400),
            share in 0.0..=1.0f64,
            cut in 0usize..400,
        ) {
            let (mut one, mut other) = (Latencies::default(), Latencies::default());
            for (index, &nanos) in lengths.iter().enumerate() {
                let half = if index < cut { &mut one } else { &mut other };
                half.record(Duration::from_nanos(nanos));
            }
            one.add(&other);
            lengths.sort_unstable();
            let rank = ((lengths.len() as f64 * share).ceil() as usize).max(1);
            let truth = lengths[rank - 1];
            let found = one.quantile(share).unwrap().as_nanos() as f64;
            prop_assert!((found - truth as f64).abs() <= truth as f64 / 255.0, "{found} {truth}");
            prop_assert_eq!(one.longest().unwrap().as_nanos() as u64, *lengths.last().unwrap());
            let sum: u64 = lengths.iter().sum();
            prop_assert_eq!(one.mean().unwrap().as_nanos() as u64, sum / lengths.len() as u64);
        }
    }

    #[test]
    fn an_empty_histogram_has_no_quantiles() {
        let mut none = Latencies::default();
        assert_eq!((none.quantile(0.5), none.longest(), none.mean()), (None, None, None));
        none.add(&Latencies::default());
        assert_eq!(none, Latencies::default());
    }
}
