//! Findings from the cells of a run: roof, peaks, half-power points, cost lines, choices.

use serde::{Deserialize, Serialize};

use super::advice::{Advice, Rule};
use super::cell::{Cell, Labels};
use super::choices::{Choice, choices};
use super::peers::{PeerRatio, peers};
use super::pipeline::Pipeline;
use super::saturation::{Saturation, saturation};
use super::series::{Axis, Experiment, Series, experiments, series};
use crate::advice::{advice, rules};
use crate::stats::{
    Bootstrap, CostLine, Estimate, HalfPower, RequestTime, fit_cost, fit_cost_samples, fit_request_time,
    half_power,
};

/// The findings of a run, with the ids of the cells that support them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Findings {
    /// The roof.
    pub roof: Option<Roof>,
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
    /// Number of disks at which throughput saturates, of each path measured over several numbers of disks.
    pub saturation: Vec<Saturation>,
    /// The strategy chosen for each kind of job.
    pub choices: Vec<Choice>,
    /// Recommendations for this machine, by descending worth.
    pub advice: Vec<Advice>,
    /// Verdicts on the rules of the paper of 1997.
    pub rules: Vec<Rule>,
    /// The storage pipeline, if measured.
    pub pipeline: Option<Pipeline>,
    /// Ratios of our cells to those of other programs.
    pub peers: Vec<PeerRatio>,
}

/// Memory-copy throughput: the upper limit of every path that copies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Roof {
    /// Throughput of the copy in bytes per second.
    pub rate: Estimate,
    /// Id of the cell that measured it.
    pub cell: String,
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

/// The fastest cell of a path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Peak {
    /// The path.
    pub series: SeriesRef,
    /// Id of the fastest cell.
    pub cell: String,
    /// Its throughput in bytes per second.
    pub rate: Estimate,
    /// Its throughput as a share of the roof.
    #[serde(default)]
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

/// Computes all findings from summarised cells.
///
/// `described` are the document's experiments (may be empty). The roof is the fastest cell of the experiment `memory`.
/// Cells without a summary are skipped.
pub fn findings(cells: &[Cell], described: &[Experiment], bootstrap: &Bootstrap) -> Findings {
    let mut findings = Findings { roof: roof(cells), ..Findings::default() };
    let top = findings.roof.as_ref().map(|r| r.rate.value);
    for experiment in experiments(described, cells).iter().filter(|e| e.name != MEMORY) {
        for line in series(cells, experiment) {
            let path = SeriesRef::new(experiment, &line, cells);
            findings.peaks.extend(peak(cells, &line, &path, top));
            if experiment.axis == Axis::Targets {
                findings.saturation.extend(saturation(cells, &line, &path, bootstrap));
            }
            if !matches!(experiment.axis, Axis::Request | Axis::Depth) {
                continue;
            }
            let curve: Vec<(u64, Vec<f64>)> = line
                .cells
                .iter()
                .filter_map(|&i| Some((experiment.axis.of(&cells[i].labels)?, cells[i].rates())))
                .collect();
            let found = half_power(&curve, bootstrap)
                .map(|half_power| SeriesHalfPower { series: path.clone(), half_power });
            if experiment.axis == Axis::Depth {
                findings.half_power_depth.extend(found);
                continue;
            }
            findings.half_power_request.extend(found);
            findings.request_times.extend(
                fit_request_time(&curve, bootstrap)
                    .map(|time| SeriesRequestTime { series: path.clone(), time }),
            );
            let costs: Vec<(f64, f64)> = line.cells.iter().filter_map(|&i| cost_point(&cells[i])).collect();
            let fitted = fit_cost(&costs, bootstrap.confidence);
            // The residuals measure the error of the line, the samples measure the noise: an interval covers both.
            let drawn: Vec<(f64, Vec<f64>)> =
                line.cells.iter().filter_map(|&i| cost_samples(&cells[i])).collect();
            let fitted = fitted.map(|fit| match fit_cost_samples(&drawn, bootstrap) {
                Some(noise) => CostLine {
                    per_request: fit.per_request.holding(&noise.per_request),
                    per_byte: fit.per_byte.holding(&noise.per_byte),
                    ..fit
                },
                None => fit,
            });
            findings.costs.extend(fitted.map(|line| SeriesCost { series: path, line }));
        }
    }
    findings.choices = choices(cells, bootstrap);
    findings.peers = peers(cells, bootstrap);
    findings.advice = advice(cells, &findings, bootstrap);
    findings.rules = rules(cells, &findings, bootstrap);
    findings
}

/// Name of the experiment whose fastest cell is the roof.
const MEMORY: &str = "memory";

fn roof(cells: &[Cell]) -> Option<Roof> {
    let memory = cells.iter().filter(|c| c.experiment == MEMORY);
    let rated = memory.filter_map(|c| Some(Roof { rate: c.summary.as_ref()?.rate, cell: c.id.clone() }));
    rated.max_by(|a, b| a.rate.value.total_cmp(&b.rate.value))
}

impl SeriesRef {
    fn new(experiment: &Experiment, line: &Series, cells: &[Cell]) -> Self {
        Self {
            experiment: experiment.name.clone(),
            name: line.name.clone(),
            labels: line.labels.clone(),
            cells: line.cells.iter().map(|&i| cells[i].id.clone()).collect(),
        }
    }
}

fn peak(cells: &[Cell], line: &Series, path: &SeriesRef, roof: Option<f64>) -> Option<Peak> {
    let rated = line.cells.iter().filter_map(|&i| Some((i, cells[i].summary.as_ref()?.rate)));
    let (fastest, rate) = rated.max_by(|a, b| a.1.value.total_cmp(&b.1.value))?;
    Some(Peak {
        series: path.clone(),
        cell: cells[fastest].id.clone(),
        rate,
        share_of_roof: roof.filter(|r| *r > 0.0).map(|r| rate.value / r),
    })
}

/// Returns (bytes per request, charged seconds per request of each sample); `None` if requests were not counted.
fn cost_samples(cell: &Cell) -> Option<(f64, Vec<f64>)> {
    let (bytes, _) = cost_point(cell)?;
    let counted = cell.samples.iter().filter(|s| s.usable() && s.requests > 0);
    Some((bytes, counted.map(|s| s.charged_s() / s.requests as f64).collect()))
}

/// Returns (bytes per request, charged seconds per request) as measured: the mean request size, not the nominal one.
fn cost_point(cell: &Cell) -> Option<(f64, f64)> {
    let cost = cell.summary.as_ref()?.cpu_per_request?;
    let (bytes, requests) = cell
        .samples
        .iter()
        .filter(|s| s.usable())
        .fold((0u64, 0u64), |(b, r), s| (b.saturating_add(s.bytes), r.saturating_add(s.requests)));
    (requests > 0).then(|| (bytes as f64 / requests as f64, cost.charged.value))
}
