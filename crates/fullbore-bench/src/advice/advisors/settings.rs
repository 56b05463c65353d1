//! Further settings of a strategy: model, stripe, window, completion order.

use super::super::candidate::{Candidate, NamedRatio};
use super::super::input::{AdviceInput, EligibleCell, fastest};
use super::super::sweep::{groups_ignoring, setting};
use super::super::words::{subject, task, way};
use crate::document::Labels;

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
    let of = |w: &EligibleCell<'_>| format!("{name}={}", setting(w.labels, name).unwrap_or_default());
    let candidates = groups.iter().filter_map(|group| {
        let best = fastest(group)?;
        let worst = group.iter().copied().min_by(|a, b| a.rate().total_cmp(&b.rate()))?;
        let ratio = NamedRatio::faster((of(&best), best), (of(&worst), worst), input)?;
        let text = format!(
            "Set {} in {} with {}: {}, {} as fast as {}.",
            ratio.first.0,
            task(best.labels),
            way(best.labels),
            ratio.rate(),
            ratio.times(),
            ratio.second.0
        );
        let topic = format!("{name}|{}|{}", subject(best.labels), best.labels.method);
        Some(ratio.candidate([], topic, text))
    });
    candidates.collect()
}
