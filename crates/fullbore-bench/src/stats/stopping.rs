//! The end of measurements: a cell needs no more samples once its interval is narrow, or once it cannot be the best any more
//! (successive elimination).

use serde::{Deserialize, Serialize};

use super::interval::Bootstrap;
use super::levels::find_modes;
use super::quantile::{mean, squares};

/// Stops when the interval of the median is narrow and remains so, but never before a few samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StopRule {
    /// Minimum number of samples for a narrow interval to count; at least 2.
    pub min_samples: usize,
    /// Half-width that is narrow enough, as a share of the median.
    pub relative_half_width: f64,
}

impl Default for StopRule {
    /// Seven samples and ±2.5%. Seven is the smallest number whose range is a 98% interval of the median, the
    /// interval drawn [after stopping](Bootstrap::after_stopping).
    fn default() -> Self {
        Self { min_samples: 7, relative_half_width: 0.025 }
    }
}

/// Confidence with which samples on two levels must determine their median, because the level of the middle sample is
/// decided by chance at every look.
const CONFIDENCE_OF_TWO_LEVELS: f64 = 0.999_9;

impl StopRule {
    /// Creates the rule for a requested precision: 0.02 for ±2%. A precision of 0 (or below, or NaN) is never reached.
    pub fn precision(relative_half_width: f64) -> Self {
        Self { relative_half_width, ..Self::default() }
    }

    /// True if these samples (of one cell, in any unit, in the order taken) determine their median with the requested
    /// precision.
    ///
    /// Looking after every sample and stopping at the first narrow interval selects the intervals that are narrow by
    /// chance, mostly those of the first few samples (Chow and Robbins 1965 promise coverage only for many samples;
    /// Glynn and Whitt 1992 show that a rule must not stop too early). The interval must therefore be narrow without
    /// the last sample, too, at the first look as at any other; it is drawn by [`Bootstrap::after_stopping`], and
    /// samples on two levels need one of 99.99%.
    pub fn is_precise(&self, values: &[f64], bootstrap: &Bootstrap) -> bool {
        let finite: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        let Some((_, before)) = finite.split_last() else { return false };
        finite.len() >= self.min_samples.max(2)
            && self.narrow(&finite, bootstrap)
            && self.narrow(before, bootstrap)
    }

    fn narrow(&self, values: &[f64], bootstrap: &Bootstrap) -> bool {
        let within = |bootstrap: Bootstrap| {
            let width = bootstrap.median(values).map(|estimate| estimate.relative_half_width());
            width.is_some_and(|width| width <= self.relative_half_width)
        };
        within(bootstrap.after_stopping())
            && (find_modes(values).is_none()
                || within(Bootstrap { confidence: CONFIDENCE_OF_TWO_LEVELS, ..*bootstrap }))
    }
}

/// Probability that the best candidate is ever eliminated, over all looks.
const ERROR: f64 = 0.05;

/// Number of samples per candidate for which the intervals are narrowest.
const TUNED_FOR: f64 = 7.0;

/// Smallest assumed deviation of a sample's logarithm: a few equal samples do not prove that there is no noise.
const LEAST_DEVIATION: f64 = 0.01;

/// A candidate whose deviation exceeds the common one by this factor is noisier than the others.
const NOISY: f64 = 1.5;

/// Difference of two logarithms that does not matter: 3%.
const EQUAL: f64 = 0.03;

/// Fewest samples of a candidate that is eliminated.
const FEWEST: usize = 3;

/// Returns the candidates that need more samples, given the rates of each: those that may be the best, except those that are
/// known to ±1.5%, are not the fastest now and may be within 3% of it. Each has the logarithm of the highest rate that it may
/// have; the others have `None`.
///
/// The intervals are a confidence sequence (Robbins' normal mixture, Howard and others 2021): valid for all numbers of
/// samples at once, so that a look after every round eliminates the best candidate with a probability of at most 5%.
/// All candidates share the deviation of their logarithms. A candidate with fewer than three samples is never
/// eliminated.
pub fn contenders(rates: &[Vec<f64>]) -> Vec<Option<f64>> {
    let finite =
        |rates: &Vec<f64>| rates.iter().map(|rate| rate.ln()).filter(|log| log.is_finite()).collect();
    let logs: Vec<Vec<f64>> = rates.iter().map(finite).collect();
    let (mut sum, mut freedom) = (0.0, 0.0);
    for logs in &logs {
        sum += squares(logs);
        freedom += logs.len().saturating_sub(1) as f64;
    }
    if freedom == 0.0 {
        return vec![Some(f64::INFINITY); rates.len()];
    }
    // The deviation itself is uncertain: with few degrees of freedom its upper bound counts.
    let of = |sum: f64, freedom: f64| (sum / freedom).sqrt() * (1.0 + 1.0 / freedom.sqrt());
    let deviation = of(sum, freedom);
    let half = |logs: &Vec<f64>| {
        // One that is much noisier than the others, such as a device on two levels, has a deviation of its own.
        let degrees = logs.len().saturating_sub(1) as f64;
        let (own, others) = (of(squares(logs), degrees), of(sum - squares(logs), freedom - degrees));
        let deviation = if own > NOISY * others { own.max(deviation) } else { deviation };
        half_width(logs.len(), deviation.max(LEAST_DEVIATION), ERROR / rates.len() as f64)
    };
    let lowest = logs
        .iter()
        .filter(|logs| logs.len() >= FEWEST)
        .map(|logs| mean(logs) - half(logs))
        .fold(f64::NEG_INFINITY, f64::max);
    let highest = |logs: &Vec<f64>| if logs.len() < FEWEST { f64::INFINITY } else { mean(logs) + half(logs) };
    let any = logs.iter().filter(|logs| !logs.is_empty());
    let fastest = any.map(|logs| mean(logs)).fold(f64::NEG_INFINITY, f64::max);
    // Candidates that are known to be equal need no more samples than the fastest.
    let settled = |logs: &Vec<f64>| {
        let (mean, half) = (mean(logs), half(logs));
        2.0 * half <= EQUAL && mean < fastest && mean + half >= fastest - EQUAL
    };
    let open = |logs: &Vec<f64>| Some(highest(logs)).filter(|highest| *highest >= lowest && !settled(logs));
    logs.iter().map(open).collect()
}

/// Returns the half-width, for all numbers of samples at once, of the interval of a mean of `n` samples.
fn half_width(n: usize, deviation: f64, error: f64) -> f64 {
    let n = n as f64;
    let mixture = (-2.0 * error.ln() + (1.0 - 2.0 * error.ln()).ln()) / TUNED_FOR;
    let scale = n * mixture + 1.0;
    deviation * (2.0 * scale / (n * n * mixture) * (scale.sqrt() / error).ln()).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Xoshiro256;

    #[test]
    fn needs_both_samples_and_width() {
        let (rule, bootstrap) = (StopRule::default(), Bootstrap::default());
        assert!(!rule.is_precise(&[1.0; 6], &bootstrap), "too few");
        assert!(rule.is_precise(&[1.0; 7], &bootstrap));
        assert!(!rule.is_precise(&[0.9, 1.0, 1.1, 1.2, 0.8, 1.0, 1.0], &bootstrap), "too wide");
        assert!(!rule.is_precise(&[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, f64::NAN], &bootstrap), "not finite");
        assert!(!StopRule { min_samples: 0, ..rule }.is_precise(&[1.0], &bootstrap), "one is never enough");
    }

    #[test]
    fn the_first_look_needs_a_narrow_interval_without_the_last_sample() {
        let bootstrap = Bootstrap::default();
        // With few samples, an outlier on either side is an end of the interval; with more, it is not.
        let values: Vec<f64> = [90.0, 110.0].into_iter().chain([100.0; 18]).collect();
        let rule = StopRule { min_samples: 7, relative_half_width: 0.02 };
        let narrow = |n: usize| rule.narrow(&values[..n], &bootstrap);
        let first = (7..20).find(|&n| narrow(n)).expect("narrow at last");
        assert!(!narrow(first - 1) && narrow(first + 1));
        let rule = StopRule { min_samples: first, ..rule };
        assert!(!rule.is_precise(&values[..first], &bootstrap), "narrow once");
        assert!(rule.is_precise(&values[..first + 1], &bootstrap), "narrow twice");
    }

    /// Samples only contenders for 40 rounds; returns the number of samples of each candidate.
    fn simulate(truth: &[f64], noise: f64, rng: &mut Xoshiro256) -> (Vec<bool>, Vec<usize>) {
        let mut rates = vec![Vec::new(); truth.len()];
        let mut open = vec![true; truth.len()];
        for _ in 0..40 {
            for (place, rates) in rates.iter_mut().enumerate().filter(|(place, _)| open[*place]) {
                rates.push(truth[place] * (noise * rng.normal()).exp());
            }
            // Eliminated candidates do not return.
            let now = contenders(&rates);
            open.iter_mut().zip(now).for_each(|(open, now)| *open &= now.is_some());
        }
        let counts = rates.iter().map(Vec::len).collect();
        (open, counts)
    }

    #[test]
    fn the_best_is_eliminated_in_few_runs() {
        let mut rng = Xoshiro256::seeded(9);
        let truth = [1.0, 0.95, 0.93, 0.9, 0.8, 0.6];
        let lost = (0..400).filter(|_| !simulate(&truth, 0.08, &mut rng).0[0]).count();
        assert!(lost <= 20, "{lost} of 400");
    }

    #[test]
    fn samples_go_to_close_candidates() {
        let mut rng = Xoshiro256::seeded(10);
        let (mut close, mut far) = (0, 0);
        for _ in 0..100 {
            let (_, counts) = simulate(&[1.0, 0.95, 0.5, 0.3], 0.08, &mut rng);
            close += counts[0] + counts[1];
            far += counts[2] + counts[3];
        }
        assert!(far <= 100 * 2 * 6 && close >= 4 * far, "{close} {far}");
    }

    #[test]
    fn equal_candidates_end_once_they_are_known_to_be_equal() {
        let mut rng = Xoshiro256::seeded(11);
        let (open, counts) = simulate(&[1.0, 1.0, 1.0], 0.01, &mut rng);
        assert!(open.iter().filter(|open| **open).count() <= 1, "{open:?}");
        assert!(counts.iter().sum::<usize>() < 3 * 40, "{counts:?}");
    }

    #[test]
    fn a_slower_candidate_remains_until_the_fastest_is_known() {
        // 5% slower to 1%, while the fastest is known to 40% only.
        let near = |rate: f64, noise: f64, n: u32| -> Vec<f64> {
            (0..n).map(|i| rate * (noise * (f64::from(i % 3) - 1.0)).exp()).collect()
        };
        let open = |other: f64| contenders(&[near(1.0, 0.3, 6), near(other, 0.001, 1000)]);
        assert!(matches!(open(0.95)[..], [Some(noisy), Some(known)] if noisy > known));
        assert!(matches!(open(0.99)[..], [Some(_), None]));
    }

    #[test]
    fn few_samples_decide_nothing() {
        let open = |rates: &[Vec<f64>]| contenders(rates).iter().filter(|highest| highest.is_some()).count();
        assert_eq!(open(&[vec![1.0], vec![9.0]]), 2);
        assert_eq!(open(&[vec![], vec![9.0, 9.1, 9.0]]), 2);
        assert_eq!(open(&[]), 0);
    }

    #[test]
    fn half_width_covers_every_number_of_samples() {
        // Share of series of 200 samples whose mean leaves the interval at any time.
        let mut rng = Xoshiro256::seeded(12);
        let left = (0..2000)
            .filter(|_| {
                let mut sum = 0.0;
                (1..=200).any(|n| {
                    sum += rng.normal();
                    (sum / f64::from(n)).abs() > half_width(n as usize, 1.0, 0.05)
                })
            })
            .count();
        assert!(left <= 100, "{left} of 2000");
    }
}
