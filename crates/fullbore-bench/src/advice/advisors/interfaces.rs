//! Interfaces: which of those that programs use otherwise is dear, and at which size of call.

use fullbore::engine::method;

use super::super::contrast::{Contrast, cost, speed};
use super::super::tip::Tip;
use super::super::witness::{Ground, Witness, by_task, fastest, grouped};
use super::super::words::{against, and_cost, subject, task, times};
use crate::units;

pub(super) fn advise(ground: &Ground<'_>) -> Vec<Tip> {
    // Engines are chosen by strategy; an interface is what a program is written against.
    let one_call = |w: &Witness<'_>| {
        let l = w.labels;
        method(&l.method).is_none()
            && !l.method.contains('+')
            && !matches!(l.method.as_str(), "" | "command")
            && l.request_bytes.is_some()
            && l.depth.is_none_or(|d| d == 1)
            && l.workers.is_none_or(|n| n == 1)
    };
    let all: Vec<Witness<'_>> = ground.plain().into_iter().filter(one_call).collect();
    by_task(&all).iter().filter_map(|group| of_task(group, ground)).collect()
}

/// The interface that loses most to the best at the same size of call.
fn of_task(group: &[Witness<'_>], ground: &Ground<'_>) -> Option<Tip> {
    let mut worst: Option<(Witness<'_>, Witness<'_>, Contrast)> = None;
    for same_size in grouped(group, |w| w.labels.request_bytes) {
        let best = fastest(&same_size)?;
        for other in same_size.into_iter().filter(|w| w.labels.method != best.labels.method) {
            let Some(found) = speed(best, other, ground.bootstrap).filter(|found| found.more()) else {
                continue;
            };
            if worst.is_none_or(|(_, _, known)| known.ratio.value < found.ratio.value) {
                worst = Some((best, other, found));
            }
        }
    }
    let (best, other, found) = worst?;
    let worth = found.ratio.value;
    let (good, bad) = (best.labels.method.as_str(), other.labels.method.as_str());
    let text = format!(
        "In {}, {} a call, use {good} and not {bad}, which takes {} the time{}.",
        task(best.labels),
        units::size(best.labels.request_bytes?),
        times(worth),
        and_cost(cost(other, best, ground.bootstrap).as_ref())
    );
    let evidence = against((good, &best), (bad, &other), &found);
    Some(Tip::new(
        format!("interface|{}", subject(best.labels)),
        &found,
        &[best, other],
        worth,
        text,
        evidence,
    ))
}
