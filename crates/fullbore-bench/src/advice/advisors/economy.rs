//! Economy: the way that costs the processor least among those that are as fast as the fastest.

use super::super::contrast::cost;
use super::super::tip::Tip;
use super::super::witness::{Ground, Witness, by_task, fastest};
use super::super::words::{ratio, subject, task, way};
use super::{AT_PEAK, CHEAPER};
use crate::units;

pub(super) fn advise(ground: &Ground<'_>) -> Vec<Tip> {
    by_task(&ground.own()).iter().filter_map(|group| of_task(group, ground)).collect()
}

fn of_task(group: &[Witness<'_>], ground: &Ground<'_>) -> Option<Tip> {
    let top = fastest(group)?;
    let near = group.iter().copied().filter(|w| w.rate() >= AT_PEAK * top.rate());
    let cheap: Witness<'_> = near.min_by(|a, b| a.cost().value.total_cmp(&b.cost().value))?;
    let found = cost(cheap, top, ground.bootstrap).filter(|found| found.clear())?;
    if cheap.is(&top) || found.ratio.value > CHEAPER {
        return None;
    }
    let each = |w: &Witness<'_>| format!("{} ms/MB", units::ms_per_mb(w.cost().value));
    let text = format!(
        "{} gives {} of the peak of {} at {} of the processor time ({}; the fastest, {}, takes {}).",
        way(cheap.labels),
        units::percent(cheap.rate() / top.rate()),
        task(top.labels),
        units::percent(found.ratio.value),
        each(&cheap),
        way(top.labels),
        each(&top)
    );
    let evidence = format!(
        "Processor time a megabyte, {}: {}; {}: {}; ratio {}. Rates {} and {}.",
        way(cheap.labels),
        each(&cheap),
        way(top.labels),
        each(&top),
        ratio(&found),
        units::rate(cheap.rate()),
        units::rate(top.rate())
    );
    let text = super::super::words::sentence(text);
    let topic = format!("economy|{}", subject(top.labels));
    Some(Tip::new(topic, &found, &[cheap, top], 1.0 / found.ratio.value, text, evidence))
}
