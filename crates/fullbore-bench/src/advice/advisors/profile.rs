//! The profile's entries: the strategy chosen for each job, beside the plain way.

use fullbore::strategy::Job;

use super::super::contrast::{cost, speed};
use super::super::tip::Tip;
use super::super::witness::{Ground, Witness, end, fastest, is_random};
use super::super::words::{against, at_cost, times, way};
use crate::document::{Choice, Labels};
use crate::units;

pub(super) fn advise(ground: &Ground<'_>) -> Vec<Tip> {
    ground.findings.choices.iter().filter_map(|choice| of_choice(choice, ground)).collect()
}

/// The simplest way measured for the same job: one worker that reads and writes, as `cci` does, if it was.
fn plain<'a>(chosen: &Witness<'a>, ground: &Ground<'a>) -> Option<Witness<'a>> {
    let simple = |w: &Witness<'_>| {
        let task = |l: &Labels| (l.job.clone(), l.operation.clone(), end(l), is_random(l));
        task(w.labels) == task(chosen.labels)
            && w.labels.method == "buffered"
            && w.labels.workers.is_none_or(|n| n == 1)
            && w.labels.depth.is_none_or(|d| d == 1)
    };
    let all: Vec<Witness<'a>> = ground.own().into_iter().filter(simple).collect();
    all.iter().copied().find(|w| w.labels.strategy.as_deref() == Some("cci")).or_else(|| fastest(&all))
}

fn of_choice(choice: &Choice, ground: &Ground<'_>) -> Option<Tip> {
    let chosen = ground.find(&choice.cell)?;
    let runner_up = || ground.find(&choice.runner_up.as_ref()?.cell);
    let other = plain(&chosen, ground).filter(|w| !w.is(&chosen)).or_else(runner_up)?;
    let found = speed(chosen, other, ground.bootstrap)?;
    let kept = if choice.job.parse::<Job>().is_ok() { ", as the profile has it" } else { "" };
    let how = way(chosen.labels);
    // A strategy in short may leave out what its text says: stripes, windows.
    let text = if choice.strategy == how { String::new() } else { format!(" (`{}`)", choice.strategy) };
    let cheaper = at_cost(cost(chosen, other, ground.bootstrap).as_ref());
    let rival = way(other.labels);
    let (stands, worth) = if found.more() {
        (format!("{} as fast as {rival}{cheaper}", times(found.ratio.value)), found.ratio.value)
    } else if found.undecided() {
        (format!("though it cannot be told apart from {rival}"), 1.0)
    } else {
        (format!("no slower than {rival}{cheaper}"), 1.0)
    };
    let text =
        format!("For “{}” use {how}{text}{kept}: {}, {stands}.", choice.job, units::rate(chosen.rate()));
    let evidence = against((&how, &chosen), (&rival, &other), &found);
    Some(Tip::new(format!("job|{}", choice.job), &found, &[chosen, other], worth, text, evidence))
}
