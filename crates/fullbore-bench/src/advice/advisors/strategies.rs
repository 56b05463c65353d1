//! Whole files: `auto` without a profile against every strategy measured, and against Hart's family (2010).

use fullbore::strategy::NAMED;

use super::super::candidate::{Candidate, NamedRatio};
use super::super::input::{AdviceInput, EligibleCell, TaskKey, fastest, grouped};
use super::super::words::{subject, task, way};

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
fn of_auto<'a>(group: &[EligibleCell<'a>], input: &AdviceInput<'a>) -> Option<Candidate> {
    let (auto, others): (Vec<_>, Vec<_>) = group.iter().copied().partition(|w| called(w, "auto"));
    let (auto, best) = (fastest(&auto)?, fastest(&others)?);
    let ratio = NamedRatio::faster((way(best.labels), best), ("auto", auto), input)?;
    let kept = match input.findings.choices.iter().any(|choice| choice.cell == best.cell.id) {
        true => " It is now in the profile.",
        false => "",
    };
    let text = format!(
        "Use --strategy {} for {}: {}, {} as fast as auto without a profile.{kept}",
        best.labels.strategy_text(),
        task(best.labels),
        ratio.rate(),
        ratio.times()
    );
    Some(ratio.candidate([], format!("auto|{}", subject(best.labels)), text))
}

/// Hart's family compared with the best of the others.
fn of_family<'a>(group: &[EligibleCell<'a>], input: &AdviceInput<'a>) -> Option<Candidate> {
    let family = |w: &EligibleCell<'_>| NAMED.iter().any(|known| called(w, known.name));
    let (family, others): (Vec<_>, Vec<_>) = group.iter().copied().partition(family);
    let (first, ours) = (fastest(&family)?, fastest(&others)?);
    let named = |w: EligibleCell<'a>| (way(w.labels), w);
    let topic = format!("strategies|{}", subject(ours.labels));
    let task = task(ours.labels);
    let ahead = NamedRatio::of(named(first), named(ours), input)?;
    if ahead.found.is_greater() {
        let (first, ours) = (&ahead.first.0, &ahead.second.0);
        let (rate, times) = (ahead.rate(), ahead.times());
        let text =
            format!("For {task}, {first} of 2010 is still fastest: {rate}, {times} as fast as {ours}.");
        return Some(ahead.candidate([], topic, text));
    }
    let winner = family.iter().copied().find(|w| called(w, WINNER)).unwrap_or(first);
    let ratio = NamedRatio::faster(named(ours), named(winner), input)?;
    let then = if called(&winner, WINNER) { ", threads over memory maps, the fastest of 2010" } else { "" };
    let (ours, winner) = (&ratio.first.0, &ratio.second.0);
    let (rate, times) = (ratio.rate(), ratio.times());
    let text = format!("For {task}, {ours} reaches {rate}, {times} as fast as {winner}{then}.");
    Some(ratio.candidate([], topic, text))
}
