//! Warm-up: how many of the first samples, or intervals of a ramp, to leave out until what follows is steady.

use serde::{Deserialize, Serialize};

use super::drift::mann_kendall;
use super::quantile::{mad, median};

/// Where the warm-up ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarmUp {
    /// Values to leave out at the front.
    pub drop: usize,
    /// Whether the rest is steady. Otherwise the series never settled, or too late to tell: measure longer.
    pub settled: bool,
}

impl WarmUp {
    /// How many values to leave out: none where the series never settled, for then nothing else is any steadier.
    pub fn left_out(self) -> usize {
        if self.settled { self.drop } else { 0 }
    }
}

/// Batches needed before anything is said.
const FEWEST_BATCHES: usize = 10;
/// A trend in what remains is one when chance explains it in fewer than one case in twenty.
const TREND: f64 = 0.05;
/// Values farther from the later half's median than so many of its deviations are moved to that distance.
const CLAMP: f64 = 3.5;
/// The deviation of a normal law, in median absolute deviations.
const MAD_TO_DEVIATION: f64 = 1.482_602_218_505_602;

/// Finds the warm-up by the marginal standard error rule: MSER (White, 1997), or MSER-5 with a `batch` of 5, for series
/// of many short intervals.
///
/// The cut is where the squared standard error of the mean of what remains is least: leaving out more of a transient
/// lowers it, leaving out steady values raises it. Cuts up to the middle are tried; the best lying there, or a
/// trend in what remains, says that the series has not settled.
/// Single stalls would draw the cut behind themselves; values are therefore first clamped to 3.5 deviations (by the
/// median absolute deviation of the later half) around the later half's median.
///
/// `None` with fewer than ten batches of finite values, or a batch of 0.
pub fn warm_up(values: &[f64], batch: usize) -> Option<WarmUp> {
    let finite: Vec<(usize, f64)> =
        values.iter().copied().enumerate().filter(|(_, v)| v.is_finite()).collect();
    if batch == 0 || finite.len() / batch < FEWEST_BATCHES {
        return None;
    }
    let late: Vec<f64> = finite[finite.len() / 2..].iter().map(|v| v.1).collect();
    let (middle, room) = (median(&late)?, CLAMP * MAD_TO_DEVIATION * mad(&late)?);
    let clamped = |v: f64| if room > 0.0 { v.clamp(middle - room, middle + room) } else { v };
    let means: Vec<f64> = finite
        .chunks_exact(batch)
        .map(|group| group.iter().map(|v| clamped(v.1)).sum::<f64>() / batch as f64)
        .collect();
    let cut = least_error(&means);
    Some(WarmUp {
        // The position in the series given, where values that are not finite count.
        drop: if cut == 0 { 0 } else { finite[cut * batch].0 },
        settled: cut < means.len() / 2 && !still_moving(&means[cut..]),
    })
}

/// Whether the rest goes on rising or falling (Mann and Kendall's test).
fn still_moving(rest: &[f64]) -> bool {
    // A few hundred values show any trend; all pairs of thousands would take long.
    let thin: Vec<f64> = rest.iter().copied().step_by(rest.len().div_ceil(400).max(1)).collect();
    mann_kendall(&thin).is_some_and(|trend| trend.p < TREND)
}

/// The cut, up to the middle, with the least squared standard error of the mean of what follows (the first such).
fn least_error(means: &[f64]) -> usize {
    // From the back, mean and sum of squares grow by one value at a time (Welford), without cancellation.
    let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
    let mut best = (means.len(), f64::INFINITY);
    for (cut, value) in means.iter().enumerate().rev() {
        count += 1.0;
        let step = value - mean;
        mean += step / count;
        squares += step * (value - mean);
        let error = squares / (count * count);
        if cut <= means.len() / 2 && error <= best.1 {
            best = (cut, error);
        }
    }
    best.0
}

/// Asks after each interval of a ramp whether the rate is steady yet.
#[derive(Debug, Clone)]
pub struct OnlineWarmUp {
    values: Vec<f64>,
    batch: usize,
    fewest: usize,
    settled: bool,
}

impl OnlineWarmUp {
    /// `batch` as in [`warm_up`]; at least `fewest` values must remain after the warm-up.
    pub fn new(batch: usize, fewest: usize) -> Self {
        Self { values: Vec::new(), batch: batch.max(1), fewest, settled: false }
    }

    /// Takes the next value and says where the warm-up ended, once it has: [`warm_up`] finds the series settled with
    /// enough values left, and found so one value ago, for a rule that is asked often is right by chance at some time.
    /// What changes later (a credit used up) cannot be foreseen.
    pub fn push(&mut self, value: f64) -> Option<WarmUp> {
        self.values.push(value);
        let warm = warm_up(&self.values, self.batch)
            .filter(|warm| warm.settled && self.values.len() - warm.drop >= self.fewest);
        let before = std::mem::replace(&mut self.settled, warm.is_some());
        warm.filter(|_| before)
    }

    /// The values taken so far.
    pub fn values(&self) -> &[f64] {
        &self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_definition() {
        // Brute force of min over d of Σ(x − mean)² / (n − d)², values not clamped (none is far off).
        let values = [5.0, 7.5, 8.6, 9.4, 9.9, 10.1, 9.8, 10.2, 10.0, 9.9, 10.1, 10.0];
        let error = |d: usize| {
            let rest = &values[d..];
            let mean = rest.iter().sum::<f64>() / rest.len() as f64;
            rest.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (rest.len() as f64).powi(2)
        };
        let expected = (0..=6).min_by(|&a, &b| error(a).total_cmp(&error(b))).unwrap();
        assert_eq!(least_error(&values), expected);
        assert_eq!(warm_up(&values, 1), Some(WarmUp { drop: expected, settled: true }));
    }

    #[test]
    fn constant_and_short_series() {
        assert_eq!(warm_up(&[3.0; 20], 1), Some(WarmUp { drop: 0, settled: true }));
        assert_eq!(warm_up(&[3.0; 9], 1), None);
        assert_eq!(warm_up(&[3.0; 49], 5), None);
        assert_eq!(warm_up(&[3.0; 40], 0), None);
        // A first value that differs from constant ones is the warm-up.
        let mut values = [3.0; 20];
        values[0] = 1.0;
        assert_eq!(warm_up(&values, 1), Some(WarmUp { drop: 1, settled: true }));
    }

    #[test]
    fn a_rise_without_end_never_settles() {
        let mut online = OnlineWarmUp::new(1, 5);
        assert!((0..60).all(|i| online.push(100.0 + f64::from(i)).is_none()));
    }

    #[test]
    fn one_stall_is_not_a_warm_up() {
        let mut values: Vec<f64> = (0..30).map(|i| 100.0 + f64::from(i * 7 % 5)).collect();
        let steady = warm_up(&values, 1).unwrap();
        values[9] = 10.0;
        let stalled = warm_up(&values, 1).unwrap();
        assert!(stalled.settled && stalled.drop <= steady.drop.max(2), "{steady:?} {stalled:?}");
    }

    #[test]
    fn positions_count_values_that_are_not_finite() {
        let values = [f64::NAN, 1.0, f64::NAN, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0];
        assert_eq!(warm_up(&values, 1), Some(WarmUp { drop: 3, settled: true }));
    }
}
