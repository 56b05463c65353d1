//! Whole files: `auto` without a profile against every strategy measured, and against Hart's family (2010).

use fullbore::strategy::NAMED;

use super::super::candidate::Candidate;
use super::super::input::{AdviceInput, EligibleCell, TaskKey, fastest, grouped};
use super::super::ratio::speed;
use super::super::words::{against, subject, task, times, way};
use crate::units;

/// The fastest strategy of 2010: threads over memory maps.
const WINNER: &str = "cci-mtmm";

pub(super) fn advise(input: &AdviceInput<'_>) -> Vec<Candidate> {
    let groups = grouped(&input.plain(), |w| TaskKey::of(w.cell).without_job());
    groups.iter().flat_map(|group| [of_auto(group, input), of_family(group, input)]).flatten().collect()
}

fn called(eligible: &EligibleCell<'_>, name: &str) -> bool {
    eligible.labels.strategy.as_deref() == Some(name)
}

/// Strategies faster than `auto`, which decides by the facts alone.
fn of_auto(group: &[EligibleCell<'_>], input: &AdviceInput<'_>) -> Option<Candidate> {
    let (auto, others): (Vec<_>, Vec<_>) = group.iter().copied().partition(|w| called(w, "auto"));
    let (auto, best) = (fastest(&auto)?, fastest(&others)?);
    let found = speed(best, auto, input.bootstrap).filter(|found| found.is_greater())?;
    let worth = found.estimate.value;
    let text = best.labels.strategy_text();
    let kept = match input.findings.choices.iter().any(|choice| choice.cell == best.cell.id) {
        true => " It is now in the profile.",
        false => "",
    };
    let text = format!(
        "Use --strategy {text} for {}: {}, {} as fast as auto without a profile.{kept}",
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

/// Hart's family compared with the best of the others.
fn of_family(group: &[EligibleCell<'_>], input: &AdviceInput<'_>) -> Option<Candidate> {
    let named = |w: &EligibleCell<'_>| NAMED.iter().any(|known| called(w, known.name));
    let (family, others): (Vec<_>, Vec<_>) = group.iter().copied().partition(named);
    let (first, ours) = (fastest(&family)?, fastest(&others)?);
    let name = |w: &EligibleCell<'_>| way(w.labels);
    let topic = format!("strategies|{}", subject(ours.labels));
    let ahead = speed(first, ours, input.bootstrap)?;
    if ahead.is_greater() {
        let worth = ahead.estimate.value;
        let text = format!(
            "For {}, {} of 2010 is still fastest: {}, {} as fast as {}.",
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
        "For {}, {} reaches {}, {} as fast as {}{then}.",
        task(ours.labels),
        name(&ours),
        units::rate(ours.rate()),
        times(worth),
        way(winner.labels)
    );
    let evidence = against((&name(&ours), &ours), (&way(winner.labels), &winner), &found);
    Some(Candidate::new(topic, &found, &[ours, winner], worth, text, evidence))
}
