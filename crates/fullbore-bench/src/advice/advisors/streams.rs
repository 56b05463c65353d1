//! Several streams at once: how many the storage carries, and whether they get the same.

use super::super::contrast::speed;
use super::super::line::{Line, STREAMS, lines};
use super::super::tip::Tip;
use super::super::witness::{Ground, Witness};
use super::super::words::{against, task, times, way};
use crate::stats::median;
use crate::units;

/// Streams are fair when the slowest gets this share of what the fastest gets.
const FAIR: f64 = 0.8;

pub(super) fn advise(ground: &Ground<'_>) -> Vec<Tip> {
    let ours: Vec<Witness<'_>> = ground.all().iter().copied().filter(|w| w.labels.peer.is_none()).collect();
    lines(&ours, &STREAMS).iter().filter_map(|line| of_line(line, ground)).collect()
}

/// What the slowest stream gets of what the fastest gets: the median over the samples.
fn fairness(witness: &Witness<'_>) -> Option<f64> {
    let shares = witness.cell.samples.iter().filter(|s| s.usable() && s.streams.len() > 1).filter_map(|s| {
        let top = s.streams.iter().copied().fold(0.0, f64::max);
        let least = s.streams.iter().copied().fold(f64::INFINITY, f64::min);
        (top > 0.0 && least.is_finite()).then_some(least / top)
    });
    median(&shares.collect::<Vec<_>>())
}

fn of_line(line: &Line<'_>, ground: &Ground<'_>) -> Option<Tip> {
    let (count, best) = line.peak()?;
    let (fewest, first) = line.points.first().copied()?;
    let (most, crowd) = line.last()?;
    let streams = |n: u64| units::count(n as usize, "stream");
    let what = format!("{} with {}", task(best.labels), way(&line.labels));
    let topic = format!("streams|{what}");
    let fair = match fairness(&crowd) {
        Some(share) if share < FAIR => {
            format!(" Of {} the slowest gets {} of the fastest.", most, units::percent(share))
        }
        Some(_) => format!(" All {most} get about the same."),
        None => String::new(),
    };
    let falls = speed(best, crowd, ground.bootstrap).filter(|found| found.more());
    if let Some(found) = falls {
        let worth = found.ratio.value;
        let text = format!(
            "Run no more than {} at once of {what}: together {}; {} get {} in all, {} less.{fair}",
            streams(count),
            units::rate(best.rate()),
            streams(most),
            units::rate(crowd.rate()),
            units::percent(1.0 - 1.0 / worth)
        );
        let evidence = against((&streams(count), &best), (&streams(most), &crowd), &found);
        return Some(Tip::new(topic, &found, &[best, crowd], worth, text, evidence));
    }
    let (enough, at) = line.reaching(super::AT_PEAK)?;
    let found = speed(at, first, ground.bootstrap).filter(|found| found.more())?;
    let worth = found.ratio.value;
    let text = format!(
        "Run {} at once of {what}: together {}, {} of {}.{fair}",
        streams(enough),
        units::rate(at.rate()),
        times(worth),
        streams(fewest)
    );
    let evidence = against((&streams(enough), &at), (&streams(fewest), &first), &found);
    Some(Tip::new(topic, &found, &[at, first, crowd], worth, text, evidence))
}
