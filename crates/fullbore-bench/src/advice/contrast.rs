//! Two cells side by side: how many times as fast or as dear, and how sure that is.

use super::witness::Witness;
use crate::document::{Confidence, StopReason};
use crate::stats::{Bootstrap, DEFAULT_MARGIN, Estimate, Verdict, compare_rates};

/// A ratio is too imprecise to rely on when its interval comes nearer to 1 than this share of the way, as factors go:
/// 9 is, if it may be 2.9.
const HALF_WAY: f64 = 0.5;

/// How one cell's figure stands to another's.
#[derive(Debug, Clone, Copy)]
pub(super) struct Contrast {
    /// The first's ÷ the second's, with its interval.
    pub(super) ratio: Estimate,
    /// `Faster`: the first has more of it, by the ratio's interval and by more than 3 %.
    verdict: Verdict,
    /// Whether the two cells' own intervals lie apart, which is asking more.
    apart: bool,
}

impl Contrast {
    pub(super) fn more(&self) -> bool {
        self.verdict == Verdict::Faster
    }

    pub(super) fn less(&self) -> bool {
        self.verdict == Verdict::Slower
    }

    /// Neither more nor less, as far as can be told.
    pub(super) fn undecided(&self) -> bool {
        self.verdict == Verdict::Unclear
    }

    /// More or less, with the cells' own intervals apart.
    pub(super) fn clear(&self) -> bool {
        self.apart && (self.more() || self.less())
    }

    /// How sure it is that the cells differ as they seem to.
    pub(super) fn confidence(&self, witnesses: &[Witness<'_>]) -> Confidence {
        let few = witnesses.iter().any(Witness::is_thin);
        let nearest = if self.more() { self.ratio.low } else { self.ratio.high };
        let wide = nearest.ln() / self.ratio.value.ln() < HALF_WAY;
        let doubtful = |w: &Witness<'_>| {
            let summary = w.summary;
            summary.stop != StopReason::Precise
                || summary.unproved > 0
                || summary.modes.is_some()
                || summary.drift.is_some_and(|drift| drift.matters())
        };
        match () {
            () if few || wide || !self.clear() => Confidence::Low,
            () if witnesses.iter().any(doubtful) => Confidence::Medium,
            () => Confidence::High,
        }
    }
}

/// The first's rate to the second's.
pub(super) fn speed(first: Witness<'_>, second: Witness<'_>, bootstrap: &Bootstrap) -> Option<Contrast> {
    let rates = (first.cell.rates(), second.cell.rates());
    contrast(rates, (first.summary.rate, second.summary.rate), bootstrap)
}

/// The first's processor time a byte to the second's.
pub(super) fn cost(first: Witness<'_>, second: Witness<'_>, bootstrap: &Bootstrap) -> Option<Contrast> {
    let costs = |w: Witness<'_>| -> Vec<f64> {
        let usable = w.cell.samples.iter().filter(|s| s.usable());
        usable.map(|s| s.charged_s() / s.bytes as f64).collect()
    };
    contrast((costs(first), costs(second)), (first.cost(), second.cost()), bootstrap)
}

fn contrast(
    values: (Vec<f64>, Vec<f64>),
    own: (Estimate, Estimate),
    bootstrap: &Bootstrap,
) -> Option<Contrast> {
    let found = compare_rates(&values.0, &values.1, DEFAULT_MARGIN, bootstrap)?;
    let apart = own.0.low > own.1.high || own.0.high < own.1.low;
    let usable = found.ratio.value.is_finite() && found.ratio.value > 0.0;
    usable.then_some(Contrast { ratio: found.ratio, verdict: found.verdict, apart })
}
