//! The stopping rule of a cell's measurement.

use serde::{Deserialize, Serialize};

use super::interval::Bootstrap;
use super::levels::two_humps;

/// Stops when the interval of the median is narrow and remains so, but never before a few samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StopRule {
    /// Minimum number of samples for a narrow interval to count; at least 2.
    pub min_samples: usize,
    /// Half-width that is narrow enough, as a share of the median.
    pub relative_half_width: f64,
}

impl Default for StopRule {
    /// Seven samples and ±2.5 %. Seven is the smallest number whose range is a 98 % interval of the median, the
    /// interval drawn [after stopping](Bootstrap::after_stopping).
    fn default() -> Self {
        Self { min_samples: 7, relative_half_width: 0.025 }
    }
}

/// Confidence with which samples on two levels must determine their median, because the level of the middle sample is
/// decided by chance at every look.
const CONFIDENCE_OF_TWO_LEVELS: f64 = 0.999_9;

impl StopRule {
    /// Creates the rule for a requested precision: 0.02 for ±2 %. A precision of 0 (or below, or NaN) is never reached.
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
    /// samples on two levels need one of 99.99 %.
    pub fn narrow_enough(&self, values: &[f64], bootstrap: &Bootstrap) -> bool {
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
            && (two_humps(values).is_none()
                || within(Bootstrap { confidence: CONFIDENCE_OF_TWO_LEVELS, ..*bootstrap }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needs_both_samples_and_width() {
        let (rule, bootstrap) = (StopRule::default(), Bootstrap::default());
        assert!(!rule.narrow_enough(&[1.0; 6], &bootstrap), "too few");
        assert!(rule.narrow_enough(&[1.0; 7], &bootstrap));
        assert!(!rule.narrow_enough(&[0.9, 1.0, 1.1, 1.2, 0.8, 1.0, 1.0], &bootstrap), "too wide");
        assert!(!rule.narrow_enough(&[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, f64::NAN], &bootstrap), "not finite");
        assert!(
            !StopRule { min_samples: 0, ..rule }.narrow_enough(&[1.0], &bootstrap),
            "one is never enough"
        );
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
        assert!(!rule.narrow_enough(&values[..first], &bootstrap), "narrow once");
        assert!(rule.narrow_enough(&values[..first + 1], &bootstrap), "narrow twice");
    }
}
