//! Warm-up: the number of samples, or intervals of a ramp, to drop from the beginning so that the rest is
//! steady.

use serde::{Deserialize, Serialize};

use super::drift::mann_kendall;
use super::quantile::{MAD_TO_DEVIATION, median, median_absolute_deviation};

/// The end of the warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarmUp {
    /// Number of values to drop at the front.
    pub drop: usize,
    /// True if the rest is steady. Otherwise the series never settled, or too late to detect: measure longer.
    pub settled: bool,
}

impl WarmUp {
    /// Returns the number of values to drop: none if the series never settled, because then no other part is steadier.
    pub fn left_out(self) -> usize {
        if self.settled { self.drop } else { 0 }
    }
}

const FEWEST: usize = 10;
/// A trend in the rest counts if chance explains it in fewer than one case in twenty.
const TREND: f64 = 0.05;
/// Values farther from the later half's median than this many of its deviations are moved to that distance.
const CLAMP: f64 = 3.5;

/// Finds the warm-up by the marginal standard error rule: MSER (White, 1997).
///
/// The cut minimises the squared standard error of the mean of the rest: dropping more of a transient lowers it,
/// dropping steady values raises it. Cuts up to the middle are tried; if the best is the middle, or the rest has a
/// trend, the series has not settled. A single stall would attract the cut, so values are first clamped to 3.5
/// deviations (by the median absolute deviation of the later half) around the later half's median.
///
/// `None` with fewer than ten finite values.
pub fn warm_up(values: &[f64]) -> Option<WarmUp> {
    let finite: Vec<(usize, f64)> =
        values.iter().copied().enumerate().filter(|(_, v)| v.is_finite()).collect();
    if finite.len() < FEWEST {
        return None;
    }
    let late: Vec<f64> = finite[finite.len() / 2..].iter().map(|v| v.1).collect();
    let (middle, room) = (median(&late)?, CLAMP * MAD_TO_DEVIATION * median_absolute_deviation(&late)?);
    let clamped = |v: f64| if room > 0.0 { v.clamp(middle - room, middle + room) } else { v };
    let values: Vec<f64> = finite.iter().map(|v| clamped(v.1)).collect();
    let cut = least_error(&values);
    Some(WarmUp {
        // The position in the given series, which includes values that are not finite.
        drop: if cut == 0 { 0 } else { finite[cut].0 },
        settled: cut < values.len() / 2 && !still_moving(&values[cut..]),
    })
}

/// True if the rest continues to rise or fall (Mann and Kendall's test).
fn still_moving(rest: &[f64]) -> bool {
    // A few hundred values show any trend; all pairs of thousands would take long.
    let thin: Vec<f64> = rest.iter().copied().step_by(rest.len().div_ceil(400).max(1)).collect();
    mann_kendall(&thin).is_some_and(|trend| trend.p < TREND)
}

/// Returns the cut, up to the middle, with the least squared standard error of the mean of the rest (the first of
/// equals).
fn least_error(values: &[f64]) -> usize {
    // From the end, mean and sum of squares grow by one value at a time (Welford), without cancellation.
    let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
    let mut best = (values.len(), f64::INFINITY);
    for (cut, value) in values.iter().enumerate().rev() {
        count += 1.0;
        let step = value - mean;
        mean += step / count;
        squares += step * (value - mean);
        let error = squares / (count * count);
        if cut <= values.len() / 2 && error <= best.1 {
            best = (cut, error);
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_and_short_series() {
        assert_eq!(warm_up(&[3.0; 20]), Some(WarmUp { drop: 0, settled: true }));
        assert_eq!(warm_up(&[3.0; 9]), None);
        // A first value that differs from constant ones is the warm-up.
        let mut values = [3.0; 20];
        values[0] = 1.0;
        assert_eq!(warm_up(&values), Some(WarmUp { drop: 1, settled: true }));
    }

    #[test]
    fn a_continuing_rise_never_settles() {
        let rise: Vec<f64> = (0..60).map(|i| 100.0 + f64::from(i)).collect();
        assert!((10..=60).all(|n| !warm_up(&rise[..n]).unwrap().settled));
    }

    #[test]
    fn one_stall_is_not_a_warm_up() {
        let mut values: Vec<f64> = (0..30).map(|i| 100.0 + f64::from(i * 7 % 5)).collect();
        let steady = warm_up(&values).unwrap();
        values[9] = 10.0;
        let stalled = warm_up(&values).unwrap();
        assert!(stalled.settled && stalled.drop <= steady.drop.max(2), "{steady:?} {stalled:?}");
    }

    #[test]
    fn positions_count_values_that_are_not_finite() {
        let values = [f64::NAN, 1.0, f64::NAN, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0];
        assert_eq!(warm_up(&values), Some(WarmUp { drop: 3, settled: true }));
    }
}
