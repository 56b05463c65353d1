//! Further settings of a strategy: model, stripe, window, completion order.

use super::super::candidate::Candidate;
use super::super::input::{AdviceInput, fastest};
use super::super::ratio::speed;
use super::super::sweep::{groups_ignoring, setting};
use super::super::words::{against, subject, task, times, way};
use crate::document::Labels;
use crate::units;

/// A setting's name, and the function that clears the labels derived from it.
type Setting = (&'static str, fn(&mut Labels));

/// The settings compared.
const SETTINGS: [Setting; 4] =
    [("model", |l| l.model = None), ("stripe", |_| ()), ("window", |_| ()), ("completion", |_| ())];

pub(super) fn advise(input: &AdviceInput<'_>) -> Vec<Candidate> {
    SETTINGS.iter().flat_map(|&(name, clear)| of_setting(name, clear, input)).collect()
}

fn of_setting(name: &str, clear: fn(&mut Labels), input: &AdviceInput<'_>) -> Vec<Candidate> {
    let set: Vec<_> = input.own().into_iter().filter(|w| setting(w.labels, name).is_some()).collect();
    let groups = groups_ignoring(&set, clear, &[name]);
    let candidates = groups.iter().filter_map(|group| {
        let best = fastest(group)?;
        let worst = group.iter().copied().min_by(|a, b| a.rate().total_cmp(&b.rate()))?;
        let found = speed(best, worst, input.bootstrap).filter(|found| found.is_greater())?;
        let of = |w: &super::super::input::EligibleCell<'_>| {
            format!("{name}={}", setting(w.labels, name).unwrap_or_default())
        };
        let worth = found.estimate.value;
        let text = format!(
            "Set {} in {} with {}: {}, {} as fast as {}.",
            of(&best),
            task(best.labels),
            way(best.labels),
            units::rate(best.rate()),
            times(worth),
            of(&worst)
        );
        let evidence = against((&of(&best), &best), (&of(&worst), &worst), &found);
        let topic = format!("{name}|{}|{}", subject(best.labels), best.labels.method);
        Some(Candidate::new(topic, &found, &[best, worst], worth, text, evidence))
    });
    candidates.collect()
}
