//! A cell of an experiment's grid: labels, raw samples, and their summary.

use serde::{Deserialize, Serialize};

use super::counted::{counted, counted_warm, of_regime, regime_of};
use super::labels::Labels;
use super::regime::Regime;
use super::sample::{Latency, Proof, Sample};
use super::terms::word;
use super::warning::{StopReason, Warning};
use crate::stats::{
    Bootstrap, Changes, Course, DEFAULT_MARGIN, Drift, Estimate, Level, Modes, RatioComparison,
    Repeatability, WarmUp, change_points, compare_rates, find_modes, levels, mann_kendall, median, outliers,
    repeatability,
};
use crate::units;

/// The summary of a cell, over its usable samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Median throughput with its interval, in bytes per second.
    pub rate: Estimate,
    /// Regime of the samples that the summary is of; `None` for work without a device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regime: Option<Regime>,
    /// Median throughput of the samples of the other regime, in bytes per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_regime: Option<Estimate>,
    /// Number of short samples of the first rounds, which do not count beside longer ones: kept raw.
    #[serde(default)]
    pub short: usize,
    /// Counted samples.
    pub n: usize,
    /// Half the interval's width as a share of the median; `None` with one sample.
    pub relative_half_width: Option<f64>,
    /// Reason why measuring stopped.
    pub stop: StopReason,
    /// Median number of requests per second.
    pub requests_per_s: Option<f64>,
    /// CPU time per megabyte (10^6 bytes).
    pub cpu_per_mb: CpuCost,
    /// CPU time per request; `None` if requests were not counted.
    pub cpu_per_request: Option<CpuCost>,
    /// Processors kept busy: charged CPU time ÷ wall time.
    pub processors: Option<Estimate>,
    /// Median over the samples of the mean number of requests in flight per worker.
    pub achieved_depth: Option<f64>,
    /// Medians over the samples of the latency percentiles.
    pub latency: Option<Latency>,
    /// Positions in `samples` of outliers (modified z-score over 3.5): labelled, not dropped.
    #[serde(default)]
    pub outliers: Vec<usize>,
    /// The two levels, if the samples are bimodal.
    pub modes: Option<Modes>,
    /// The levels of the samples, lowest first; empty if the distribution is unimodal.
    #[serde(default)]
    pub levels: Vec<Level>,
    /// Lasting changes of the rate during the run, and the levels between them; `None` if there are none, or below ten
    /// samples.
    pub changes: Option<Changes>,
    /// The rule of 1997: repeated results agree within 3%; `None` below three samples.
    pub repeatability: Option<Repeatability>,
    /// Warm-up samples at the front, if the rest is steady: kept raw, not counted here. `None` below ten samples, and for
    /// samples that do not follow each other at once.
    pub warm_up: Option<WarmUp>,
    /// Trend of the rate over the run; `None` below four samples.
    pub drift: Option<Drift>,
    /// Number of samples whose proof contradicts their label: kept raw, not counted here.
    #[serde(default)]
    pub contradicted: usize,
    /// Number of samples whose cache state is unproved; they count.
    #[serde(default)]
    pub unproved: usize,
    /// The meter's own share of a worker's time per request.
    pub tool_share: Option<f64>,
    /// True if the meter limits the cell, not the storage.
    #[serde(default)]
    pub tool_bound: bool,
    /// Warnings for the reader, a phrase each.
    #[serde(default)]
    pub flags: Vec<Warning>,
}

/// CPU time per unit of work, in seconds; medians over the samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CpuCost {
    /// User and system time together, with the interval.
    pub charged: Estimate,
    /// CPU time in user mode.
    pub user_s: f64,
    /// CPU time in the kernel, charged to the process.
    pub system_s: f64,
    /// CPU time of the system not charged to the process; `None` if unknown. It includes any other load.
    pub uncharged_s: Option<f64>,
}

/// Options of a summary.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SummaryOptions {
    /// Reason why measuring stopped.
    pub stop: StopReason,
    /// Seconds per request of the null engine, if measured.
    pub null_request_s: Option<f64>,
    /// Requested regime.
    pub regime: Regime,
}

/// The meter limits a cell if it takes at least this share of a worker's time per request.
const TOOL_BOUND_SHARE: f64 = 0.5;
/// A depth counts as reached if at least this share of it is in flight on average.
const DEPTH_REACHED: f64 = 0.9;
/// An arrival rate counts as reached if at least this share of the requests per second is completed.
const LOAD_REACHED: f64 = 0.97;
const MB: f64 = 1e6;

/// Summarises samples (see [`Sample::usable`]); `None` when none is usable.
///
/// `labels` gives the requested depth and the number of workers.
pub fn summarise(samples: &[Sample], labels: &Labels, options: &SummaryOptions) -> Option<Summary> {
    let regime = regime_of(samples, options.regime);
    let (positions, warm_up) = counted_warm(samples, regime);
    let short = of_regime(samples, regime).len() - positions.len() - warm_up.map_or(0, WarmUp::left_out);
    let usable: Vec<&Sample> = positions.iter().map(|&i| &samples[i]).collect();
    let rates: Vec<f64> = usable.iter().map(|s| s.rate()).collect();
    let bootstrap = &Bootstrap::default();
    // Stopping at a narrow interval biases it, so it is widened; also for cells whose time ran out, because the samples
    // decide which cells remain unfinished.
    let rate = bootstrap.after_stopping().median(&rates)?;
    let uncertainty = median_of(&usable, |s| Some(s.uncertainty)).unwrap_or(0.0);
    // An error of accounting is the same in every sample. One sample has no interval.
    let rate = if rates.len() > 1 { rate.widened(uncertainty) } else { rate };
    let other_regime = regime.and_then(Regime::opposite).and_then(|other| {
        let others = of_regime(samples, Some(other));
        bootstrap.median(&others.into_iter().map(|i| samples[i].rate()).collect::<Vec<_>>())
    });
    let per_mb: Vec<f64> = usable.iter().map(|s| s.bytes as f64 / MB).collect();
    let per_request: Vec<f64> = usable.iter().map(|s| s.requests as f64).collect();
    let counted = usable.iter().all(|s| s.requests > 0);
    let achieved_depth = median_of(&usable, |s| s.depth_mean);
    let workers = f64::from(labels.workers.unwrap_or(1).max(1));
    let request_s = median_of(&usable, |s| (s.requests > 0).then(|| s.seconds * workers / s.requests as f64));
    let tool_share = options.null_request_s.zip(request_s).map(|(null, request)| (null / request).min(1.0));
    let contradicted = |s: &&Sample| matches!(s.proof, Proof::Contradicted { .. });
    let mut summary = Summary {
        rate,
        regime,
        other_regime,
        short,
        n: usable.len(),
        relative_half_width: (usable.len() > 1).then(|| rate.relative_half_width()).filter(|w| w.is_finite()),
        stop: options.stop,
        requests_per_s: median_of(&usable, |s| s.requests_per_s()),
        cpu_per_mb: cpu_cost(&usable, &per_mb, bootstrap)?,
        cpu_per_request: if counted { cpu_cost(&usable, &per_request, bootstrap) } else { None },
        processors: bootstrap.median(&usable.iter().map(|s| s.charged_s() / s.seconds).collect::<Vec<_>>()),
        achieved_depth,
        latency: latency(&usable),
        outliers: outliers(&rates).into_iter().map(|i| positions[i]).collect(),
        modes: find_modes(&rates),
        levels: levels(&rates, bootstrap),
        changes: change_points(&rates, bootstrap).filter(|changes| !changes.points.is_empty()),
        repeatability: repeatability(&rates),
        warm_up,
        drift: mann_kendall(&rates),
        contradicted: samples.iter().filter(contradicted).count(),
        unproved: usable.iter().filter(|s| matches!(s.proof, Proof::Unproved { .. })).count(),
        tool_share,
        tool_bound: tool_share.is_some_and(|share| share >= TOOL_BOUND_SHARE),
        flags: Vec::new(),
    };
    summary.flags = flags(&summary, samples, &positions, labels);
    Some(summary)
}

/// One fully specified trial of an experiment and every sample taken of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Unique within the document.
    pub id: String,
    /// Experiment the cell belongs to (`read`, `write`, `depth`, `random`, `transform`, `memory` or another).
    pub experiment: String,
    /// Labels that identify the cell within its experiment.
    pub labels: Labels,
    /// Samples in the order in which they were taken, contradicted ones included.
    #[serde(default)]
    pub samples: Vec<Sample>,
    /// Summary of the usable samples; `None` if there are none.
    pub summary: Option<Summary>,
    /// Reason why the cell was not measured.
    pub skipped: Option<String>,
    /// Error of a later sample, which ended the measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

impl Summary {
    /// Returns the other regime and its rate in bytes per second.
    fn other_regime(&self) -> Option<(Regime, f64)> {
        Some((self.regime?.opposite()?, self.other_regime?.value))
    }

    /// The figure of the other regime in words: `burst 3.3 GB/s`.
    pub(crate) fn other_regime_text(&self) -> Option<String> {
        let (other, rate) = self.other_regime()?;
        Some(format!("{} {}", word(other), units::rate(rate)))
    }

    /// All warnings except the one that measuring stopped before the target precision.
    pub(crate) fn warnings_of_samples(&self) -> impl Iterator<Item = &Warning> {
        self.flags.iter().filter(|warning| warning.stop().is_none())
    }
}

impl Cell {
    /// Creates a cell without samples.
    pub fn new(id: impl Into<String>, experiment: impl Into<String>, labels: Labels) -> Self {
        let (id, experiment) = (id.into(), experiment.into());
        Self { id, experiment, labels, samples: Vec::new(), summary: None, skipped: None, failed: None }
    }

    /// Creates a cell with samples and their summary.
    #[cfg(test)]
    pub(crate) fn measured(id: &str, labels: Labels, samples: impl IntoIterator<Item = Sample>) -> Self {
        let samples = samples.into_iter().collect();
        let mut cell = Self { samples, ..Self::new(id, "read", labels) };
        cell.summarise(&SummaryOptions::default());
        cell
    }

    /// Creates a cell that cannot be measured here.
    pub fn skipped(
        id: impl Into<String>,
        experiment: impl Into<String>,
        labels: Labels,
        reason: impl Into<String>,
    ) -> Self {
        Self { skipped: Some(reason.into()), ..Self::new(id, experiment, labels) }
    }

    pub(crate) fn regime(&self) -> Option<Regime> {
        self.summary.as_ref()?.regime
    }

    /// Recomputes the summary from the samples.
    pub fn summarise(&mut self, options: &SummaryOptions) {
        self.summary = summarise(&self.samples, &self.labels, options);
        if let (Some(summary), Some(reason)) = (&mut self.summary, &self.failed) {
            summary.flags.push(Warning::Failed(reason.clone()));
        }
    }

    /// Returns the samples that the summary counts, in order: usable ones of one regime, without the short ones of the first
    /// rounds and those that it classifies as warm-up.
    pub fn counted(&self) -> impl Iterator<Item = &Sample> {
        self.counted_in(Regime::Sustained)
    }

    /// Returns the samples that the summary counts; without a summary, those of the requested regime that it would count.
    pub(crate) fn counted_in(&self, requested: Regime) -> impl Iterator<Item = &Sample> {
        self.counted_positions(requested).into_iter().map(|position| &self.samples[position])
    }

    /// Returns the positions of the [counted](Self::counted_in) samples, ascending.
    pub(crate) fn counted_positions(&self, requested: Regime) -> Vec<usize> {
        match &self.summary {
            Some(summary) => {
                let all = of_regime(&self.samples, summary.regime);
                let left_out = summary.warm_up.map_or(0, WarmUp::left_out);
                // Summaries of earlier minor versions count short samples, too.
                let counts_all = summary.n + left_out == all.len();
                let mut positions = if counts_all { all } else { counted(&self.samples, summary.regime) };
                positions.drain(..left_out.min(positions.len()));
                positions
            }
            None => counted_warm(&self.samples, regime_of(&self.samples, requested)).0,
        }
    }

    /// Returns the rates of the [`counted`](Self::counted) samples in bytes per second.
    pub fn rates(&self) -> Vec<f64> {
        self.counted().map(Sample::rate).collect()
    }

    /// Returns the ratio of its rates to those of another cell; `None` if either has none.
    pub(crate) fn compared_with(&self, other: &Self) -> Option<RatioComparison> {
        compare_rates(&self.rates(), &other.rates(), DEFAULT_MARGIN, &Bootstrap::default())
    }
}

fn median_of(samples: &[&Sample], value: impl Fn(&Sample) -> Option<f64>) -> Option<f64> {
    median(&samples.iter().filter_map(|s| value(s)).collect::<Vec<_>>())
}

/// Computes the CPU time per unit of work; `units` holds the units of each sample (all positive).
fn cpu_cost(samples: &[&Sample], units: &[f64], bootstrap: &Bootstrap) -> Option<CpuCost> {
    let each = |value: fn(&Sample) -> f64| -> Vec<f64> {
        samples.iter().zip(units).map(|(s, unit)| value(s) / unit).collect()
    };
    let off_process_cpu: Vec<f64> =
        samples.iter().zip(units).filter_map(|(s, unit)| s.uncharged_s.map(|u| u / unit)).collect();
    Some(CpuCost {
        charged: bootstrap.median(&each(Sample::charged_s))?,
        user_s: median(&each(|s| s.user_s))?,
        system_s: median(&each(|s| s.system_s))?,
        uncharged_s: median(&off_process_cpu),
    })
}

fn latency(samples: &[&Sample]) -> Option<Latency> {
    let of = |value: fn(&Latency) -> f64| median_of(samples, |s| s.latency.as_ref().map(value));
    Some(Latency {
        p50_s: of(|l| l.p50_s)?,
        p90_s: of(|l| l.p90_s)?,
        p99_s: of(|l| l.p99_s)?,
        p999_s: of(|l| l.p999_s)?,
        max_s: of(|l| l.max_s)?,
    })
}

/// Returns the warnings of a cell; `positions` are those of the samples in the summary.
fn flags(summary: &Summary, samples: &[Sample], positions: &[usize], labels: &Labels) -> Vec<Warning> {
    let mut flags = Vec::new();
    if summary.contradicted > 0 {
        let reason = samples.iter().find_map(|s| match &s.proof {
            Proof::Contradicted { reason } => Some(reason.clone()),
            _ => None,
        });
        flags.push(Warning::Contradicted { samples: summary.contradicted, reason });
    }
    if let Some((regime, rate)) = summary.other_regime() {
        flags.push(Warning::OtherRegime { regime, rate });
    } else if summary.regime == Some(Regime::Burst) {
        flags.push(Warning::BurstOnly);
    }
    if samples.iter().filter_map(|sample| sample.course.as_ref()).any(Course::is_short) {
        flags.push(Warning::ShortCourse);
    }
    let warm_up = summary.warm_up.map(WarmUp::left_out).filter(|count| *count > 0);
    flags.extend(warm_up.map(Warning::WarmUp));
    if let Some(changes) = summary.changes.as_ref().filter(|changes| !changes.drifts) {
        for point in changes.points.iter().filter(|point| point.matters()) {
            let sample = positions[point.at] + 1;
            flags.push(Warning::Changed { relative: point.relative_change, sample });
        }
    }
    if summary.levels.len() > 2 {
        flags.push(Warning::Levels(summary.levels.clone()));
    } else {
        flags.extend(summary.modes.map(Warning::Bimodal));
    }
    flags.extend(summary.drift.filter(Drift::matters).map(Warning::Drifting));
    flags.extend(summary.tool_share.filter(|_| summary.tool_bound).map(Warning::ToolBound));
    if let (Some(requested), Some(reached)) = (labels.depth, summary.achieved_depth)
        && reached < DEPTH_REACHED * f64::from(requested)
    {
        flags.push(Warning::DepthNotReached { reached, requested });
    }
    if let (Some(requested), Some(reached)) = (labels.load_per_s, summary.requests_per_s)
        && reached < LOAD_REACHED * requested as f64
    {
        flags.push(Warning::LoadNotReached { reached, requested });
    }
    if summary.stop != StopReason::Precise {
        let (stop, samples, width) = (summary.stop, summary.n, summary.relative_half_width);
        flags.push(Warning::Unfinished { stop, samples, width });
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;
    use crate::stats::Xoshiro256;

    /// The sample's number counts the contradicted samples of the document, too.
    #[test]
    fn a_change_is_reported_at_its_position_in_the_document() {
        let contradicted = Proof::Contradicted { reason: "it was not cold".into() };
        let sample = |(place, rate): (usize, f64)| Sample {
            bytes: (rate * (1.0 + 0.004 * (place * 7 % 5) as f64)) as u64,
            seconds: 1.0,
            proof: if place < 3 { contradicted.clone() } else { Proof::Confirmed },
            ..Sample::default()
        };
        let rates = std::iter::repeat_n(1e9, 15).chain(std::iter::repeat_n(5e8, 12));
        let samples: Vec<Sample> = rates.enumerate().map(sample).collect();
        let summary = summarise(&samples, &Labels::default(), &SummaryOptions::default()).unwrap();
        assert!(summary.warm_up.is_none_or(|warm_up| warm_up.left_out() == 0), "{:?}", summary.warm_up);
        let changed = |warning: &Warning| matches!(warning, Warning::Changed { sample: 16, .. });
        assert!(summary.flags.iter().any(changed), "{:?}", summary.flags);
    }

    #[test]
    fn a_summary_is_of_the_requested_regime_with_the_other_beside_it() {
        use Regime::{Burst, Sustained, Unknown};
        let sample = |&(rate, regime): &(u64, Regime)| Sample {
            bytes: rate,
            seconds: 1.0,
            regime: Some(regime),
            ..Sample::default()
        };
        let of = |given: &[(u64, Regime)], regime| {
            let mut cell = Cell::new("a", "read", Labels::default());
            cell.samples = given.iter().map(sample).collect();
            assert_eq!(cell.counted_in(regime).count(), 3, "as many as the summary counts");
            cell.summarise(&SummaryOptions { regime, ..Default::default() });
            let summary = cell.summary.clone().unwrap();
            assert_eq!((summary.n, cell.counted().count()), (3, 3));
            (summary.rate.value, summary.other_regime.map(|other| other.value), summary.other_regime_text())
        };
        let both = [1, 2, 3].map(|_| [(500_000_000, Burst), (100_000_000, Sustained)]).concat();
        assert_eq!(of(&both, Sustained), (1e8, Some(5e8), Some("burst 500 MB/s".into())));
        assert_eq!(of(&both, Burst), (5e8, Some(1e8), Some("sustained 100 MB/s".into())));
        // An unknown regime is no burst.
        let unknown = [1, 2, 3].map(|_| [(500_000_000, Unknown), (100_000_000, Sustained)]).concat();
        assert_eq!(of(&unknown, Sustained), (1e8, None, None));
        // An unknown one that is no faster than the sustained ones counts as sustained.
        assert_eq!(of(&[(90, Unknown), (95, Unknown), (110, Sustained)], Sustained), (95.0, None, None));
        assert_eq!(of(&[(7, Unknown); 3], Sustained), (7.0, None, None));
    }

    #[test]
    fn intervals_of_unfinished_cells_are_as_wide_as_those_of_precise_ones() {
        let document = Document::parse(include_str!("../../tests/fixtures/results-v1.json")).unwrap();
        let cell = &document.cells[0];
        let model = cell.samples.iter().find(|sample| sample.usable()).unwrap();
        let mut rng = Xoshiro256::seeded(8);
        let samples: Vec<Sample> =
            (0..25).map(|_| Sample { seconds: 0.1 * (0.9 + 0.2 * rng.unit()), ..model.clone() }).collect();
        let rate = |stop| {
            let summary = summarise(&samples, &cell.labels, &SummaryOptions { stop, ..Default::default() });
            summary.unwrap().rate
        };
        let rates: Vec<f64> = samples.iter().map(Sample::rate).collect();
        let plain = Bootstrap::default().median(&rates).unwrap();
        assert_eq!(rate(StopReason::TimeUp), rate(StopReason::Precise));
        assert_eq!(rate(StopReason::TimeUp), rate(StopReason::Interrupted));
        assert!(rate(StopReason::TimeUp).relative_half_width() > plain.relative_half_width());
    }
}
