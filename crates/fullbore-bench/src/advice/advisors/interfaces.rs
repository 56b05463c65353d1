//! Interfaces of other libraries: the slowest ones, by size of call.

use fullbore::engine::method;

use super::super::candidate::Candidate;
use super::super::input::{AdviceInput, EligibleCell, by_task, fastest, grouped};
use super::super::ratio::{Ratio, cost, speed};
use super::super::words::{against, and_cost, subject, task, times};
use crate::units;

pub(super) fn advise(input: &AdviceInput<'_>) -> Vec<Candidate> {
    // Engines are chosen by strategy; an interface is chosen when a program is written.
    let one_call = |w: &EligibleCell<'_>| {
        let l = w.labels;
        method(&l.method).is_none()
            && !l.method.contains('+')
            && !matches!(l.method.as_str(), "" | "command")
            && l.request_bytes.is_some()
            && l.depth.is_none_or(|d| d == 1)
            && l.workers.is_none_or(|n| n == 1)
    };
    let all: Vec<EligibleCell<'_>> = input.plain().into_iter().filter(one_call).collect();
    by_task(&all).iter().filter_map(|group| of_task(group, input)).collect()
}

/// The interface with the largest loss to the best at the same size of call.
fn of_task(group: &[EligibleCell<'_>], input: &AdviceInput<'_>) -> Option<Candidate> {
    let mut worst: Option<(EligibleCell<'_>, EligibleCell<'_>, Ratio)> = None;
    for same_size in grouped(group, |w| w.labels.request_bytes) {
        let best = fastest(&same_size)?;
        for other in same_size.into_iter().filter(|w| w.labels.method != best.labels.method) {
            let Some(found) = speed(best, other, input.bootstrap).filter(|found| found.is_greater()) else {
                continue;
            };
            if worst.is_none_or(|(_, _, known)| known.estimate.value < found.estimate.value) {
                worst = Some((best, other, found));
            }
        }
    }
    let (best, other, found) = worst?;
    let worth = found.estimate.value;
    let (good, bad) = (best.labels.method.as_str(), other.labels.method.as_str());
    let text = format!(
        "Use {good} instead of {bad} for {}, {} per call: {bad} takes {} the time{}.",
        task(best.labels),
        units::size(best.labels.request_bytes?),
        times(worth),
        and_cost(cost(other, best, input.bootstrap).as_ref())
    );
    let evidence = against((good, &best), (bad, &other), &found);
    Some(Candidate::new(
        format!("interface|{}", subject(best.labels)),
        &found,
        &[best, other],
        worth,
        text,
        evidence,
    ))
}
