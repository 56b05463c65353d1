//! Methods: the fastest for a task, compared with `buffered`.

use super::super::candidate::{Candidate, NamedRatio};
use super::super::input::{AdviceInput, EligibleCell, by_task, fastest};
use super::super::words::{method, subject, task, way};
use super::random::is_small;

pub(super) fn advise(input: &AdviceInput<'_>) -> Vec<Candidate> {
    // The advisors `profile` and `random` handle jobs and small random requests.
    let free: Vec<EligibleCell<'_>> = input.plain().into_iter().filter(|w| suits(w)).collect();
    by_task(&free).iter().filter_map(|group| of_task(group, input)).collect()
}

fn suits(eligible: &EligibleCell<'_>) -> bool {
    let labels = eligible.labels;
    labels.job.is_empty() && labels.method != "command" && !is_small(eligible)
}

fn of_task<'a>(group: &[EligibleCell<'a>], input: &AdviceInput<'a>) -> Option<Candidate> {
    let best = fastest(group)?;
    let of = |wanted: bool| -> Vec<EligibleCell<'a>> {
        let usual = |w: &EligibleCell<'_>| w.labels.method == "buffered" && method(w.labels) == "buffered";
        group.iter().copied().filter(|w| usual(w) == wanted).collect()
    };
    let named = method(best.labels);
    let other = match named == "buffered" {
        true => fastest(&of(false))?,
        false => fastest(&of(true)).or_else(|| {
            let others: Vec<_> = group.iter().copied().filter(|w| method(w.labels) != named).collect();
            fastest(&others)
        })?,
    };
    let ratio = NamedRatio::faster((way(best.labels), best), (way(other.labels), other), input)?;
    let text = format!(
        "Use {} for {}: {}, {} as fast as {}{}.",
        ratio.first.0,
        task(best.labels),
        ratio.rate(),
        ratio.times(),
        ratio.second.0,
        ratio.at_cost()
    );
    let mut candidate = ratio.candidate([], format!("method|{}", subject(best.labels)), text);
    if best.labels.is_mapped() && best.labels.operation == "read" {
        candidate.advice.evidence += " A mapped read touches every cache line and copies nothing.";
    }
    Some(candidate)
}
