//! New files: the gain of preallocating, and of overwriting existing blocks.

use super::super::candidate::Candidate;
use super::super::input::{AdviceInput, EligibleCell, Growth, fastest, growth};
use super::super::ratio::{cost, speed};
use super::super::sweep::groups_ignoring;
use super::super::words::{against, at_cost, task, times, way};
use crate::document::Labels;
use crate::units;

/// Cells that differ only in the way their output gets its blocks.
pub(in super::super) fn groups<'a>(input: &AdviceInput<'a>) -> Vec<Vec<EligibleCell<'a>>> {
    let clear = |l: &mut Labels| {
        l.allocation = None;
        l.file_state = None;
        l.job.clear();
    };
    let writing: Vec<EligibleCell<'a>> =
        input.own().into_iter().filter(|w| growth(w.labels).is_some()).collect();
    groups_ignoring(&writing, clear, &["alloc"])
}

/// The fastest cell of a group whose output grows as `wanted`.
pub(in super::super) fn with<'a>(group: &[EligibleCell<'a>], wanted: Growth) -> Option<EligibleCell<'a>> {
    let so: Vec<EligibleCell<'a>> =
        group.iter().copied().filter(|w| growth(w.labels) == Some(wanted)).collect();
    fastest(&so)
}

pub(super) fn advise(input: &AdviceInput<'_>) -> Vec<Candidate> {
    let groups = groups(input);
    let preallocating = groups.iter().filter_map(|group| preallocating(group, input));
    preallocating.chain(groups.iter().filter_map(|group| existing(group, input))).collect()
}

fn preallocating(group: &[EligibleCell<'_>], input: &AdviceInput<'_>) -> Option<Candidate> {
    let (preallocated, grown) = (with(group, Growth::Preallocated)?, with(group, Growth::Extended)?);
    let found = speed(preallocated, grown, input.bootstrap)?;
    let bare = Labels { allocation: None, file_state: None, strategy: None, ..preallocated.labels.clone() };
    let what = format!("{} ({})", task(grown.labels), way(&bare));
    let (text, worth) = if found.is_greater() {
        let worth = found.estimate.value;
        let cheaper = at_cost(cost(preallocated, grown, input.bootstrap).as_ref());
        let rate = units::rate(preallocated.rate());
        (format!("Preallocate in {what}: {rate}, {} as fast as extending{cheaper}.", times(worth)), worth)
    } else if found.is_less() {
        let worth = 1.0 / found.estimate.value;
        let rate = units::rate(grown.rate());
        (format!("Do not preallocate in {what}: extending reaches {rate}, {} as fast.", times(worth)), worth)
    } else {
        return None;
    };
    let evidence = against(("preallocated", &preallocated), ("extended", &grown), &found);
    let topic = format!("preallocate|{}|{}", grown.labels.operation, grown.labels.method);
    Some(Candidate::new(topic, &found, &[preallocated, grown], worth, text, evidence))
}

fn existing(group: &[EligibleCell<'_>], input: &AdviceInput<'_>) -> Option<Candidate> {
    let (over, grown) = (with(group, Growth::Over)?, with(group, Growth::Extended)?);
    let found = speed(over, grown, input.bootstrap).filter(|found| found.is_greater())?;
    let worth = found.estimate.value;
    let bare = Labels { strategy: None, ..over.labels.clone() };
    let text = format!(
        "Overwrite the existing file if its contents need not survive a failure: {} in {} ({}), \
         {} as fast as extending a new one.",
        units::rate(over.rate()),
        task(over.labels),
        way(&bare),
        times(worth)
    );
    let evidence = against(("over existing blocks", &over), ("extending", &grown), &found);
    let topic = format!("over|{}", grown.labels.operation);
    Some(Candidate::new(topic, &found, &[over, grown], worth, text, evidence))
}
