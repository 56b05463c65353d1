//! One measure of a cell in two documents: the ratio of medians, its interval, and the verdict.

use serde::Serialize;

use super::family::LogTest;
use crate::stats::{Bootstrap, Estimate, compare_rates, median};

/// Fewest samples on either side for a verdict: of two times three, all of one side lie above all of the other in one
/// case of ten by chance.
pub const FEWEST_SAMPLES: usize = 4;

/// Fewest rounds for a paired interval; below that the bootstrap of a median is their range.
pub(super) const FEWEST_PAIRS: usize = 6;

/// A compared measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Bytes per second.
    Rate,
    /// Charged CPU seconds per megabyte (10^6 bytes).
    CostPerMb,
    /// Charged CPU seconds per request.
    CostPerRequest,
    /// The 99th percentile of request time, in seconds.
    LatencyP99,
}

impl Measure {
    /// True if more is better.
    pub fn more_is_better(self) -> bool {
        self == Self::Rate
    }
}

/// The verdict on a measure, compared with the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Judgement {
    /// Worse: the interval excludes no change, and the ratio lies beyond the margin.
    Worse,
    /// Undecided: the interval is too wide, or there are fewer than [`FEWEST_SAMPLES`].
    Unclear,
    /// The whole interval lies within the margin.
    Same,
    /// Better, as [`Worse`](Self::Worse).
    Better,
}

impl Judgement {
    /// The verdict in the measure's word.
    pub fn word(self, measure: Measure) -> &'static str {
        match (self, measure) {
            (Self::Unclear, _) => "unclear",
            (Self::Same, _) => "no-difference-that-matters",
            (Self::Worse, Measure::Rate) => "slower",
            (Self::Better, Measure::Rate) => "faster",
            (Self::Worse, Measure::CostPerMb | Measure::CostPerRequest) => "cpu-higher",
            (Self::Better, Measure::CostPerMb | Measure::CostPerRequest) => "cpu-lower",
            (Self::Worse, Measure::LatencyP99) => "longer",
            (Self::Better, Measure::LatencyP99) => "shorter",
        }
    }

    /// The verdict of a ratio's interval (this ÷ baseline), by the rule of [`compare_rates`] for rates.
    fn of(ratio: &Estimate, margin: f64, more_is_better: bool) -> Self {
        let (least, most) = (1.0 / (1.0 + margin), 1.0 + margin);
        let (more, less) =
            if more_is_better { (Self::Better, Self::Worse) } else { (Self::Worse, Self::Better) };
        if ratio.low >= least && ratio.high <= most {
            Self::Same
        } else if ratio.low > 1.0 && ratio.value >= most {
            more
        } else if ratio.high < 1.0 && ratio.value <= least {
            less
        } else {
            Self::Unclear
        }
    }
}

/// A measure of a cell, compared with the baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The measure; it determines the unit.
    pub measure: Measure,
    /// Median of the baseline.
    pub baseline: f64,
    /// Median of the other document.
    pub this: f64,
    /// Usable samples of both, the baseline first.
    pub samples: [usize; 2],
    /// True if samples of the same round were compared with each other.
    pub paired: bool,
    /// This ÷ baseline: the ratio of the medians, or the median of the rounds' ratios if they are paired.
    pub ratio: Estimate,
    /// The verdict of the interval.
    pub judgement: Judgement,
    /// Probability of a change at least as large in either direction if there is none; `None` with too few samples.
    pub p: Option<f64>,
    /// The same among all comparisons of this measure, after Holm.
    pub p_among_all: Option<f64>,
    pub(super) test: Option<LogTest>,
}

impl Change {
    /// True if a verdict of better or worse holds among all comparisons made.
    pub fn is_significant(&self, confidence: f64) -> bool {
        matches!(self.judgement, Judgement::Better | Judgement::Worse)
            && self.p_among_all.is_some_and(|p| p <= 1.0 - confidence)
    }

    /// The verdict in a word.
    pub fn word(&self) -> &'static str {
        self.judgement.word(self.measure)
    }

    /// Compares the values of `this` with those of the baseline. `pairs` holds the positions of samples of the same
    /// round; if it is empty, samples are not paired. `None` if either has no positive value.
    pub(super) fn of(
        measure: Measure,
        baseline: &[f64],
        this: &[f64],
        pairs: &[(usize, usize)],
        margin: f64,
        bootstrap: &Bootstrap,
    ) -> Option<Self> {
        let positive = |value: &f64| value.is_finite() && *value > 0.0;
        if !baseline.iter().chain(this).all(positive) {
            return None;
        }
        let (before, now) = (median(baseline)?, median(this)?);
        let paired = pairs.len() >= FEWEST_PAIRS;
        let (ratio, test) = if paired {
            let ratios: Vec<f64> = pairs.iter().map(|&(a, b)| this[b] / baseline[a]).collect();
            (bootstrap.median(&ratios)?, LogTest::paired(&ratios))
        } else {
            (compare_rates(this, baseline, margin, bootstrap)?.ratio, LogTest::unpaired(this, baseline))
        };
        let enough = baseline.len().min(this.len()) >= FEWEST_SAMPLES;
        let judgement = match enough {
            true => Judgement::of(&ratio, margin, measure.more_is_better()),
            false => Judgement::Unclear,
        };
        let test = test.filter(|_| enough);
        Some(Self {
            measure,
            baseline: before,
            this: now,
            samples: [baseline.len(), this.len()],
            paired,
            ratio,
            judgement,
            p: test.map(|test| test.p_of_no_change()),
            p_among_all: None,
            test,
        })
    }

    /// True if the whole interval is worse by more than `share` (0.05 is 5%): a rate below 1 − share, a cost above
    /// 1 + share.
    pub(super) fn worse_by(&self, share: f64) -> bool {
        self.judgement == Judgement::Worse && self.beyond(share, !self.measure.more_is_better())
    }

    /// True if the whole interval is better by more than `share`; see [`worse_by`](Self::worse_by).
    pub(super) fn better_by(&self, share: f64) -> bool {
        self.judgement == Judgement::Better && self.beyond(share, self.measure.more_is_better())
    }

    fn beyond(&self, share: f64, above: bool) -> bool {
        if above { self.ratio.low > 1.0 + share } else { self.ratio.high < 1.0 - share }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{DEFAULT_MARGIN, Verdict, Xoshiro256};

    fn draw(rng: &mut Xoshiro256, middle: f64, spread: f64, n: usize) -> Vec<f64> {
        (0..n).map(|_| middle * (1.0 + spread * (rng.unit() - 0.5))).collect()
    }

    fn rate(baseline: &[f64], this: &[f64]) -> Change {
        Change::of(Measure::Rate, baseline, this, &[], DEFAULT_MARGIN, &Bootstrap::default()).unwrap()
    }

    #[test]
    fn verdicts_equal_those_of_compare_rates() {
        let mut rng = Xoshiro256::seeded(3);
        let mut seen = std::collections::BTreeSet::new();
        for turn in 0..400 {
            let spread = [0.02, 0.1, 0.6][turn % 3];
            let a = draw(&mut rng, 100.0, spread, 8);
            let b = draw(&mut rng, 100.0 * (0.85 + 0.3 * (turn as f64 / 400.0)), spread, 9);
            let verdict = compare_rates(&b, &a, DEFAULT_MARGIN, &Bootstrap::default()).unwrap().verdict;
            let expected = match verdict {
                Verdict::Faster => Judgement::Better,
                Verdict::Slower => Judgement::Worse,
                Verdict::NoDifferenceThatMatters => Judgement::Same,
                Verdict::Unclear => Judgement::Unclear,
            };
            assert_eq!(rate(&a, &b).judgement, expected);
            seen.insert(expected);
        }
        assert_eq!(seen.len(), 4, "{seen:?}");
    }

    #[test]
    fn a_cost_that_rises_is_worse() {
        let mut rng = Xoshiro256::seeded(9);
        let (a, b) = (draw(&mut rng, 2.0, 0.02, 8), draw(&mut rng, 2.4, 0.02, 8));
        let cost = |a: &[f64], b: &[f64]| {
            Change::of(Measure::CostPerMb, a, b, &[], DEFAULT_MARGIN, &Bootstrap::default()).unwrap()
        };
        assert_eq!((cost(&a, &b).word(), cost(&b, &a).word()), ("cpu-higher", "cpu-lower"));
        assert!(cost(&a, &b).worse_by(0.1) && !cost(&a, &b).worse_by(0.25));
        assert!(rate(&b, &a).worse_by(0.1) && rate(&a, &b).better_by(0.1) && !rate(&a, &b).worse_by(0.0));
    }

    #[test]
    fn few_samples_or_zeros_give_no_verdict() {
        let change = rate(&[1.0, 1.0, 1.0], &[2.0, 2.0, 2.0, 2.0]);
        assert_eq!((change.judgement, change.p), (Judgement::Unclear, None));
        assert_eq!(rate(&[1.0; 4], &[2.0; 4]).word(), "faster");
        let none = Change::of(Measure::CostPerMb, &[0.0; 8], &[1.0; 8], &[], 0.03, &Bootstrap::default());
        assert_eq!(none, None);
    }

    #[test]
    fn pairing_removes_shared_drift() {
        // A storage whose rate varies by a factor of three, with a change of 10% added.
        let mut rng = Xoshiro256::seeded(11);
        let base: Vec<f64> = (0..12).map(|_| 100.0 * 3f64.powf(rng.unit())).collect();
        let this: Vec<f64> = base.iter().map(|rate| rate * 0.9 * (1.0 + 0.01 * (rng.unit() - 0.5))).collect();
        let pairs: Vec<_> = (0..12).map(|round| (round, round)).collect();
        let paired =
            Change::of(Measure::Rate, &base, &this, &pairs, DEFAULT_MARGIN, &Bootstrap::default()).unwrap();
        assert!(paired.paired && paired.judgement == Judgement::Worse && paired.ratio.contains(0.9));
        assert_eq!(rate(&base, &this).judgement, Judgement::Unclear);
    }
}
