//! The strategy chosen for each kind of job, with the evidence.

use serde::{Deserialize, Serialize};

use super::cell::Cell;
use crate::advice::reads_without_trial;
use crate::stats::{Bootstrap, Comparison, DEFAULT_MARGIN, Estimate, Verdict, compare_rates};
use crate::units;

/// The strategy chosen for a kind of job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// Kind of job with the cache state, such as `sequential read, cold`.
    pub job: String,
    /// The strategy as `--strategy` takes it.
    pub strategy: String,
    /// Id of the cell it was measured in.
    pub cell: String,
    /// Its rate, bytes a second.
    pub rate: Estimate,
    /// Why, in one line.
    pub evidence: String,
    /// The best of another method, or of the same where only one method was measured.
    #[serde(default)]
    pub runner_up: Option<RunnerUp>,
}

/// The strategy that came next for a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunnerUp {
    /// The strategy as `--strategy` takes it.
    pub strategy: String,
    /// Id of its cell.
    pub cell: String,
    /// The chosen one's rate ÷ this one's.
    pub comparison: Comparison,
}

/// Among equals, processor time decides when it differs by at least this factor.
const CHEAPER: f64 = 0.9;

/// Chooses a strategy for each job (label `job` and cache state) among the measured cells with that job.
///
/// The fastest median wins, unless another is within 3 % of it and costs at most nine tenths of its processor
/// time. Cells without a job take no part, but for reads where nothing was tried under the name of reading.
pub fn choices(cells: &[Cell], bootstrap: &Bootstrap) -> Vec<Choice> {
    fn rated(cell: &Cell) -> Option<(&Cell, Rated)> {
        let summary = cell.summary.as_ref()?;
        Some((cell, Rated { rate: summary.rate, cpu_per_mb: summary.cpu_per_mb.charged.value }))
    }
    let jobs = candidates(cells).into_iter();
    jobs.filter_map(|(job, cells)| choose(job, cells.into_iter().filter_map(rated).collect(), bootstrap))
        .collect()
}

/// The measured cells that compete for each job, in the order of their first. What a peer does is no strategy.
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
    // Neighbours of the same method differ by a step of request size; another method is the alternative to know.
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
            evidence += &format!("; {} of its processor time", units::percent(rated.cpu_per_mb / next_cpu));
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
        Verdict::NoDifferenceThatMatters => format!("no difference that matters to {other}"),
        Verdict::Unclear => format!("{value:.2}× {other} (unclear: {low:.2} to {high:.2})"),
        Verdict::Faster | Verdict::Slower => format!("{value:.2}× {other} ({low:.2} to {high:.2})"),
    }
}
