//! Concurrent streams: the number at the peak, and their fairness.

use super::super::candidate::Candidate;
use super::super::input::{AdviceInput, EligibleCell};
use super::super::ratio::{AT_PEAK, speed};
use super::super::sweep::{STREAMS, Sweep, sweeps};
use super::super::words::{against, task, times, way};
use crate::stats::median;
use crate::units;

/// Streams are fair if the slowest gets at least this share of the fastest's rate.
const FAIR: f64 = 0.8;

pub(super) fn advise(input: &AdviceInput<'_>) -> Vec<Candidate> {
    let ours: Vec<EligibleCell<'_>> =
        input.all().iter().copied().filter(|w| w.labels.peer.is_none()).collect();
    sweeps(&ours, &STREAMS).iter().filter_map(|sweep| of_sweep(sweep, input)).collect()
}

/// The slowest stream's share of the fastest's rate: the median over the samples.
fn fairness(eligible: &EligibleCell<'_>) -> Option<f64> {
    let shares = eligible.cell.samples.iter().filter(|s| s.usable() && s.streams.len() > 1).filter_map(|s| {
        let top = s.streams.iter().copied().fold(0.0, f64::max);
        let least = s.streams.iter().copied().fold(f64::INFINITY, f64::min);
        (top > 0.0 && least.is_finite()).then_some(least / top)
    });
    median(&shares.collect::<Vec<_>>())
}

fn of_sweep(sweep: &Sweep<'_>, input: &AdviceInput<'_>) -> Option<Candidate> {
    let (count, best) = sweep.peak()?;
    let (fewest, first) = sweep.points.first().copied()?;
    let (most, highest_count) = sweep.last()?;
    let streams = |n: u64| units::count(n as usize, "stream");
    let what = format!("{} with {}", task(best.labels), way(&sweep.labels));
    let topic = format!("streams|{what}");
    let fair = match fairness(&highest_count) {
        Some(share) if share < FAIR => {
            format!(" The slowest of {} gets {} of the fastest.", most, units::percent(share))
        }
        Some(_) => format!(" All {most} get about the same rate."),
        None => String::new(),
    };
    let falls = speed(best, highest_count, input.bootstrap).filter(|found| found.is_greater());
    if let Some(found) = falls {
        let worth = found.estimate.value;
        let text = format!(
            "Run no more than {} of {what} at once: {} in total; {} reach {}, {} less.{fair}",
            streams(count),
            units::rate(best.rate()),
            streams(most),
            units::rate(highest_count.rate()),
            units::percent(1.0 - 1.0 / worth)
        );
        let evidence = against((&streams(count), &best), (&streams(most), &highest_count), &found);
        return Some(Candidate::new(topic, &found, &[best, highest_count], worth, text, evidence));
    }
    let (enough, at) = sweep.reaching(AT_PEAK)?;
    let found = speed(at, first, input.bootstrap).filter(|found| found.is_greater())?;
    let worth = found.estimate.value;
    let text = format!(
        "Run {} of {what} at once: {} in total, {} the rate of {}.{fair}",
        streams(enough),
        units::rate(at.rate()),
        times(worth),
        streams(fewest)
    );
    let evidence = against((&streams(enough), &at), (&streams(fewest), &first), &found);
    Some(Candidate::new(topic, &found, &[at, first, highest_count], worth, text, evidence))
}
