//! All findings of a run, computed from its cells; the strategy chosen for each kind of job, with the evidence.

use super::devices::{credits, saturation};
use super::rounds::{job_name, peers, regrets};
use crate::advice::{CHEAPER, advice, reads_without_trial, recommendations, rules};
use crate::document::{
    AccessMethod, Axis, Cell, Choice, Experiment, Findings, Peak, Roof, RunnerUp, Series, SeriesCost,
    SeriesHalfPower, SeriesRef, SeriesRequestTime, experiments, series,
};
use crate::grouping::grouped;
use crate::simplicity::{EQUAL, choose, fastest_cell};
use crate::stats::{
    Bootstrap, CostLine, Estimate, RatioComparison, Verdict, fit_cost, fit_cost_samples, fit_request_time,
    half_power,
};
use crate::units;

/// Computes all findings from summarised cells.
///
/// `described` are the document's experiments (may be empty). The roof is the fastest cell of memory alone.
/// Cells without a summary are skipped.
pub fn findings(cells: &[Cell], described: &[Experiment]) -> Findings {
    let bootstrap = &Bootstrap::default();
    let mut findings = Findings { roof: roof(cells), ..Findings::default() };
    let roof = findings.roof.clone();
    for experiment in &experiments(described, cells) {
        let files = |line: &Series| line.labels.method != AccessMethod::Memory;
        for line in series(cells, experiment).into_iter().filter(files) {
            let path = SeriesRef::new(experiment, &line, cells);
            findings.peaks.extend(peak(cells, &line, &path, roof.as_ref()));
            if experiment.axis == Axis::Targets {
                findings.saturation.extend(saturation(cells, &line, &path));
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
    findings.credit = credits(cells);
    findings.choices = choices(cells);
    findings.regrets = regrets(cells);
    findings.peers = peers(cells);
    findings.use_this = recommendations(cells);
    findings.advice = advice(cells, &findings);
    findings.rules = rules(cells, &findings);
    findings
}

fn roof(cells: &[Cell]) -> Option<Roof> {
    let (cell, summary) = fastest_cell(cells.iter().filter(|c| c.labels.method == AccessMethod::Memory))?;
    Some(Roof { rate: summary.rate, cell: cell.id.clone() })
}

fn peak(cells: &[Cell], line: &Series, path: &SeriesRef, roof: Option<&Roof>) -> Option<Peak> {
    let (cell, summary) = fastest_cell(line.cells.iter().map(|&i| &cells[i]))?;
    Some(Peak {
        series: path.clone(),
        cell: cell.id.clone(),
        rate: summary.rate,
        share_of_roof: roof.and_then(|roof| roof.share(&summary.rate)),
    })
}

/// Returns (bytes per request, charged seconds per request of each sample); `None` if requests were not counted.
fn cost_samples(cell: &Cell) -> Option<(f64, Vec<f64>)> {
    let (bytes, _) = cost_point(cell)?;
    let counted = cell.counted().filter(|s| s.requests > 0);
    Some((bytes, counted.map(|s| s.charged_s() / s.requests as f64).collect()))
}

/// Returns (bytes per request, charged seconds per request) as measured: the mean request size, not the nominal one.
fn cost_point(cell: &Cell) -> Option<(f64, f64)> {
    let cost = cell.summary.as_ref()?.cpu_per_request?;
    let (bytes, requests) = cell
        .counted()
        .fold((0u64, 0u64), |(b, r), s| (b.saturating_add(s.bytes), r.saturating_add(s.requests)));
    (requests > 0).then(|| (bytes as f64 / requests as f64, cost.charged.value))
}

/// Chooses a strategy for each job (label `job` and cache state) among the measured cells of that job.
///
/// The largest median wins, unless a simpler strategy is within 5% of it. Cells without a job do not compete, except
/// reads if no trial names reading as its job.
pub fn choices(cells: &[Cell]) -> Vec<Choice> {
    candidates(cells).into_iter().filter_map(|(job, cells)| choice(job, &cells)).collect()
}

/// Returns the measured cells that compete for each job, in the order of their first. Cells of peers do not compete.
pub(crate) fn candidates(cells: &[Cell]) -> Vec<(String, Vec<&Cell>)> {
    let ours = |c: &&Cell| !c.labels.job.is_empty() && c.summary.is_some() && c.labels.peer.is_none();
    let job = |cell: &Cell| job_name(&cell.labels.job, cell.labels.cache);
    let mut jobs = grouped(cells.iter().filter(ours).map(|cell| (job(cell), cell)));
    for (job, candidates) in reads_without_trial(cells) {
        let job = job.to_string();
        if jobs.iter().all(|(name, _)| *name != job) {
            jobs.push((job, candidates));
        }
    }
    jobs
}

fn choice(job: String, cells: &[&Cell]) -> Option<Choice> {
    let (cell, fastest) = choose(cells)?;
    let rate = cell.summary.as_ref()?.rate;
    let runner_up = rival(cell, fastest, cells).and_then(|other| {
        let comparison = cell.compared_with(other)?;
        Some((other, RunnerUp { strategy: other.labels.strategy_text(), cell: other.id.clone(), comparison }))
    });
    let mut evidence = units::rate(rate.value);
    match &runner_up {
        Some((other, found)) => {
            evidence += &format!(", {}", against(&found.comparison, &found.strategy));
            let cpu = |cell: &Cell| cell.summary.as_ref().map_or(0.0, |found| found.cpu_per_mb.charged.value);
            let (ours, others) = (cpu(cell), cpu(other));
            if ours > 0.0 && ours <= CHEAPER * others {
                evidence += &format!("; {} of its CPU time", units::percent(ours / others));
            }
        }
        None => evidence += ", the only one measured",
    }
    Some(Choice {
        job,
        strategy: cell.labels.strategy_text(),
        cell: cell.id.clone(),
        rate,
        evidence,
        runner_up: runner_up.map(|(_, found)| found),
    })
}

/// Returns the fastest; if it is the chosen one, the next of another method: those of one method differ by a step.
fn rival<'a>(cell: &Cell, fastest: &'a Cell, cells: &[&'a Cell]) -> Option<&'a Cell> {
    if fastest.id != cell.id {
        return Some(fastest);
    }
    let rate = |cell: &Cell| cell.summary.as_ref().map_or(0.0, |found| found.rate.value);
    let others = cells.iter().filter(|other| other.labels.strategy_text() != cell.labels.strategy_text());
    others
        .max_by(|a, b| {
            let different = |other: &Cell| other.labels.method != cell.labels.method;
            different(a).cmp(&different(b)).then(rate(a).total_cmp(&rate(b)))
        })
        .copied()
}

fn against(comparison: &RatioComparison, other: &str) -> String {
    let Estimate { value, low, high } = comparison.ratio;
    let interval = match comparison.ratio.has_interval() {
        true => format!("{low:.2} to {high:.2}"),
        false => "no interval".to_owned(),
    };
    match comparison.verdict {
        Verdict::Faster | Verdict::Slower => format!("{value:.2}× {other} ({interval})"),
        Verdict::Unclear if (value - 1.0).abs() > EQUAL => {
            format!("{value:.2}× {other} (unclear: {interval})")
        }
        _ => format!("no significant difference from {other} ({interval})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_with_a_verdict_is_significant_however_small() {
        let text = |value: f64, half: f64, verdict| {
            let ratio = Estimate { value, low: value - half, high: value + half };
            against(&RatioComparison { ratio, verdict }, "uring")
        };
        let same = |interval: &str| format!("no significant difference from uring ({interval})");
        assert_eq!(text(0.96, 0.01, Verdict::Slower), "0.96× uring (0.95 to 0.97)");
        assert_eq!(text(0.96, 0.1, Verdict::Unclear), same("0.86 to 1.06"));
        assert_eq!(text(0.8, 0.3, Verdict::Unclear), "0.80× uring (unclear: 0.50 to 1.10)");
        assert_eq!(text(1.01, 0.01, Verdict::NoDifferenceThatMatters), same("1.00 to 1.02"));
    }
}
