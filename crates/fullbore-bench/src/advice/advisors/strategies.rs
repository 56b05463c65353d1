//! Whole files: Hart's family of strategies (2010) against what would be chosen today.

use fullbore::strategy::NAMED;

use super::super::contrast::speed;
use super::super::tip::Tip;
use super::super::witness::{Ground, Witness, by_task, fastest};
use super::super::words::{against, task, times, way};
use crate::units;

/// The winner of 2010: threads over memory maps.
const WINNER: &str = "cci-mtmm";

pub(super) fn advise(ground: &Ground<'_>) -> Vec<Tip> {
    by_task(&ground.plain()).iter().filter_map(|group| of_task(group, ground)).collect()
}

fn of_task(group: &[Witness<'_>], ground: &Ground<'_>) -> Option<Tip> {
    let named = |w: &Witness<'_>| NAMED.iter().any(|known| w.labels.strategy.as_deref() == Some(known.name));
    let (family, others): (Vec<_>, Vec<_>) = group.iter().copied().partition(named);
    let auto = others.iter().copied().find(|w| w.labels.strategy.as_deref() == Some("auto"));
    let (ours, name) = match auto {
        Some(auto) => (auto, "what `auto` chooses".to_owned()),
        None => {
            let best = fastest(&others)?;
            (best, way(best.labels))
        }
    };
    let best = fastest(&family)?;
    let what = task(ours.labels);
    let topic = format!("strategies|{what}");
    let beaten = speed(best, ours, ground.bootstrap)?;
    if beaten.more() {
        let worth = beaten.ratio.value;
        let text = format!(
            "Use --strategy {} for {what}: {}, {} as fast as {name}.",
            way(best.labels),
            units::rate(best.rate()),
            times(worth)
        );
        let evidence = against((&way(best.labels), &best), (&name, &ours), &beaten);
        return Some(Tip::new(topic, &beaten, &[best, ours], worth, text, evidence));
    }
    let winner =
        family.iter().copied().find(|w| w.labels.strategy.as_deref() == Some(WINNER)).unwrap_or(best);
    let found = speed(ours, winner, ground.bootstrap).filter(|found| found.more())?;
    let worth = found.ratio.value;
    let then =
        if way(winner.labels) == WINNER { ", threads over memory maps, the fastest of 2010" } else { "" };
    let text = format!(
        "For {what} {name} gives {}, {} as fast as {}{then}.",
        units::rate(ours.rate()),
        times(worth),
        way(winner.labels)
    );
    let evidence = against((&name, &ours), (&way(winner.labels), &winner), &found);
    Some(Tip::new(topic, &found, &[ours, winner], worth, text, evidence))
}
