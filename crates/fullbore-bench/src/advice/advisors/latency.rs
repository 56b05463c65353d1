//! Latency under load: the highest load at which the slowest requests stay fast.

use super::super::candidate::Candidate;
use super::super::input::{AdviceInput, EligibleCell};
use super::super::sweep::{LOAD, Sweep, sweeps};
use super::super::words::{subject, task, times, way};
use crate::document::{Advice, Confidence, StopReason};
use crate::stats::Estimate;
use crate::units;

/// Limit for the 99th percentile, as a multiple of the idle median.
const PATIENCE: f64 = 10.0;
/// A load is sustained if at least this share of it is served.
const CARRIED: f64 = 0.95;

pub(super) fn advise(input: &AdviceInput<'_>) -> Vec<Candidate> {
    sweeps(&input.ours(), &LOAD).iter().filter_map(|sweep| of_sweep(sweep, input)).collect()
}

/// The median of the samples' 99th percentiles, in seconds.
fn slow(eligible: &EligibleCell<'_>, input: &AdviceInput<'_>) -> Option<Estimate> {
    let usable = eligible.cell.samples.iter().filter(|s| s.usable());
    input.bootstrap.median(&usable.filter_map(|s| s.latency.map(|l| l.p99_s)).collect::<Vec<_>>())
}

fn of_sweep(sweep: &Sweep<'_>, input: &AdviceInput<'_>) -> Option<Candidate> {
    let (_, idle) = sweep.points.first().copied()?;
    let alone = idle.summary.latency?.p50_s;
    if alone.is_nan() || alone <= 0.0 {
        return None;
    }
    let limit = PATIENCE * alone;
    let described: Vec<(u64, EligibleCell<'_>, Estimate)> =
        sweep.points.iter().filter_map(|&(load, w)| Some((load, w, slow(&w, input)?))).collect();
    let bears = |(load, w, p99): &(u64, EligibleCell<'_>, Estimate)| {
        let carried = w.summary.requests_per_s.is_none_or(|n| n >= CARRIED * *load as f64);
        carried && p99.value <= limit
    };
    let beyond = described.iter().position(|point| !bears(point)).unwrap_or(described.len());
    let (load, held, p99) = described.get(..beyond)?.last()?;
    let broken = described.get(beyond);
    let (at, takes) = (units::requests_rate(*load as f64), units::seconds(p99.value));
    let what = format!("{} with {}", task(held.labels), way(&sweep.labels));
    let patience = format!("{} the idle median ({})", times(PATIENCE), units::seconds(alone));
    let text = match broken {
        None => {
            format!("Up to {at}, the highest load measured, the p99 of {what} is {takes}, below {patience}.")
        }
        Some((load, w, p99)) => {
            let next = units::requests_rate(*load as f64);
            let served = w.summary.requests_per_s.unwrap_or(0.0);
            let then = match p99.value > limit {
                true => format!("at {next} it is {}", units::seconds(p99.value)),
                false => format!("of {next} only {} are served", units::requests_rate(served)),
            };
            format!("Limit {what} to {at} for a p99 of up to {patience}: it is {takes}; {then}.")
        }
    };
    let evidence = format!(
        "p99 at {}: {} ({} to {}); median at {}: {}.",
        units::requests_rate(*load as f64),
        units::seconds(p99.value),
        units::seconds(p99.low),
        units::seconds(p99.high),
        units::requests_rate(sweep.points.first()?.0 as f64),
        units::seconds(alone)
    );
    // Certain if the interval at the sustained load is below the limit, and that at the next load above it.
    let apart = p99.high <= limit
        && broken.is_none_or(|(load, w, p)| {
            p.low > limit || w.summary.requests_per_s.is_some_and(|n| n < CARRIED * *load as f64)
        });
    let settled = |w: &EligibleCell<'_>| w.summary.stop == StopReason::Precise && w.summary.unproved == 0;
    let confidence = match () {
        () if !apart => Confidence::Low,
        () if settled(held) && settled(&idle) => Confidence::High,
        () => Confidence::Medium,
    };
    let worth = broken.map_or(1.0, |(_, _, p)| p.value / p99.value).max(1.0);
    let worth = if worth.is_finite() { worth } else { 1.0 };
    let mut cells = vec![held.cell.id.clone(), idle.cell.id.clone()];
    cells.extend(broken.map(|(_, w, _)| w.cell.id.clone()));
    cells.dedup();
    let experiment = held.cell.experiment.clone();
    let (setting, lead) = (None, false);
    let advice = Advice { text, evidence, experiment, cells, confidence, worth, setting, lead };
    Some(Candidate { topic: format!("latency|{}|{}", subject(held.labels), sweep.labels.method), advice })
}
