//! Concurrent streams: the number at the peak, and their fairness.

use super::super::candidate::{Candidate, NamedRatio};
use super::super::input::{AdviceInput, EligibleCell};
use super::super::ratio::AT_PEAK;
use super::super::sweep::{STREAMS, Sweep, sweeps};
use super::super::words::{task, way};
use crate::stats::median;
use crate::units;

/// Streams are fair if the slowest gets at least this share of the fastest's rate.
const FAIR: f64 = 0.8;

pub(super) fn advise(input: &AdviceInput<'_>) -> Vec<Candidate> {
    sweeps(&input.ours(), &STREAMS).iter().filter_map(|sweep| of_sweep(sweep, input)).collect()
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

fn of_sweep<'a>(sweep: &Sweep<'a>, input: &AdviceInput<'a>) -> Option<Candidate> {
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
    let falls = NamedRatio::faster((streams(count), best), (streams(most), highest_count), input);
    if let Some(ratio) = falls {
        let text = format!(
            "Run no more than {} of {what} at once: {} in total; {} reach {}, {} less.{fair}",
            ratio.first.0,
            ratio.rate(),
            ratio.second.0,
            units::rate(highest_count.rate()),
            units::percent(1.0 - 1.0 / ratio.found.estimate.value)
        );
        return Some(ratio.candidate([], topic, text));
    }
    let (enough, at) = sweep.reaching(AT_PEAK)?;
    let ratio = NamedRatio::faster((streams(enough), at), (streams(fewest), first), input)?;
    let text = format!(
        "Run {} of {what} at once: {} in total, {} the rate of {}.{fair}",
        ratio.first.0,
        ratio.rate(),
        ratio.times(),
        ratio.second.0
    );
    Some(ratio.candidate([highest_count], topic, text))
}
