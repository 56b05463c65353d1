//! One measure of a cell in two documents: the ratio of medians, its interval, a test, and the verdict.

use serde::Serialize;

use crate::stats::{
    Bootstrap, Estimate, FEWEST_PAIRS, compare_rates, effective_samples, mean, median, squares, student_t_cdf,
};

/// Confidence of the interval that must lie within the margin for "same": a change as large as the margin is called the
/// same in at most 10% of cases, one of 1.5 times the margin hardly ever.
const SAME: f64 = 0.8;

/// Fewest samples on either side for a verdict. The test of the logarithms has at least two degrees of freedom then.
pub const FEWEST_SAMPLES: usize = 3;

/// Fewest samples on either side for a verdict of the bootstrap: with three on each side, all of one exceed all of the
/// other in one case of ten by chance.
const FEWEST_RESAMPLED: usize = 4;

/// A compared measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Throughput in bytes per second.
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
    /// Worse: the whole interval, of medians or of mean logarithms, is beyond the margin.
    Worse,
    /// Undecided: the interval is too wide, or there are fewer than [`FEWEST_SAMPLES`].
    Unclear,
    /// The same: the whole 80% interval, of medians or of mean logarithms, is within the margin.
    Same,
    /// Better: the counterpart of [`Worse`](Self::Worse).
    Better,
}

impl Judgement {
    /// Returns the verdict in the words of the measure: `slower`, `cpu-higher`.
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

    /// True if such a change lowers the measure.
    pub(super) fn falls(self, measure: Measure) -> bool {
        measure.more_is_better() == (self == Self::Worse)
    }

    /// The verdict of the two intervals of a ratio (this ÷ baseline): an equivalence test of one side each (Schuirmann,
    /// Journal of Pharmacokinetics and Biopharmaceutics, 1987) and its opposite.
    fn of(different: &Estimate, same: &Estimate, margin: f64, more_is_better: bool) -> Self {
        let (least, most) = (1.0 / (1.0 + margin), 1.0 + margin);
        let within = same.low >= least && same.high <= most;
        Self::decide(different.low > most, different.high < least, within, more_is_better)
    }

    fn decide(above: bool, below: bool, within: bool, more_is_better: bool) -> Self {
        match above || below {
            true if above == more_is_better => Self::Better,
            true => Self::Worse,
            false if within => Self::Same,
            false => Self::Unclear,
        }
    }

    /// The verdict of the test of the logarithms, by the same probabilities. It decides more of the cells with even
    /// noise; the intervals, of medians, decide more of those with outliers.
    fn of_test(test: &LogTest, confidence: f64, margin: f64, more_is_better: bool) -> Self {
        let (least, most) = (1.0 / (1.0 + margin), 1.0 + margin);
        let (above, below) = (test.p_of_at_most(most), test.p_of_at_least(least));
        // One side each: half of what a two-sided interval misses.
        let [different, same] = [confidence, SAME].map(|confidence| (1.0 - confidence) / 2.0);
        let within = test.p_of_at_least(most) <= same && test.p_of_at_most(least) <= same;
        Self::decide(above <= different, below <= different, within, more_is_better)
    }

    /// Returns [`Unclear`](Self::Unclear) in place of a difference if the displayed interval contains equality.
    fn outside(self, interval: &Estimate) -> Self {
        match self {
            Self::Worse | Self::Better if interval.contains(1.0) => Self::Unclear,
            verdict => verdict,
        }
    }

    /// The verdict of two methods: that of the one that has a verdict; of two that contradict each other, none.
    fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unclear, verdict) | (verdict, Self::Unclear) => verdict,
            (one, other) if one == other => one,
            _ => Self::Unclear,
        }
    }
}

/// A measure of a cell, compared with the baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// The measure; it determines the unit.
    pub measure: Measure,
    /// Median of the baseline.
    pub baseline: f64,
    /// Median of the other document.
    pub this: f64,
    /// Usable samples of the baseline.
    pub baseline_samples: usize,
    /// Usable samples of the other document.
    pub samples: usize,
    /// True if samples of the same round were compared with each other.
    pub paired: bool,
    /// This ÷ baseline: the ratio of the medians, or the median of the rounds' ratios if they are paired.
    pub ratio: Estimate,
    /// The verdict of the interval.
    #[serde(skip)]
    pub judgement: Judgement,
    /// The verdict in the words of the measure.
    pub verdict: &'static str,
    /// True if the verdict is better or worse and holds among all comparisons made.
    pub stands: bool,
    /// Probability of a change at least as large in either direction if there is none; `None` with too few samples.
    pub p: Option<f64>,
    /// The probability `p`, corrected for the number of comparisons of this measure (Holm).
    pub p_among_all: Option<f64>,
    #[serde(skip)]
    pub(super) test: Option<LogTest>,
}

impl Change {
    pub(super) fn is_judged(&self) -> bool {
        matches!(self.judgement, Judgement::Better | Judgement::Worse)
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
        let ratios: Vec<f64> = pairs.iter().map(|&(a, b)| this[b] / baseline[a]).collect();
        let interval = |confidence: f64| {
            let bootstrap = Bootstrap { confidence, ..*bootstrap };
            match paired {
                true => bootstrap.median(&ratios),
                false => Some(compare_rates(this, baseline, margin, &bootstrap)?.ratio),
            }
        };
        let ratio = interval(bootstrap.confidence)?;
        let test = if paired { LogTest::paired(&ratios) } else { LogTest::unpaired(this, baseline) };
        let fewest = baseline.len().min(this.len());
        let test = test.filter(|_| fewest >= FEWEST_SAMPLES);
        let more_is_better = measure.more_is_better();
        let tested = test.map_or(Judgement::Unclear, |test| {
            Judgement::of_test(&test, bootstrap.confidence, margin, more_is_better)
        });
        let judgement = match fewest >= FEWEST_RESAMPLED {
            true => Judgement::of(&ratio, &interval(SAME)?, margin, more_is_better).with(tested),
            false => tested,
        };
        let judgement = judgement.outside(&ratio);
        Some(Self {
            measure,
            baseline: before,
            this: now,
            baseline_samples: baseline.len(),
            samples: this.len(),
            paired,
            ratio,
            judgement,
            verdict: judgement.word(measure),
            stands: false,
            p: test.map(|test| test.p_of_no_change()),
            p_among_all: None,
            test,
        })
    }

    /// True if there are enough samples for conditions, which need the bootstrap's interval.
    pub(super) fn has_intervals(&self) -> bool {
        self.baseline_samples.min(self.samples) >= FEWEST_RESAMPLED
    }

    /// True if the whole interval is worse, or better, by more than `share`: a rate is worse below 1 − share, a cost above
    /// 1 + share.
    pub(super) fn is_beyond(&self, judgement: Judgement, share: f64) -> bool {
        self.has_intervals()
            && if judgement.falls(self.measure) {
                self.ratio.high < 1.0 - share
            } else {
                self.ratio.low > 1.0 + share
            }
    }
}

/// Student's t for the mean logarithm of a ratio: Welch's for two independent sets, the plain one for pairs.
///
/// Rates are products of shares of a limit, so their logarithms are nearer to a normal distribution than the rates are,
/// and the test is symmetric in the choice of the baseline. The displayed interval is the bootstrap's; this test gives
/// the small tail probabilities that a correction for a hundred comparisons needs and 2000 resamples cannot give.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LogTest {
    /// Mean of ln(this) minus mean of ln(baseline).
    difference: f64,
    /// Standard error of the difference.
    error: f64,
    /// Degrees of freedom.
    freedom: f64,
}

impl LogTest {
    /// Tests two independent sets of positive values; `None` with fewer than two values in either.
    pub(super) fn unpaired(this: &[f64], baseline: &[f64]) -> Option<Self> {
        let ((a, va), (b, vb)) = (log_moments(this)?, log_moments(baseline)?);
        let (na, nb) = (worth(this), worth(baseline));
        let (ea, eb) = (va / na, vb / nb);
        let variance = ea + eb;
        // Welch and Satterthwaite; for constant values any number will do.
        let freedom = if variance > 0.0 {
            variance.powi(2) / (ea * ea / (na - 1.0) + eb * eb / (nb - 1.0))
        } else {
            1.0
        };
        Some(Self { difference: a - b, error: variance.sqrt(), freedom })
    }

    /// Tests the ratios of pairs; `None` with fewer than two.
    pub(super) fn paired(ratios: &[f64]) -> Option<Self> {
        let (mean, variance) = log_moments(ratios)?;
        let n = worth(ratios);
        Some(Self { difference: mean, error: (variance / n).sqrt(), freedom: n - 1.0 })
    }

    /// Probability of a change at least as large in either direction, if there is none.
    pub(super) fn p_of_no_change(&self) -> f64 {
        (2.0 * self.p_of_at_least(1.0).min(self.p_of_at_most(1.0))).min(1.0)
    }

    /// Probability of a ratio as low as this one, if the true ratio is `bound` or more.
    pub(super) fn p_of_at_least(&self, bound: f64) -> f64 {
        self.tail(self.difference - bound.ln())
    }

    /// Probability of a ratio as high as this one, if the true ratio is `bound` or less.
    pub(super) fn p_of_at_most(&self, bound: f64) -> f64 {
        self.tail(bound.ln() - self.difference)
    }

    fn tail(&self, distance: f64) -> f64 {
        match distance {
            d if self.error > 0.0 => student_t_cdf(d / self.error, self.freedom),
            d if d < 0.0 => 0.0,
            _ => 1.0,
        }
    }
}

/// Below this number of samples, correlation is ignored: too often it is due to chance.
const CORRELATED: usize = 16;

/// Returns the number of independent samples with as much information as these, which may be correlated.
fn worth(values: &[f64]) -> f64 {
    let n = values.len();
    if n < CORRELATED { n as f64 } else { effective_samples(values).max(2) as f64 }
}

/// Mean and variance of the logarithms.
fn log_moments(values: &[f64]) -> Option<(f64, f64)> {
    if values.len() < 2 {
        return None;
    }
    let logs: Vec<f64> = values.iter().map(|v| v.ln()).collect();
    let (mean, variance) = (mean(&logs), squares(&logs) / (logs.len() - 1) as f64);
    // The spread of equal values is rounding.
    let rounding = 16.0 * f64::EPSILON * mean.abs().max(1.0);
    Some((mean, if variance.sqrt() <= rounding { 0.0 } else { variance }))
}

/// Adjusts probabilities for their number so that each can be compared with one level: with all hypotheses true, the
/// probability that any adjusted one is at most `level` is at most `level` (Holm, Scandinavian Journal of Statistics, 1979).
pub(super) fn holm(probabilities: &[f64]) -> Vec<f64> {
    let n = probabilities.len();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| probabilities[a].total_cmp(&probabilities[b]));
    let mut adjusted = vec![0.0; n];
    let mut least: f64 = 0.0;
    for (rank, &place) in order.iter().enumerate() {
        least = least.max((n - rank) as f64 * probabilities[place]).min(1.0);
        adjusted[place] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{DEFAULT_MARGIN, Xoshiro256};

    fn draw(rng: &mut Xoshiro256, middle: f64, spread: f64, n: usize) -> Vec<f64> {
        (0..n).map(|_| middle * (1.0 + spread * (rng.unit() - 0.5))).collect()
    }

    fn rate(baseline: &[f64], this: &[f64]) -> Change {
        Change::of(Measure::Rate, baseline, this, &[], DEFAULT_MARGIN, &Bootstrap::default()).unwrap()
    }

    #[test]
    fn a_verdict_needs_its_whole_interval_on_one_side_of_the_margin() {
        let of = |low: f64, high: f64, near: f64| {
            let wide = Estimate { value: 1.0, low, high };
            let narrow = Estimate { value: 1.0, low: low + near, high: high - near };
            Judgement::of(&wide, &narrow, 0.1, true)
        };
        assert_eq!(of(1.11, 1.3, 0.01), Judgement::Better);
        assert_eq!(of(0.7, 0.9, 0.01), Judgement::Worse);
        assert_eq!(of(0.92, 1.09, 0.0), Judgement::Same);
        assert_eq!(of(0.9, 1.11, 0.02), Judgement::Same, "the narrower interval is within");
        assert_eq!(of(1.02, 1.2, 0.01), Judgement::Unclear);
        assert_eq!(of(0.88, 0.93, 0.01), Judgement::Unclear, "it excludes 1 and includes the margin");
        let wide = Estimate { value: 1.3, low: 1.2, high: 1.4 };
        assert_eq!(Judgement::of(&wide, &wide, 0.1, false), Judgement::Worse);
        assert_eq!(Judgement::Same.with(Judgement::Unclear), Judgement::Same);
        assert_eq!(Judgement::Same.with(Judgement::Better), Judgement::Unclear);
    }

    #[test]
    fn a_cost_that_rises_is_worse() {
        let mut rng = Xoshiro256::seeded(9);
        let (a, b) = (draw(&mut rng, 2.0, 0.02, 8), draw(&mut rng, 2.4, 0.02, 8));
        let cost = |a: &[f64], b: &[f64]| {
            Change::of(Measure::CostPerMb, a, b, &[], DEFAULT_MARGIN, &Bootstrap::default()).unwrap()
        };
        assert_eq!((cost(&a, &b).verdict, cost(&b, &a).verdict), ("cpu-higher", "cpu-lower"));
        assert!(
            cost(&a, &b).is_beyond(Judgement::Worse, 0.1) && !cost(&a, &b).is_beyond(Judgement::Worse, 0.25)
        );
        assert!(
            rate(&b, &a).is_beyond(Judgement::Worse, 0.1) && rate(&a, &b).is_beyond(Judgement::Better, 0.1)
        );
        assert!(!rate(&a, &b).is_beyond(Judgement::Worse, 0.0));
    }

    #[test]
    fn few_samples_or_zeros_give_no_verdict() {
        let change = rate(&[1.0, 1.0], &[2.0, 2.0, 2.0, 2.0]);
        assert_eq!((change.judgement, change.p), (Judgement::Unclear, None));
        assert_eq!(rate(&[1.0; 3], &[2.0; 3]).verdict, "faster");
        let spread = [0.8, 1.0, 1.25];
        assert_eq!(
            rate(&spread, &spread.map(|rate| 1.65 * rate)).judgement,
            Judgement::Unclear,
            "ranks alone"
        );
        let none = Change::of(Measure::CostPerMb, &[0.0; 8], &[1.0; 8], &[], 0.03, &Bootstrap::default());
        assert_eq!(none, None);
    }

    #[test]
    fn holm_matches_r() {
        // p.adjust(c(0.01, 0.04, 0.03, 0.005, 0.5), "holm") = 0.04 0.09 0.09 0.025 0.5, worked by hand from the definition:
        // sorted 0.005·5, 0.01·4, 0.03·3, 0.04·2 (raised to 0.09), 0.5·1.
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005, 0.5]);
        for (found, expected) in adjusted.iter().zip([0.04, 0.09, 0.09, 0.025, 0.5]) {
            assert!((found - expected).abs() < 1e-12, "{adjusted:?}");
        }
        assert_eq!(holm(&[]), Vec::<f64>::new());
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    }

    #[test]
    fn welch_matches_numeric_integration() {
        // e to the powers 1 … 5 and 2, 4, 6, 8: means 3 and 5, variances 2.5 and 20/3, so t = −2 / √(0.5 + 5/3)
        // = −1.358732 and freedom = (13/6)² / (0.5²/4 + (5/3)²/3) = 4.749415.
        let this: Vec<f64> = (1..=5).map(|k| f64::from(k).exp()).collect();
        let baseline: Vec<f64> = (1..=4).map(|k| f64::from(2 * k).exp()).collect();
        let test = LogTest::unpaired(&this, &baseline).unwrap();
        assert!((test.difference / test.error + 1.358_732).abs() < 1e-6);
        assert!((test.freedom - 4.749_415).abs() < 1e-6);
        // The density of Student's t beyond ±t, integrated by Simpson's rule in 200 000 steps.
        assert!((test.p_of_no_change() - 0.235_194_1).abs() < 1e-6, "{}", test.p_of_no_change());
        assert!((test.p_of_at_least(1.0) + test.p_of_at_most(1.0) - 1.0).abs() < 1e-12);
        // Against a bound equal to the difference the probability is one half.
        assert!((test.p_of_at_most((-2.0f64).exp()) - 0.5).abs() < 1e-9);
    }

    /// A slow change between two halves is worth fewer samples than noise of the same size.
    #[test]
    fn correlated_samples_show_less() {
        let steps = |values: [f64; 2]| [[values[0]; 8], [values[1]; 8]].concat();
        let mixed: Vec<f64> = (0..16).map(|k| [1.0, 1.2][k % 2]).collect();
        let other = [1.15; 16];
        let [slow, noise] =
            [steps([1.0, 1.2]), mixed].map(|values| LogTest::unpaired(&values, &other).unwrap());
        assert!(slow.error > 2.0 * noise.error && slow.freedom < noise.freedom / 2.0, "{slow:?} {noise:?}");
    }

    #[test]
    fn an_interval_around_equality_is_no_difference() {
        let interval = |low, high| Estimate { value: 0.7, low, high };
        assert_eq!(Judgement::Worse.outside(&interval(0.65, 1.1)), Judgement::Unclear);
        assert_eq!(Judgement::Worse.outside(&interval(0.65, 0.95)), Judgement::Worse);
        assert_eq!(Judgement::Same.outside(&interval(0.95, 1.05)), Judgement::Same);
    }

    #[test]
    fn constant_values_are_certain() {
        let test = LogTest::unpaired(&[0.3; 8], &[0.3; 8]).unwrap();
        assert_eq!((test.error, test.p_of_no_change()), (0.0, 1.0));
        let test = LogTest::unpaired(&[0.2; 8], &[0.3; 8]).unwrap();
        assert_eq!(
            (test.p_of_no_change(), test.p_of_at_least(0.9), test.p_of_at_least(0.1)),
            (0.0, 0.0, 1.0)
        );
        assert_eq!(LogTest::paired(&[1.0]), None);
    }
}
