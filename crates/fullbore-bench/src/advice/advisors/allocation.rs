//! New files: the gain of preallocating, and of overwriting existing blocks.

use super::super::candidate::{Candidate, NamedRatio};
use super::super::input::{AdviceInput, EligibleCell, Growth, fastest, growth};
use super::super::sweep::groups_ignoring;
use super::super::words::{task, way};
use crate::document::Labels;

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

fn preallocating<'a>(group: &[EligibleCell<'a>], input: &AdviceInput<'a>) -> Option<Candidate> {
    let preallocated = ("preallocated", with(group, Growth::Preallocated)?);
    let extended = ("extended", with(group, Growth::Extended)?);
    let labels = extended.1.labels;
    let bare = Labels { allocation: None, file_state: None, strategy: None, ..preallocated.1.labels.clone() };
    let what = format!("{} ({})", task(labels), way(&bare));
    let topic = format!("preallocate|{}|{}", labels.operation, labels.method);
    if let Some(ratio) = NamedRatio::faster(preallocated, extended, input) {
        let (rate, times, cost) = (ratio.rate(), ratio.times(), ratio.at_cost());
        let text = format!("Preallocate in {what}: {rate}, {times} as fast as extending{cost}.");
        return Some(ratio.candidate([], topic, text));
    }
    let ratio = NamedRatio::faster(extended, preallocated, input)?;
    let (rate, times) = (ratio.rate(), ratio.times());
    let text = format!("Do not preallocate in {what}: extending reaches {rate}, {times} as fast.");
    Some(ratio.candidate([], topic, text))
}

fn existing<'a>(group: &[EligibleCell<'a>], input: &AdviceInput<'a>) -> Option<Candidate> {
    let (over, grown) = (with(group, Growth::Over)?, with(group, Growth::Extended)?);
    let ratio = NamedRatio::faster(("over existing blocks", over), ("extending", grown), input)?;
    let text = format!(
        "Overwrite the existing file if its contents need not survive a failure: {} in {} ({}), \
         {} as fast as extending a new one.",
        ratio.rate(),
        task(over.labels),
        way(&Labels { strategy: None, ..over.labels.clone() }),
        ratio.times()
    );
    Some(ratio.candidate([], format!("over|{}", grown.labels.operation), text))
}
