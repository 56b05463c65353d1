//! Economy: the method with the least CPU time among those near the peak.

use super::super::candidate::Candidate;
use super::super::input::{AdviceInput, EligibleCell, by_task, fastest};
use super::super::ratio::{AT_PEAK, CHEAPER, cost};
use super::super::words::{ratio, subject, task, way};
use crate::units;

pub(super) fn advise(input: &AdviceInput<'_>) -> Vec<Candidate> {
    by_task(&input.own()).iter().filter_map(|group| of_task(group, input)).collect()
}

fn of_task(group: &[EligibleCell<'_>], input: &AdviceInput<'_>) -> Option<Candidate> {
    let top = fastest(group)?;
    let near = group.iter().copied().filter(|w| w.rate() >= AT_PEAK * top.rate());
    let cheap: EligibleCell<'_> = near.min_by(|a, b| a.cost().value.total_cmp(&b.cost().value))?;
    let found = cost(cheap, top, input.bootstrap).filter(|found| found.is_clear())?;
    if cheap.is_same_cell(&top) || found.estimate.value > CHEAPER {
        return None;
    }
    let each = |w: &EligibleCell<'_>| format!("{} ms/MB", units::ms_per_mb(w.cost().value));
    let text = format!(
        "{} reaches {} of the peak of {} at {} of the CPU time ({}; the fastest, {}, takes {}).",
        way(cheap.labels),
        units::percent(cheap.rate() / top.rate()),
        task(top.labels),
        units::percent(found.estimate.value),
        each(&cheap),
        way(top.labels),
        each(&top)
    );
    let evidence = format!(
        "CPU time per megabyte, {}: {}; {}: {}; ratio {}. Rates {} and {}.",
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
    Some(Candidate::new(topic, &found, &[cheap, top], 1.0 / found.estimate.value, text, evidence))
}
