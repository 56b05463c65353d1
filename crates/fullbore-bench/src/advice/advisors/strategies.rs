//! Whole files: what `auto` chooses by the facts, against every strategy measured and against Hart's family (2010).

use fullbore::strategy::NAMED;

use super::super::candidate::Candidate;
use super::super::input::{AdviceInput, EligibleCell, TaskKey, fastest, grouped};
use super::super::ratio::speed;
use super::super::words::{against, subject, task, times, way};
use crate::units;

/// The winner of 2010: threads over memory maps.
const WINNER: &str = "cci-mtmm";

pub(super) fn advise(input: &AdviceInput<'_>) -> Vec<Candidate> {
    let groups = grouped(&input.plain(), |w| TaskKey::of(w.cell).without_job());
    groups.iter().flat_map(|group| [of_auto(group, input), of_family(group, input)]).flatten().collect()
}

fn called(eligible: &EligibleCell<'_>, name: &str) -> bool {
    eligible.labels.strategy.as_deref() == Some(name)
}

/// Where `auto`, which asks the facts alone, misses the best there was.
fn of_auto(group: &[EligibleCell<'_>], input: &AdviceInput<'_>) -> Option<Candidate> {
    let (auto, others): (Vec<_>, Vec<_>) = group.iter().copied().partition(|w| called(w, "auto"));
    let (auto, best) = (fastest(&auto)?, fastest(&others)?);
    let found = speed(best, auto, input.bootstrap).filter(|found| found.is_greater())?;
    let worth = found.estimate.value;
    let text = best.labels.strategy_text();
    let kept = match input.findings.choices.iter().any(|choice| choice.cell == best.cell.id) {
        true => " The profile has it now.",
        false => "",
    };
    let text = format!(
        "Use --strategy {text} for {}: {}, {} as fast as what `auto` chooses by the facts.{kept}",
        task(best.labels),
        units::rate(best.rate()),
        times(worth)
    );
    let evidence = against((&way(best.labels), &best), ("auto", &auto), &found);
    Some(Candidate::new(
        format!("auto|{}", subject(best.labels)),
        &found,
        &[best, auto],
        worth,
        text,
        evidence,
    ))
}

/// How Hart's family stands to the best of the others.
fn of_family(group: &[EligibleCell<'_>], input: &AdviceInput<'_>) -> Option<Candidate> {
    let named = |w: &EligibleCell<'_>| NAMED.iter().any(|known| called(w, known.name));
    let (family, others): (Vec<_>, Vec<_>) = group.iter().copied().partition(named);
    let (first, ours) = (fastest(&family)?, fastest(&others)?);
    let name = |w: &EligibleCell<'_>| {
        if called(w, "auto") { "what `auto` chooses".to_owned() } else { way(w.labels) }
    };
    let topic = format!("strategies|{}", subject(ours.labels));
    let ahead = speed(first, ours, input.bootstrap)?;
    if ahead.is_greater() {
        let worth = ahead.estimate.value;
        let text = format!(
            "For {} {} of 2010 is still ahead: {}, {} as fast as {}.",
            task(ours.labels),
            way(first.labels),
            units::rate(first.rate()),
            times(worth),
            name(&ours)
        );
        let evidence = against((&way(first.labels), &first), (&name(&ours), &ours), &ahead);
        return Some(Candidate::new(topic, &ahead, &[first, ours], worth, text, evidence));
    }
    let winner = family.iter().copied().find(|w| called(w, WINNER)).unwrap_or(first);
    let found = speed(ours, winner, input.bootstrap).filter(|found| found.is_greater())?;
    let worth = found.estimate.value;
    let then = if called(&winner, WINNER) { ", threads over memory maps, the fastest of 2010" } else { "" };
    let text = format!(
        "For {} {} gives {}, {} as fast as {}{then}.",
        task(ours.labels),
        name(&ours),
        units::rate(ours.rate()),
        times(worth),
        way(winner.labels)
    );
    let evidence = against((&name(&ours), &ours), (&way(winner.labels), &winner), &found);
    Some(Candidate::new(topic, &found, &[ours, winner], worth, text, evidence))
}
