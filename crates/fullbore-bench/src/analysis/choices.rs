//! The strategy chosen for each kind of job, with the evidence.

use crate::advice::reads_without_trial;
use crate::document::{Cell, Choice, RunnerUp};
use crate::stats::{Bootstrap, Comparison, DEFAULT_MARGIN, Estimate, Verdict, compare_rates};
use crate::units;

/// CPU time decides among strategies of equal throughput if one takes at most this share of the other's.
const CHEAPER: f64 = 0.9;

/// Chooses a strategy for each job (label `job` and cache state) among the measured cells of that job.
///
/// The largest median wins, unless another is within 3 % of it and takes at most nine tenths of its CPU time. Cells
/// without a job do not compete, except reads if no trial names reading as its job.
pub fn choices(cells: &[Cell], bootstrap: &Bootstrap) -> Vec<Choice> {
    fn rated(cell: &Cell) -> Option<(&Cell, Rated)> {
        let summary = cell.summary.as_ref()?;
        Some((cell, Rated { rate: summary.rate, cpu_per_mb: summary.cpu_per_mb.charged.value }))
    }
    let jobs = candidates(cells).into_iter();
    jobs.filter_map(|(job, cells)| choose(job, cells.into_iter().filter_map(rated).collect(), bootstrap))
        .collect()
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

#[derive(Clone, Copy)]
struct Rated {
    rate: Estimate,
    cpu_per_mb: f64,
}

fn choose(job: String, mut candidates: Vec<(&Cell, Rated)>, bootstrap: &Bootstrap) -> Option<Choice> {
    candidates.sort_by(|a, b| b.1.rate.value.total_cmp(&a.1.rate.value));
    let fastest = candidates.first()?.1;
    let equals = candidates.iter().filter(|c| c.1.rate.value * (1.0 + DEFAULT_MARGIN) >= fastest.rate.value);
    let cheapest = equals.min_by(|a, b| a.1.cpu_per_mb.total_cmp(&b.1.cpu_per_mb))?;
    let cheaper = cheapest.1.cpu_per_mb <= CHEAPER * fastest.cpu_per_mb;
    let (cell, rated) = if cheaper { *cheapest } else { candidates[0] };
    // Strategies of the same method differ by one step of request size; the useful alternative is another method.
    let others = || candidates.iter().filter(|c| c.0.labels.strategy_text() != cell.labels.strategy_text());
    let next = others().find(|c| c.0.labels.method != cell.labels.method).or_else(|| others().next());
    let compared = next.and_then(|(other, other_rated)| {
        let comparison = compare_rates(&cell.rates(), &other.rates(), DEFAULT_MARGIN, bootstrap)?;
        let strategy = other.labels.strategy_text();
        Some((RunnerUp { strategy, cell: other.id.clone(), comparison }, other_rated.cpu_per_mb))
    });
    let mut evidence = units::rate(rated.rate.value);
    if let Some((next, next_cpu)) = &compared {
        evidence += &format!(", {}", against(&next.comparison, &next.strategy));
        if rated.cpu_per_mb > 0.0 && rated.cpu_per_mb <= CHEAPER * next_cpu {
            evidence += &format!("; {} of its CPU time", units::percent(rated.cpu_per_mb / next_cpu));
        }
    } else {
        evidence += ", the only one measured";
    }
    Some(Choice {
        job,
        strategy: cell.labels.strategy_text(),
        cell: cell.id.clone(),
        rate: rated.rate,
        evidence,
        runner_up: compared.map(|c| c.0),
    })
}

fn against(comparison: &Comparison, other: &str) -> String {
    let Estimate { value, low, high } = comparison.ratio;
    match comparison.verdict {
        Verdict::NoDifferenceThatMatters => format!("no difference that matters from {other}"),
        Verdict::Unclear => format!("{value:.2}× {other} (unclear: {low:.2} to {high:.2})"),
        Verdict::Faster | Verdict::Slower => format!("{value:.2}× {other} ({low:.2} to {high:.2})"),
    }
}
