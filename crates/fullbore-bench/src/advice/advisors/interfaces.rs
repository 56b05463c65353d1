//! Interfaces of other libraries: the slowest ones, by size of call.

use fullbore::engine::method;

use super::super::candidate::{Candidate, NamedRatio};
use super::super::input::{AdviceInput, EligibleCell, by_task, fastest, grouped};
use super::super::words::{subject, task};
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
fn of_task<'a>(group: &[EligibleCell<'a>], input: &AdviceInput<'a>) -> Option<Candidate> {
    let mut worst: Option<NamedRatio<'a>> = None;
    for same_size in grouped(group, |w| w.labels.request_bytes) {
        let best = fastest(&same_size)?;
        for other in same_size.into_iter().filter(|w| w.labels.method != best.labels.method) {
            let [first, second] = [best, other].map(|w| (w.labels.method.as_str(), w));
            let ratio = NamedRatio::faster(first, second, input);
            let larger = |ratio: &NamedRatio<'_>| {
                worst.as_ref().is_none_or(|known| known.found.estimate.value < ratio.found.estimate.value)
            };
            worst = ratio.filter(larger).or(worst);
        }
    }
    let ratio = worst?;
    let ((good, best), (bad, _)) = (&ratio.first, &ratio.second);
    let text = format!(
        "Use {good} instead of {bad} for {}, {} per call: {bad} takes {} the time{}.",
        task(best.labels),
        units::size(best.labels.request_bytes?),
        ratio.times(),
        ratio.and_cost()
    );
    Some(ratio.candidate([], format!("interface|{}", subject(best.labels)), text))
}
