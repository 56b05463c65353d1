//! Two cells side by side: how many times as fast or as dear, and how sure that is.

use super::input::EligibleCell;
use crate::document::{Confidence, StopReason};
use crate::stats::{Bootstrap, DEFAULT_MARGIN, Estimate, Verdict, compare_rates};

/// A ratio is too imprecise to rely on when its interval comes nearer to 1 than this share of the way, as factors go:
/// 9 is, if it may be 2.9.
const HALF_WAY: f64 = 0.5;

/// How one cell's figure stands to another's.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ratio {
    /// The first's ÷ the second's, with its interval.
    pub(super) estimate: Estimate,
    /// `Faster`: the first has more of it, by the ratio's interval and by more than 3 %.
    verdict: Verdict,
    /// Whether the two cells' own intervals lie apart, which is asking more.
    apart: bool,
}

impl Ratio {
    pub(super) fn is_greater(&self) -> bool {
        self.verdict == Verdict::Faster
    }

    pub(super) fn is_less(&self) -> bool {
        self.verdict == Verdict::Slower
    }

    /// Neither more nor less, as far as can be told.
    pub(super) fn is_undecided(&self) -> bool {
        self.verdict == Verdict::Unclear
    }

    /// More or less, with the cells' own intervals apart.
    pub(super) fn is_clear(&self) -> bool {
        self.apart && (self.is_greater() || self.is_less())
    }

    /// How sure it is that the cells differ as they seem to.
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

/// The first's rate to the second's.
pub(super) fn speed(
    first: EligibleCell<'_>,
    second: EligibleCell<'_>,
    bootstrap: &Bootstrap,
) -> Option<Ratio> {
    let rates = (first.cell.rates(), second.cell.rates());
    ratio(rates, (first.summary.rate, second.summary.rate), bootstrap)
}

/// The first's processor time a byte to the second's.
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
