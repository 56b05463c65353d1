//! The ratio of two cells' rates or CPU times, and its confidence.

use super::input::EligibleCell;
use crate::document::{Confidence, StopReason};
use crate::stats::{Bootstrap, DEFAULT_MARGIN, Estimate, Verdict, compare_rates};

/// Share of the peak that counts as reaching it: within the 3% that the paper of 1997 calls repeatable.
pub(super) const AT_PEAK: f64 = 0.97;
/// CPU time of at most this share counts as a saving.
pub(super) const CHEAPER: f64 = 0.9;

/// A ratio is imprecise if its interval reaches more than this share of the way to 1 (log): 9 is, if it may be 2.9.
const HALF_WAY: f64 = 0.5;

/// The ratio of a figure of two cells.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ratio {
    /// First ÷ second, with its interval.
    pub(super) estimate: Estimate,
    /// `Faster`: the first is larger by the ratio's interval and by more than 3%.
    verdict: Verdict,
    /// True if the two cells' own intervals do not overlap, a stricter condition.
    apart: bool,
}

impl Ratio {
    pub(super) fn is_greater(&self) -> bool {
        self.verdict == Verdict::Faster
    }

    pub(super) fn is_less(&self) -> bool {
        self.verdict == Verdict::Slower
    }

    /// True if neither is significantly larger.
    pub(super) fn is_undecided(&self) -> bool {
        self.verdict == Verdict::Unclear
    }

    /// True if one is larger and the cells' own intervals do not overlap.
    pub(super) fn is_clear(&self) -> bool {
        self.apart && (self.is_greater() || self.is_less())
    }

    pub(super) fn confidence(&self, eligible_cells: &[EligibleCell<'_>]) -> Confidence {
        let few = eligible_cells.iter().any(EligibleCell::is_thin);
        let nearest = if self.is_greater() { self.estimate.low } else { self.estimate.high };
        let wide = nearest.ln() / self.estimate.value.ln() < HALF_WAY;
        let doubtful = |w: &EligibleCell<'_>| {
            let summary = w.summary;
            summary.stop != StopReason::Precise
                || summary.unproved > 0
                || summary.modes.is_some()
                || summary.drift.is_some_and(|drift| drift.matters())
        };
        match () {
            () if few || wide || !self.is_clear() => Confidence::Low,
            () if eligible_cells.iter().any(doubtful) => Confidence::Medium,
            () => Confidence::High,
        }
    }
}

pub(super) fn speed(
    first: EligibleCell<'_>,
    second: EligibleCell<'_>,
    bootstrap: &Bootstrap,
) -> Option<Ratio> {
    let rates = (first.cell.rates(), second.cell.rates());
    ratio(rates, (first.summary.rate, second.summary.rate), bootstrap)
}

pub(super) fn cost(
    first: EligibleCell<'_>,
    second: EligibleCell<'_>,
    bootstrap: &Bootstrap,
) -> Option<Ratio> {
    let costs = |w: EligibleCell<'_>| -> Vec<f64> {
        let usable = w.cell.samples.iter().filter(|s| s.usable());
        usable.map(|s| s.charged_s() / s.bytes as f64).collect()
    };
    ratio((costs(first), costs(second)), (first.cost(), second.cost()), bootstrap)
}

fn ratio(values: (Vec<f64>, Vec<f64>), own: (Estimate, Estimate), bootstrap: &Bootstrap) -> Option<Ratio> {
    let found = compare_rates(&values.0, &values.1, DEFAULT_MARGIN, bootstrap)?;
    let apart = own.0.low > own.1.high || own.0.high < own.1.low;
    let usable = found.ratio.value.is_finite() && found.ratio.value > 0.0;
    usable.then_some(Ratio { estimate: found.ratio, verdict: found.verdict, apart })
}
