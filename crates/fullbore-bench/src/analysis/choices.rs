//! The strategy chosen for each kind of job, with the evidence.

use crate::advice::reads_without_trial;
use crate::document::{Cell, Choice, RunnerUp};
use crate::simplicity::{EQUAL, choose};
use crate::stats::{Bootstrap, Comparison, DEFAULT_MARGIN, Estimate, Verdict, compare_rates};
use crate::units;

/// CPU time of at most this share of the runner-up's is mentioned.
const CHEAPER: f64 = 0.9;

/// Chooses a strategy for each job (label `job` and cache state) among the measured cells of that job.
///
/// The largest median wins, unless a simpler strategy is within 5% of it. Cells without a job do not compete, except
/// reads if no trial names reading as its job.
pub fn choices(cells: &[Cell], bootstrap: &Bootstrap) -> Vec<Choice> {
    candidates(cells).into_iter().filter_map(|(job, cells)| choice(job, &cells, bootstrap)).collect()
}

/// Returns the measured cells that compete for each job, in the order of their first. Cells of peers do not compete.
pub(crate) fn candidates(cells: &[Cell]) -> Vec<(String, Vec<&Cell>)> {
    let mut jobs: Vec<(String, Vec<&Cell>)> = Vec::new();
    let ours = |c: &&Cell| !c.labels.job.is_empty() && c.summary.is_some() && c.labels.peer.is_none();
    for cell in cells.iter().filter(ours) {
        let job = match cell.labels.cache {
            Some(cache) => format!("{}, {}", cell.labels.job, cache.word()),
            None => cell.labels.job.clone(),
        };
        match jobs.iter_mut().find(|(name, _)| *name == job) {
            Some((_, candidates)) => candidates.push(cell),
            None => jobs.push((job, vec![cell])),
        }
    }
    for (job, candidates) in reads_without_trial(cells) {
        let job = job.to_string();
        if jobs.iter().all(|(name, _)| *name != job) {
            jobs.push((job, candidates));
        }
    }
    jobs
}

fn choice(job: String, cells: &[&Cell], bootstrap: &Bootstrap) -> Option<Choice> {
    let (cell, fastest) = choose(cells)?;
    let rate = cell.summary.as_ref()?.rate;
    let runner_up = rival(cell, fastest, cells).and_then(|other| {
        let comparison = compare_rates(&cell.rates(), &other.rates(), DEFAULT_MARGIN, bootstrap)?;
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

fn against(comparison: &Comparison, other: &str) -> String {
    let Estimate { value, low, high } = comparison.ratio;
    if (value - 1.0).abs() <= EQUAL || comparison.verdict == Verdict::NoDifferenceThatMatters {
        return format!("no significant difference from {other} ({low:.2} to {high:.2})");
    }
    match comparison.verdict {
        Verdict::Unclear => format!("{value:.2}× {other} (unclear: {low:.2} to {high:.2})"),
        _ => format!("{value:.2}× {other} ({low:.2} to {high:.2})"),
    }
}
