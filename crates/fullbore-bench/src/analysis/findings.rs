//! All findings of a run, computed from its cells.

use super::choices::choices;
use super::devices::{credits, saturation};
use super::rounds::{peers, regrets};
use crate::advice::{advice, recommendations, rules};
use crate::document::{
    Axis, Cell, Experiment, Findings, Peak, Roof, Series, SeriesCost, SeriesHalfPower, SeriesRef,
    SeriesRequestTime, experiments, series,
};
use crate::stats::{Bootstrap, CostLine, fit_cost, fit_cost_samples, fit_request_time, half_power};

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
    findings.credit = credits(cells, bootstrap);
    findings.choices = choices(cells, bootstrap);
    findings.regrets = regrets(cells, bootstrap);
    findings.peers = peers(cells, bootstrap);
    findings.use_this = recommendations(cells, bootstrap);
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
