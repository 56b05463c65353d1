//! Methods: the fastest for a task, compared with `buffered`.

use super::super::candidate::Candidate;
use super::super::input::{AdviceInput, EligibleCell, by_task, fastest};
use super::super::ratio::{cost, speed};
use super::super::words::{against, at_cost, method, subject, task, times, way};
use super::random::is_small;
use crate::units;

pub(super) fn advise(input: &AdviceInput<'_>) -> Vec<Candidate> {
    // The advisors `profile` and `random` handle jobs and small random requests.
    let free: Vec<EligibleCell<'_>> = input.plain().into_iter().filter(|w| suits(w)).collect();
    by_task(&free).iter().filter_map(|group| of_task(group, input)).collect()
}

fn suits(eligible: &EligibleCell<'_>) -> bool {
    let labels = eligible.labels;
    labels.job.is_empty() && labels.method != "command" && !is_small(eligible)
}

fn of_task(group: &[EligibleCell<'_>], input: &AdviceInput<'_>) -> Option<Candidate> {
    let best = fastest(group)?;
    let of = |wanted: bool| -> Vec<EligibleCell<'_>> {
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
    let found = speed(best, other, input.bootstrap).filter(|found| found.is_greater())?;
    let worth = found.estimate.value;
    let cheaper = at_cost(cost(best, other, input.bootstrap).as_ref());
    let text = format!(
        "Use {} for {}: {}, {} as fast as {}{cheaper}.",
        way(best.labels),
        task(best.labels),
        units::rate(best.rate()),
        times(worth),
        way(other.labels)
    );
    let mut evidence = against((&way(best.labels), &best), (&way(other.labels), &other), &found);
    if best.labels.is_mapped() && best.labels.operation == "read" {
        evidence.push_str(" A mapped read touches every cache line and copies nothing.");
    }
    Some(Candidate::new(
        format!("method|{}", subject(best.labels)),
        &found,
        &[best, other],
        worth,
        text,
        evidence,
    ))
}
