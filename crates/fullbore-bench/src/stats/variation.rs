//! Variation of samples over time: its size, and the time scale on which it changes.

use serde::{Deserialize, Serialize};

use super::quantile::{quantile, squares};

/// Variation of a quantity over time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Variation {
    /// 10th percentile of the samples as a ratio to their median.
    pub low: f64,
    /// 90th percentile of the same.
    pub high: f64,
    /// Time in seconds within which the quantity changes; `None` if adjacent samples differ as much as distant ones.
    pub time_scale_s: Option<f64>,
    /// Number of samples.
    pub samples: usize,
}

const MIN_SAMPLES: usize = 30;

/// Minimum number of pairs in a class of lags.
const MIN_PAIRS: usize = 30;

/// Ratio between the bounds of a class of lags.
const CLASS: f64 = 1.5;

/// The first class ends at this multiple of the mean distance of two samples.
const FIRST: f64 = 3.0;

/// A time scale is visible if adjacent samples differ by at most this share of the variance of distant ones.
const VISIBLE: f64 = 0.7;

impl Variation {
    /// True if a tenth of the samples is at least a twentieth below, or above, their median.
    pub fn matters(&self) -> bool {
        self.low < 0.95 || self.high > 1.05
    }
}

/// Returns the variation of points (time in seconds, ratio to the expected value), sorted by time; `None` for fewer than
/// 30.
///
/// The time scale is that of the structure function (Kolmogorov's; geostatistics calls half of it the variogram): the
/// mean squared difference of two samples as a function of the time between them. It rises from the noise of a sample
/// to twice the variance; of a process whose correlation decays as exp(−t ÷ τ), 1 − 1/e of the rise is at τ.
pub fn variation(points: &[(f64, f64)]) -> Option<Variation> {
    let points: Vec<(f64, f64)> = points
        .iter()
        .copied()
        .filter(|(at, ratio)| at.is_finite() && ratio.is_finite() && *ratio > 0.0)
        .collect();
    if points.len() < MIN_SAMPLES {
        return None;
    }
    let ratios: Vec<f64> = points.iter().map(|point| point.1).collect();
    let at = |share: f64| quantile(&ratios, share);
    // Logarithms of clipped ratios: a single outlier does not dominate the squares.
    let (least, most) = (at(0.05)?, at(0.95)?);
    let logs: Vec<(f64, f64)> =
        points.iter().map(|(at, ratio)| (*at, ratio.clamp(least, most).ln())).collect();
    Some(Variation { low: at(0.1)?, high: at(0.9)?, time_scale_s: time_scale(&logs), samples: points.len() })
}

/// Returns the time scale of points sorted by time; `None` if it is not visible.
fn time_scale(points: &[(f64, f64)]) -> Option<f64> {
    let count = points.len() as f64;
    let plateau = 2.0 * squares(&points.iter().map(|point| point.1).collect::<Vec<_>>()) / count;
    let duration = points[points.len() - 1].0 - points[0].0;
    if plateau <= 0.0 || duration <= 0.0 {
        return None;
    }
    let classes = classes(points, FIRST * duration / count, duration / 2.0);
    let floor = classes.first()?.1;
    if floor > VISIBLE * plateau {
        return None;
    }
    let level = floor + (plateau - floor) * (1.0 - (-1.0f64).exp());
    let reached = classes.iter().position(|class| class.1 >= level);
    let Some(reached) = reached.filter(|&place| place > 0) else { return Some(duration) };
    let ((before, low), (after, high)) = (classes[reached - 1], classes[reached]);
    Some(before + (after - before) * (level - low) / (high - low))
}

/// Returns mean lag and mean squared difference of the pairs of points, by classes of lags up to `longest`: the first
/// ends at `first`, each further one at [`CLASS`] times the end of the one before.
fn classes(points: &[(f64, f64)], first: f64, longest: f64) -> Vec<(f64, f64)> {
    let mut sums: Vec<(usize, f64, f64)> = Vec::new();
    for (place, early) in points.iter().enumerate() {
        for late in &points[place + 1..] {
            let lag = late.0 - early.0;
            if lag > longest {
                break;
            }
            let class = if lag <= first { 0 } else { (lag / first).log(CLASS).ceil() as usize };
            sums.resize(sums.len().max(class + 1), Default::default());
            let sum = &mut sums[class];
            *sum = (sum.0 + 1, sum.1 + lag, sum.2 + (late.1 - early.1).powi(2));
        }
    }
    sums.into_iter()
        .filter(|sum| sum.0 >= MIN_PAIRS)
        .map(|(pairs, lags, squares)| (lags / pairs as f64, squares / pairs as f64))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Xoshiro256;

    /// Returns samples every 0.2 s for `duration` seconds of a first-order process of the given time scale and
    /// deviation, with noise of `noise`.
    fn process(scale: f64, deviation: f64, noise: f64, duration: f64, seed: u64) -> Vec<(f64, f64)> {
        let mut rng = Xoshiro256::seeded(seed);
        let kept = (-0.2 / scale).exp();
        let mut state = deviation * rng.normal();
        (0..(duration / 0.2) as usize)
            .map(|place| {
                state = kept * state + deviation * (1.0 - kept * kept).sqrt() * rng.normal();
                (0.2 * place as f64, (state + noise * rng.normal()).exp())
            })
            .collect()
    }

    #[test]
    fn percentiles_of_a_known_process_are_found() {
        let found = variation(&process(2.0, 0.2, 0.0, 4000.0, 1)).unwrap();
        // The 90th percentile of a normal distribution is 1.2816 deviations above its mean.
        assert!((found.high - (1.2816f64 * 0.2).exp()).abs() < 0.03, "{found:?}");
        assert!((found.low - (-1.2816f64 * 0.2).exp()).abs() < 0.03, "{found:?}");
        assert!(found.matters());
    }

    #[test]
    fn time_scale_of_a_known_process_is_found_through_noise() {
        for (scale, noise) in [(2.0, 0.0), (2.0, 0.1), (5.0, 0.05), (20.0, 0.1)] {
            let mut found: Vec<f64> = (0..15)
                .map(|seed| variation(&process(scale, 0.2, noise, 60.0 * scale, seed)).unwrap())
                .map(|found| found.time_scale_s.expect("a time scale"))
                .collect();
            found.sort_by(f64::total_cmp);
            assert!((found[7] / scale - 1.0).abs() < 0.35, "{scale} {noise}: {found:?}");
        }
    }

    #[test]
    fn independent_samples_have_no_time_scale() {
        let found = (0..40)
            .filter(|&seed| variation(&process(0.001, 0.0, 0.1, 80.0, seed)).unwrap().time_scale_s.is_some());
        assert!(found.count() <= 1);
    }

    #[test]
    fn the_time_scale_of_a_step_is_a_quarter_of_the_run() {
        let points: Vec<(f64, f64)> =
            (0..400).map(|i| (f64::from(i) * 0.2, if i < 200 { 0.8 } else { 1.2 })).collect();
        // Of the pairs with a lag t in a run of T, t ÷ (T − t) straddle the step: 2 · 0.632 ÷ 4 of them at t = 0.24 T.
        let scale = variation(&points).unwrap().time_scale_s.unwrap();
        assert!((scale / 19.2 - 1.0).abs() < 0.1, "{scale}");
        let at_once: Vec<(f64, f64)> = points.iter().map(|point| (1.0, point.1)).collect();
        assert_eq!(variation(&at_once).unwrap().time_scale_s, None);
        assert_eq!(variation(&points[..29]), None);
    }
}
