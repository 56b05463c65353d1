//! The finer settings of a strategy: model, stripe, window, order of completion.

use super::super::contrast::speed;
use super::super::line::{alike_but, setting};
use super::super::tip::Tip;
use super::super::witness::{Ground, fastest};
use super::super::words::{against, subject, task, times, way};
use crate::document::Labels;
use crate::units;

/// A setting by its name, and how to clear the labels that follow from it.
type Setting = (&'static str, fn(&mut Labels));

/// What is looked at.
const SETTINGS: [Setting; 4] =
    [("model", |l| l.model = None), ("stripe", |_| ()), ("window", |_| ()), ("completion", |_| ())];

pub(super) fn advise(ground: &Ground<'_>) -> Vec<Tip> {
    SETTINGS.iter().flat_map(|&(name, clear)| of_setting(name, clear, ground)).collect()
}

fn of_setting(name: &str, clear: fn(&mut Labels), ground: &Ground<'_>) -> Vec<Tip> {
    let set: Vec<_> = ground.own().into_iter().filter(|w| setting(w.labels, name).is_some()).collect();
    let groups = alike_but(&set, clear, &[name]);
    let tips = groups.iter().filter_map(|group| {
        let best = fastest(group)?;
        let worst = group.iter().copied().min_by(|a, b| a.rate().total_cmp(&b.rate()))?;
        let found = speed(best, worst, ground.bootstrap).filter(|found| found.more())?;
        let of = |w: &super::super::witness::Witness<'_>| {
            format!("{name}={}", setting(w.labels, name).unwrap_or_default())
        };
        let worth = found.ratio.value;
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
        Some(Tip::new(topic, &found, &[best, worst], worth, text, evidence))
    });
    tips.collect()
}
