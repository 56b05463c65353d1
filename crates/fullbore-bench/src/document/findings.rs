//! Findings from the cells of a run: roof, peaks, half-power points, cost lines, choices.

use serde::{Deserialize, Serialize};

use super::advice::{Advice, Recommendation, Rule};
use super::labels::Labels;
use super::regime::{DeviceCredit, DeviceLimit, DeviceVariation};
use super::series::{Experiment, Series};
use super::summary::Cell;
use crate::stats::{CostLine, DEFAULT_MARGIN, Estimate, HalfPower, RatioComparison, RequestTime};
use crate::units;

/// The findings of a run, with the ids of the cells that support them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Findings {
    /// The roof.
    pub roof: Option<Roof>,
    /// Limits of the devices, as far as searched for.
    pub limits: Vec<DeviceLimit>,
    /// Variation of the devices' throughput during the run, by direction.
    pub variation: Vec<DeviceVariation>,
    /// Peak of each path, with its share of the roof.
    pub peaks: Vec<Peak>,
    /// Half-power request of each path measured at several request sizes.
    pub half_power_request: Vec<SeriesHalfPower>,
    /// Half-power depth of each path measured at several depths.
    pub half_power_depth: Vec<SeriesHalfPower>,
    /// CPU time per request, `a + b · bytes`, of each path measured at three or more request sizes.
    pub costs: Vec<SeriesCost>,
    /// Elapsed time per request by size, of each path measured at three or more request sizes.
    pub request_times: Vec<SeriesRequestTime>,
    /// Burst and sustained throughput of each cell of continuous transfer.
    pub credit: Vec<DeviceCredit>,
    /// Number of disks at which throughput saturates, of each path measured over several numbers of disks.
    pub saturation: Vec<Saturation>,
    /// The strategy chosen for each kind of job.
    pub choices: Vec<Choice>,
    /// Time of `auto` beyond that of the best strategy, for each job that both did.
    pub regrets: Vec<Regret>,
    /// The strategy to use for each kind of job.
    pub use_this: Vec<Recommendation>,
    /// Advice for this machine: entries that lead first, each part by descending worth, low confidence last.
    pub advice: Vec<Advice>,
    /// Verdicts on the rules of the paper of 1997.
    pub rules: Vec<Rule>,
    /// The storage pipeline, if measured.
    pub pipeline: Option<Pipeline>,
    /// Ratios of our cells to those of other programs.
    pub peers: Vec<PeerRatio>,
    /// Prediction of each cell from the others of its path, where they allow one.
    pub predictions: Vec<CellPrediction>,
}

/// The highest rate at which workers read or copy memory: the upper limit of every path through memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Roof {
    /// Throughput of the fastest cell in bytes per second.
    pub rate: Estimate,
    /// Id of the cell that measured it.
    pub cell: String,
}

impl Roof {
    /// A rate as a share of the roof: 1 if it is above the roof, but the intervals overlap. `None` for a roof of 0.
    pub fn share(&self, rate: &Estimate) -> Option<f64> {
        let overlap = rate.low <= self.rate.high;
        let share = rate.value / self.rate.value;
        (self.rate.value > 0.0).then(|| if overlap { share.min(1.0) } else { share })
    }
}

/// A path: cells that differ along one axis only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeriesRef {
    /// Experiment.
    pub experiment: String,
    /// Name of the path within the experiment.
    pub name: String,
    /// Labels shared by its cells.
    pub labels: Labels,
    /// Ids of its cells, ascending along the axis.
    pub cells: Vec<String>,
}

impl SeriesRef {
    pub(crate) fn new(experiment: &Experiment, line: &Series, cells: &[Cell]) -> Self {
        Self {
            experiment: experiment.name.clone(),
            name: line.name.clone(),
            labels: line.labels.clone(),
            cells: line.cells.iter().map(|&i| cells[i].id.clone()).collect(),
        }
    }
}

/// The fastest cell of a path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Peak {
    /// The path.
    pub series: SeriesRef,
    /// Id of the fastest cell.
    pub cell: String,
    /// Throughput of the fastest cell in bytes per second.
    pub rate: Estimate,
    /// Throughput of the fastest cell as a share of the roof.
    pub share_of_roof: Option<f64>,
}

/// The half-power point of a path; positions in bytes (request) or requests (depth), throughput in bytes per second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeriesHalfPower {
    /// The path.
    pub series: SeriesRef,
    /// The point.
    pub half_power: HalfPower,
}

/// CPU time of a path's requests: `per_request` in seconds, `per_byte` in seconds per byte.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeriesCost {
    /// The path.
    pub series: SeriesRef,
    /// Fitted line.
    pub line: CostLine,
}

/// Elapsed time of a path's requests at the path's depth, in seconds, as limited by the device or the path to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeriesRequestTime {
    /// The path.
    pub series: SeriesRef,
    /// Time by request size.
    pub time: RequestTime,
}

/// Growth of throughput with the number of disks, and the number at which it stops.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Saturation {
    /// The path: cells that differ only in the number of disks.
    pub series: SeriesRef,
    /// Smallest number of disks whose median is within 3% of the largest median: more disks do not help.
    pub at: u64,
    /// Id of the cell with this number of disks.
    pub cell: String,
    /// Throughput of that cell in bytes per second.
    pub rate: Estimate,
    /// True if `at` is the largest number measured: no saturation yet.
    pub still_rising: bool,
    /// True if the intervals confirm `at`: throughput is significantly lower with every smaller number, and at `at` it
    /// is significantly within the margin of the largest.
    pub sure: bool,
    /// Every measured number of disks, ascending.
    pub steps: Vec<SaturationStep>,
}

/// Throughput of a number of disks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SaturationStep {
    /// Number of disks.
    pub targets: u64,
    /// Id of the cell.
    pub cell: String,
    /// Total throughput in bytes per second.
    pub rate: Estimate,
    /// Throughput without a shared limit, in bytes per second: the sum of the single disks'; for a striped file, their
    /// number times the slowest. Without cells of single disks: their number times the throughput of one disk.
    pub expected: Option<f64>,
    /// `rate` as a share of `expected`.
    pub efficiency: Option<f64>,
}

/// The strategy chosen for a kind of job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// Kind of job with the cache state, such as `read, cold` or `copy, warm`.
    pub job: String,
    /// The strategy in the syntax of `--strategy`.
    pub strategy: String,
    /// Id of the cell that measured it.
    pub cell: String,
    /// Throughput of the strategy in bytes per second.
    pub rate: Estimate,
    /// Reason for the choice, in one line.
    pub evidence: String,
    /// Best strategy of another access method, or of the same if only one was measured.
    pub runner_up: Option<RunnerUp>,
}

/// The second-best strategy of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunnerUp {
    /// The strategy in the syntax of `--strategy`.
    pub strategy: String,
    /// Id of the cell that measured it.
    pub cell: String,
    /// Throughput of the chosen strategy ÷ throughput of this one.
    pub comparison: RatioComparison,
}

/// Time that `auto` takes beyond that of the best strategy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Regret {
    /// Kind of job with the cache state.
    pub job: String,
    /// Id of the cell of `auto`.
    pub cell: String,
    /// Id of the fastest of the other cells, by its median.
    pub best: String,
    /// Strategy of the fastest cell in the syntax of `--strategy`.
    pub strategy: String,
    /// Number of strategies that `auto` is compared with.
    pub strategies: usize,
    /// Time of `auto` ÷ time of the best strategy − 1, in the same rounds; negative if `auto` is faster.
    pub regret: Estimate,
}

impl Regret {
    /// Formats the regret: `auto: within 2% of the best of 4 strategies for scan, warm`. A significant one names the strategy.
    pub fn text(&self) -> String {
        let Estimate { low, high, .. } = self.regret;
        let strategy = (low > 0.0 && high > DEFAULT_MARGIN).then(|| format!(", `{}`", self.strategy));
        format!("auto: {}{}", self.words(), strategy.unwrap_or_default())
    }

    /// Formats the regret without the name of a strategy: `within 2% of the best of 4 strategies for scan, warm`.
    pub(crate) fn words(&self) -> String {
        /// An interval that includes 0 and ends beyond this means only that the difference is not significant.
        const WIDE: f64 = 0.1;
        let Self { job, strategies, regret, .. } = self;
        let [value, low, high] = [regret.value, regret.low, regret.high].map(units::percent);
        let others = units::count(*strategies, "strategy").replace("strategys", "strategies");
        let interval = match regret.has_interval() {
            true => format!("95% interval {low} to {high}"),
            false => "no interval".to_owned(),
        };
        if regret.high < 0.0 {
            let less = units::percent(-regret.value);
            format!("{less} less time than the best of {others} for {job} ({interval})")
        } else if regret.high <= DEFAULT_MARGIN || regret.low <= 0.0 && regret.high <= WIDE {
            format!("within {high} of the best of {others} for {job}")
        } else if regret.low > 0.0 {
            format!("{value} more time than the best of {others} for {job} ({interval})")
        } else {
            format!("no significant difference from the best of {others} for {job} ({interval})")
        }
    }
}

/// Ratio of one of our cells to a peer's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PeerRatio {
    /// Id of our cell.
    pub cell: String,
    /// Id of the peer's cell.
    pub peer_cell: String,
    /// The peer: `fio`, `cp` …
    pub peer: String,
    /// Our throughput ÷ the peer's, in the same rounds.
    pub rate: RatioComparison,
    /// Our median latency ÷ the peer's, if both were measured.
    pub p50: Option<f64>,
    /// Our 99th percentile of latency ÷ the peer's, if both were measured.
    pub p99: Option<f64>,
    /// Our CPU time per request ÷ the peer's, if both count requests.
    pub cpu_per_request: Option<f64>,
    /// Our CPU time per megabyte ÷ the peer's.
    pub cpu_per_mb: Option<f64>,
    /// Differences between the two workloads, in words.
    pub note: Option<String>,
}

impl PeerRatio {
    /// Formats the ratios: `rate 1.02 (1.01 to 1.03), p50 0.98, p99 1.01, CPU time 0.93`.
    pub fn text(&self) -> String {
        let Estimate { value, low, high } = self.rate.ratio;
        let mut described = format!("rate {value:.2} ({low:.2} to {high:.2})");
        for (name, ratio) in [("p50", self.p50), ("p99", self.p99)] {
            described += &ratio.map_or_else(String::new, |ratio| format!(", {name} {ratio:.2}"));
        }
        // With equal requests, both ratios are the same.
        let processor = self.cpu_per_request.or(self.cpu_per_mb);
        described + &processor.map_or_else(String::new, |ratio| format!(", CPU time {ratio:.2}"))
    }
}

/// The storage pipeline, from the application's memory to the device: advertised and measured throughput of each stage (figure
/// 1 of Riedel, van Ingen and Gray, 1997).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Pipeline {
    /// The stages, nearest to the application first.
    pub stages: Vec<Stage>,
}

/// A stage of the pipeline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// `memory`, `page cache`, `file system`, `link`, `device`.
    pub name: String,
    /// The hardware or software of the stage, such as `PCIe 4.0 x4`.
    pub what: String,
    /// Peak advertised performance in bytes per second, if known.
    pub advertised: Option<f64>,
    /// Source of the advertised figure.
    pub advertised_by: String,
    /// Real application performance through the stage, in bytes per second.
    pub real: Option<Estimate>,
    /// Id of the cell that measured it.
    pub cell: Option<String>,
}

/// The narrowest stage of a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// CPU time of requests: fewer and larger ones help.
    Processor,
    /// CPU time of bytes: copies from and to memory.
    Memory,
    /// The time of a request on its path, at the device: more in flight help.
    Latency,
    /// The transfer of a request's own bytes: more in flight help.
    Transfer,
    /// The device's requests per second.
    DeviceRequests,
    /// The device's bytes per second.
    DeviceBandwidth,
    /// The bytes per second that all disks share.
    Bus,
}

impl Limit {
    /// Returns the stage in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Processor => "CPU time of requests",
            Self::Memory => "memory copy",
            Self::Latency => "time of a request (more requests in flight help)",
            Self::Transfer => "transfer of one request (more requests in flight help)",
            Self::DeviceRequests => "requests per second of the device",
            Self::DeviceBandwidth => "bandwidth of the device",
            Self::Bus => "bus shared by the disks",
        }
    }
}

/// The throughput of a cell that the model of the other cells predicts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellPrediction {
    /// Id of the cell.
    pub cell: String,
    /// The path: work that the cells behind the prediction share.
    pub path: String,
    /// Predicted throughput in bytes per second, with an interval that a measurement falls into with 95% probability.
    pub rate: Estimate,
    /// The narrowest stage.
    pub limit: Limit,
    /// True if the other cells do not surround this one.
    pub extrapolated: bool,
    /// Measured throughput ÷ predicted throughput.
    pub ratio: f64,
    /// True if the intervals of measurement and prediction do not overlap and they differ by more than 15%.
    pub wrong: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_above_the_roof_whose_interval_reaches_it_is_all_of_it() {
        let estimate = |value, low, high| Estimate { value, low, high };
        let roof = Roof { rate: estimate(20.0, 18.0, 22.0), cell: "copy".into() };
        assert_eq!(roof.share(&estimate(10.0, 9.0, 11.0)), Some(0.5));
        assert_eq!(roof.share(&estimate(25.0, 21.0, 29.0)), Some(1.0));
        assert_eq!(roof.share(&estimate(30.0, 23.0, 33.0)), Some(1.5));
        let none = Roof { rate: estimate(0.0, 0.0, 0.0), cell: "copy".into() };
        assert_eq!(none.share(&estimate(1.0, 1.0, 1.0)), None);
    }

    #[test]
    fn a_regret_is_described_by_its_interval() {
        let text = |value, low, high| {
            let regret = Estimate { value, low, high };
            let text = |text: &str| text.to_owned();
            let (job, cell, best, strategy) = (text("scan, warm"), text("a"), text("b"), text("method=mmap"));
            Regret { job, cell, best, strategy, strategies: 4, regret }.text()
        };
        for (found, expected) in [
            (text(0.005, -0.01, 0.02), "auto: within 2% of the best of 4 strategies for scan, warm"),
            (text(0.02, 0.01, 0.03), "auto: within 3% of the best"),
            (text(0.02, -0.01, 0.08), "auto: within 8% of the best"),
            (text(0.1, -0.3, 0.5), "no significant difference from the best of 4 strategies"),
            (
                text(0.1, 0.05, 0.2),
                "auto: 10% more time than the best of 4 strategies for scan, warm (95% interval 5% to 20%), `method=mmap`",
            ),
            (text(-0.1, -0.2, -0.05), "auto: 10% less time than the best of 4 strategies"),
        ] {
            assert!(found.contains(expected), "{found}");
        }
    }
}
