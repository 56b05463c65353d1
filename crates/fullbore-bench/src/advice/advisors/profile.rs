//! The profile's entries: the strategy chosen for each job, compared with the simplest one.

use fullbore::strategy::Job;

use super::super::candidate::{Candidate, NamedRatio};
use super::super::input::{AdviceInput, EligibleCell, end, fastest, is_random};
use super::super::words::way;
use crate::document::{Choice, Labels};

pub(super) fn advise(input: &AdviceInput<'_>) -> Vec<Candidate> {
    input.findings.choices.iter().filter_map(|choice| of_choice(choice, input)).collect()
}

/// The simplest method measured for the same job: one worker that reads and writes, `cci` if measured.
fn plain<'a>(chosen: &EligibleCell<'a>, input: &AdviceInput<'a>) -> Option<EligibleCell<'a>> {
    let simple = |w: &EligibleCell<'_>| {
        let task = |l: &Labels| (l.job.clone(), l.operation.clone(), end(l), is_random(l));
        task(w.labels) == task(chosen.labels)
            && w.labels.method == "buffered"
            && w.labels.workers.is_none_or(|n| n == 1)
            && w.labels.depth.is_none_or(|d| d == 1)
    };
    let all: Vec<EligibleCell<'a>> = input.own().into_iter().filter(simple).collect();
    all.iter().copied().find(|w| w.labels.strategy.as_deref() == Some("cci")).or_else(|| fastest(&all))
}

fn of_choice<'a>(choice: &Choice, input: &AdviceInput<'a>) -> Option<Candidate> {
    let chosen = input.find(&choice.cell)?;
    let runner_up = || input.find(&choice.runner_up.as_ref()?.cell);
    let other = plain(&chosen, input).filter(|w| !w.is_same_cell(&chosen)).or_else(runner_up)?;
    let (how, rival) = (way(chosen.labels), way(other.labels));
    let ratio = NamedRatio::of((how.as_str(), chosen), (rival.as_str(), other), input)?;
    let kept = if choice.job.parse::<Job>().is_ok() { ", saved in the profile" } else { "" };
    // The short form omits some settings (stripe, window): the full text is added if it differs.
    let text = if choice.strategy == how { String::new() } else { format!(" (`{}`)", choice.strategy) };
    let stands = if ratio.found.is_greater() {
        format!("{} as fast as {rival}{}", ratio.times(), ratio.at_cost())
    } else if ratio.found.is_undecided() {
        format!("no significant difference from {rival}")
    } else {
        format!("no slower than {rival}{}", ratio.at_cost())
    };
    let text = format!("For “{}” use {how}{text}{kept}: {}, {stands}.", choice.job, ratio.rate());
    let mut candidate = ratio.candidate([], format!("job|{}", choice.job), text);
    if !ratio.found.is_greater() {
        candidate.advice.worth = 1.0;
    }
    Some(candidate)
}
