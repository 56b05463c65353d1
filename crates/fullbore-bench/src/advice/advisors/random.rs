//! Small random requests: how many at once, by depth or by threads.

use super::super::contrast::speed;
use super::super::tip::Tip;
use super::super::witness::{End, Ground, Witness, by_task, end, fastest, is_random};
use super::super::words::{against, subject, task, times, way};
use super::AT_PEAK;
use crate::units;

/// Up to this size a random request is small: its own cost is all there is, in bytes.
const SMALL: u64 = 16 << 10;

/// Whether a cell's requests are small, at random places, and for the device.
pub(super) fn is_small(witness: &Witness<'_>) -> bool {
    let labels = witness.labels;
    is_random(labels) && labels.request_bytes.is_some_and(|size| size <= SMALL) && end(labels) == End::Device
}

pub(super) fn advise(ground: &Ground<'_>) -> Vec<Tip> {
    let all: Vec<Witness<'_>> = ground.plain().into_iter().filter(is_small).collect();
    by_task(&all).iter().filter_map(|group| of_task(group, ground)).collect()
}

/// Requests in flight over all workers.
fn in_flight(witness: &Witness<'_>) -> u32 {
    witness.labels.depth.unwrap_or(1).max(1).saturating_mul(witness.labels.workers.unwrap_or(1).max(1))
}

fn of_task(group: &[Witness<'_>], ground: &Ground<'_>) -> Option<Tip> {
    let peak = fastest(group)?;
    let near = group.iter().copied().filter(|w| w.rate() >= AT_PEAK * peak.rate());
    let best = near.min_by_key(in_flight)?;
    let alone: Vec<Witness<'_>> = group.iter().copied().filter(|w| in_flight(w) == 1).collect();
    let one = fastest(&alone)?;
    let found = speed(best, one, ground.bootstrap).filter(|found| found.more())?;
    let worth = found.ratio.value;
    let requests = |w: &Witness<'_>| {
        w.summary.requests_per_s.map_or_else(|| units::rate(w.rate()), units::requests_rate)
    };
    // Depth and threads do the same for the device; which is the better is worth a word.
    let threaded = |w: &Witness<'_>| w.labels.workers.is_some_and(|n| n > 1);
    let others: Vec<Witness<'_>> =
        group.iter().copied().filter(|w| in_flight(w) > 1 && threaded(w) != threaded(&best)).collect();
    let rival = fastest(&others).and_then(|other| Some((other, speed(best, other, ground.bootstrap)?)));
    let rival_text = match &rival {
        Some((other, found)) if found.more() => {
            format!("; {} reaches {} of that", way(other.labels), units::percent(1.0 / found.ratio.value))
        }
        Some((other, _)) => format!("; {} is not clearly slower", way(other.labels)),
        None => String::new(),
    };
    let deepest = group.iter().map(in_flight).max().unwrap_or(0);
    let more = if in_flight(&best) == deepest { "; more was not measured" } else { "; more bring nothing" };
    let text = format!(
        "Keep {} in flight in {}, {} a request ({}): {}, {} what comes one at a time ({}, {}){rival_text}{more}.",
        units::count(in_flight(&best) as usize, "request"),
        task(best.labels),
        units::size(best.labels.request_bytes.unwrap_or(0)),
        way(best.labels),
        requests(&best),
        times(worth),
        way(one.labels),
        requests(&one)
    );
    let evidence = against((&way(best.labels), &best), (&way(one.labels), &one), &found);
    let mut witnesses = vec![best, one];
    witnesses.extend(rival.map(|(other, _)| other));
    let topic = format!("random|{}|{:?}", subject(best.labels), best.labels.request_bytes);
    Some(Tip::new(topic, &found, &witnesses, worth, text, evidence))
}
