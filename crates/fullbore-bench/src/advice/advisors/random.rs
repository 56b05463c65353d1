//! Small random requests: the number in flight, by depth or by workers.

use super::super::candidate::{Candidate, NamedRatio};
use super::super::input::{AdviceInput, EligibleCell, End, by_task, end, fastest, is_random};
use super::super::ratio::{AT_PEAK, speed};
use super::super::words::{subject, task, way};
use crate::units;

/// Largest size of a small random request in bytes; its time hardly depends on its size.
const SMALL: u64 = 16 << 10;

/// True for small random requests at the device.
pub(super) fn is_small(eligible: &EligibleCell<'_>) -> bool {
    let labels = eligible.labels;
    is_random(labels) && labels.request_bytes.is_some_and(|size| size <= SMALL) && end(labels) == End::Device
}

pub(super) fn advise(input: &AdviceInput<'_>) -> Vec<Candidate> {
    let all: Vec<EligibleCell<'_>> = input.plain().into_iter().filter(is_small).collect();
    by_task(&all).iter().filter_map(|group| of_task(group, input)).collect()
}

/// Requests in flight over all workers.
fn in_flight(eligible: &EligibleCell<'_>) -> u32 {
    eligible.labels.depth.unwrap_or(1).max(1).saturating_mul(eligible.labels.workers.unwrap_or(1).max(1))
}

fn of_task<'a>(group: &[EligibleCell<'a>], input: &AdviceInput<'a>) -> Option<Candidate> {
    let peak = fastest(group)?;
    let near = group.iter().copied().filter(|w| w.rate() >= AT_PEAK * peak.rate());
    let best = near.min_by_key(in_flight)?;
    let alone: Vec<EligibleCell<'_>> = group.iter().copied().filter(|w| in_flight(w) == 1).collect();
    let one = fastest(&alone)?;
    let ratio = NamedRatio::faster((way(best.labels), best), (way(one.labels), one), input)?;
    let requests = |w: &EligibleCell<'_>| {
        w.summary.requests_per_s.map_or_else(|| units::rate(w.rate()), units::requests_rate)
    };
    // Depth and workers have the same effect on the device; the better one is named.
    let threaded = |w: &EligibleCell<'_>| w.labels.workers.is_some_and(|n| n > 1);
    let others: Vec<EligibleCell<'_>> =
        group.iter().copied().filter(|w| in_flight(w) > 1 && threaded(w) != threaded(&best)).collect();
    let rival = fastest(&others).and_then(|other| Some((other, speed(best, other, input.bootstrap)?)));
    let rival_text = match &rival {
        Some((other, found)) if found.is_greater() => {
            format!("; {} reaches {} of that", way(other.labels), units::percent(1.0 / found.estimate.value))
        }
        Some((other, _)) => format!("; {} is not significantly slower", way(other.labels)),
        None => String::new(),
    };
    let deepest = group.iter().map(in_flight).max().unwrap_or(0);
    let more = if in_flight(&best) == deepest { "; more were not measured" } else { "; more are no faster" };
    let text = format!(
        "Keep {} in flight in {}, {} per request ({}): {}, {} the rate of one at a time ({}, {}){rival_text}{more}.",
        units::count(in_flight(&best) as usize, "request"),
        task(best.labels),
        units::size(best.labels.request_bytes.unwrap_or(0)),
        ratio.first.0,
        requests(&best),
        ratio.times(),
        ratio.second.0,
        requests(&one)
    );
    let topic = format!("random|{}|{:?}", subject(best.labels), best.labels.request_bytes);
    Some(ratio.candidate(rival.map(|(other, _)| other), topic, text))
}
