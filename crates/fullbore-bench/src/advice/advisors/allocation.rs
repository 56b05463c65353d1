//! New files: whether preallocating pays, and what writing over existing blocks saves.

use super::super::contrast::{cost, speed};
use super::super::line::alike_but;
use super::super::tip::Tip;
use super::super::witness::{Ground, Growth, Witness, fastest, growth};
use super::super::words::{against, at_cost, task, times, way};
use crate::document::Labels;
use crate::units;

/// Cells that differ in how their output gets its blocks, and in nothing else.
pub(in super::super) fn groups<'a>(ground: &Ground<'a>) -> Vec<Vec<Witness<'a>>> {
    let clear = |l: &mut Labels| {
        l.allocation = None;
        l.file_state = None;
        l.job.clear();
    };
    let writing: Vec<Witness<'a>> = ground.own().into_iter().filter(|w| growth(w.labels).is_some()).collect();
    alike_but(&writing, clear, &["alloc"])
}

/// The fastest of a group whose output grows so.
pub(in super::super) fn with<'a>(group: &[Witness<'a>], wanted: Growth) -> Option<Witness<'a>> {
    let so: Vec<Witness<'a>> = group.iter().copied().filter(|w| growth(w.labels) == Some(wanted)).collect();
    fastest(&so)
}

pub(super) fn advise(ground: &Ground<'_>) -> Vec<Tip> {
    let groups = groups(ground);
    let preallocating = groups.iter().filter_map(|group| preallocating(group, ground));
    preallocating.chain(groups.iter().filter_map(|group| existing(group, ground))).collect()
}

fn preallocating(group: &[Witness<'_>], ground: &Ground<'_>) -> Option<Tip> {
    let (asked, grown) = (with(group, Growth::Preallocated)?, with(group, Growth::Extended)?);
    let found = speed(asked, grown, ground.bootstrap)?;
    let bare = Labels { allocation: None, file_state: None, strategy: None, ..asked.labels.clone() };
    let what = format!("{} ({})", task(grown.labels), way(&bare));
    let (text, worth) = if found.more() {
        let worth = found.ratio.value;
        let cheaper = at_cost(cost(asked, grown, ground.bootstrap).as_ref());
        let rate = units::rate(asked.rate());
        (format!("Preallocate in {what}: {rate}, {} as fast as extending{cheaper}.", times(worth)), worth)
    } else if found.less() {
        let worth = 1.0 / found.ratio.value;
        let rate = units::rate(grown.rate());
        (format!("Do not preallocate in {what}: extending gives {rate}, {} as fast.", times(worth)), worth)
    } else {
        return None;
    };
    let evidence = against(("preallocated", &asked), ("extended", &grown), &found);
    let topic = format!("preallocate|{}|{}", grown.labels.operation, grown.labels.method);
    Some(Tip::new(topic, &found, &[asked, grown], worth, text, evidence))
}

fn existing(group: &[Witness<'_>], ground: &Ground<'_>) -> Option<Tip> {
    let (over, grown) = (with(group, Growth::Over)?, with(group, Growth::Extended)?);
    let found = speed(over, grown, ground.bootstrap).filter(|found| found.more())?;
    let worth = found.ratio.value;
    let bare = Labels { strategy: None, ..over.labels.clone() };
    let text = format!(
        "Where the old contents need not survive a failure, write over the existing file: {} in {} ({}), {} as fast as extending a new one.",
        units::rate(over.rate()),
        task(over.labels),
        way(&bare),
        times(worth)
    );
    let evidence = against(("over existing blocks", &over), ("extending", &grown), &found);
    let topic = format!("over|{}", grown.labels.operation);
    Some(Tip::new(topic, &found, &[over, grown], worth, text, evidence))
}
