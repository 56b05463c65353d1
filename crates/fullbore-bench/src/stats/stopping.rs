//! When a cell has been measured long enough.

use serde::{Deserialize, Serialize};

use super::interval::Bootstrap;

/// Stop when the interval of the median is narrow, but never before a few samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StopRule {
    /// Samples needed before a narrow interval means anything; at least 2.
    pub min_samples: usize,
    /// The half-width that is narrow enough, as a share of the median.
    pub relative_half_width: f64,
}

impl Default for StopRule {
    /// Six samples (the fewest whose range is a 95 % interval of the median) and ±2.5 %.
    fn default() -> Self {
        Self { min_samples: 6, relative_half_width: 0.025 }
    }
}

impl StopRule {
    /// Whether these samples (of one cell, in any unit) fix their median well enough.
    pub fn narrow_enough(&self, values: &[f64], bootstrap: &Bootstrap) -> bool {
        let finite = values.iter().filter(|v| v.is_finite()).count();
        finite >= self.min_samples.max(2)
            && bootstrap.median(values).is_some_and(|e| e.relative_half_width() <= self.relative_half_width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needs_both_samples_and_width() {
        let (rule, bootstrap) = (StopRule::default(), Bootstrap::default());
        assert!(!rule.narrow_enough(&[1.0; 5], &bootstrap), "too few");
        assert!(rule.narrow_enough(&[1.0; 6], &bootstrap));
        assert!(!rule.narrow_enough(&[0.9, 1.0, 1.1, 1.2, 0.8, 1.0], &bootstrap), "too wide");
        assert!(!rule.narrow_enough(&[1.0, 1.0, 1.0, 1.0, 1.0, f64::NAN], &bootstrap), "not finite");
    }
}
