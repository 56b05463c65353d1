//! Cells that differ in one label only, ordered by it.

use super::input::{EligibleCell, grouped};
use super::words::{subject, task, way};
use crate::document::Labels;

/// A label along which cells are ordered.
pub(super) struct SweepAxis {
    at: fn(&Labels) -> Option<u64>,
    clear: fn(&mut Labels),
    /// The settings of a strategy's text that belong to the label.
    settings: &'static [&'static str],
}

impl SweepAxis {
    pub(super) fn same(&self, one: &Labels, other: &Labels) -> bool {
        (self.at)(one) == (self.at)(other)
    }
}

pub(super) const REQUEST: SweepAxis =
    SweepAxis { at: |l| l.request_bytes, clear: |l| l.request_bytes = None, settings: &["request"] };
pub(super) const DEPTH: SweepAxis =
    SweepAxis { at: |l| l.depth.map(u64::from), clear: |l| l.depth = None, settings: &["depth"] };
/// The number of workers. Several workers need a model and stripes, which one worker does not have.
pub(super) const WORKERS: SweepAxis = SweepAxis {
    at: |l| l.workers.map(u64::from),
    clear: |l| (l.workers, l.model) = (None, None),
    settings: &["workers", "model", "stripe"],
};
pub(super) const STREAMS: SweepAxis =
    SweepAxis { at: |l| l.streams.map(u64::from), clear: |l| l.streams = None, settings: &[] };
pub(super) const TARGETS: SweepAxis =
    SweepAxis { at: |l| l.targets.map(u64::from), clear: |l| l.targets = None, settings: &[] };
pub(super) const LOAD: SweepAxis =
    SweepAxis { at: |l| l.load_per_s, clear: |l| l.load_per_s = None, settings: &[] };
pub(super) const FILE: SweepAxis =
    SweepAxis { at: |l| l.file_bytes, clear: |l| l.file_bytes = None, settings: &[] };

/// Cells along a label, each position once.
pub(super) struct Sweep<'a> {
    pub(super) labels: Labels,
    /// Position and cell, rising.
    pub(super) points: Vec<(u64, EligibleCell<'a>)>,
}

impl<'a> Sweep<'a> {
    pub(super) fn first(&self) -> Option<(u64, EligibleCell<'a>)> {
        self.points.first().copied()
    }

    pub(super) fn peak(&self) -> Option<(u64, EligibleCell<'a>)> {
        self.points.iter().copied().max_by(|a, b| a.1.rate().total_cmp(&b.1.rate()))
    }

    pub(super) fn reaching(&self, share: f64) -> Option<(u64, EligibleCell<'a>)> {
        let wanted = self.peak()?.1.rate() * share;
        self.points.iter().copied().find(|(_, w)| w.rate() >= wanted)
    }

    pub(super) fn at(&self, position: u64) -> Option<EligibleCell<'a>> {
        self.points.iter().find(|(at, _)| *at == position).map(|(_, w)| *w)
    }

    pub(super) fn last(&self) -> Option<(u64, EligibleCell<'a>)> {
        self.points.last().copied()
    }

    /// The task of a cell with the method of the sweep.
    pub(super) fn described(&self, eligible: EligibleCell<'_>) -> String {
        format!("{} with {}", task(eligible.labels), way(&self.labels))
    }

    pub(super) fn topic(&self, axis: &str, eligible: EligibleCell<'_>) -> String {
        format!("{axis}|{}|{}", subject(eligible.labels), self.labels.method)
    }
}

/// Sweeps of two or more points along a label, within one experiment.
pub(super) fn sweeps<'a>(eligible_cells: &[EligibleCell<'a>], axis: &SweepAxis) -> Vec<Sweep<'a>> {
    let placed: Vec<EligibleCell<'a>> =
        eligible_cells.iter().copied().filter(|w| (axis.at)(w.labels).is_some()).collect();
    groups_ignoring(&placed, axis.clear, axis.settings)
        .into_iter()
        .filter_map(|group| {
            let labels = cleared(group.first()?.labels, axis.clear, axis.settings);
            let mut points: Vec<(u64, EligibleCell<'a>)> = Vec::new();
            for eligible in group {
                let at = (axis.at)(eligible.labels)?;
                // Cells may still differ in settings without a label (stripe): the fastest counts.
                match points.iter_mut().find(|(known, _)| *known == at) {
                    Some((_, known)) if known.rate() < eligible.rate() => *known = eligible,
                    Some(_) => {}
                    None => points.push((at, eligible)),
                }
            }
            points.sort_by_key(|point| point.0);
            (points.len() > 1).then_some(Sweep { labels, points })
        })
        .collect()
}

/// Groups of cells of one experiment that differ only in cleared labels and in `settings` of their strategies.
pub(super) fn groups_ignoring<'a>(
    eligible_cells: &[EligibleCell<'a>],
    clear: fn(&mut Labels),
    settings: &[&str],
) -> Vec<Vec<EligibleCell<'a>>> {
    let shared = |w: &EligibleCell<'_>| (w.cell.experiment.clone(), cleared(w.labels, clear, settings));
    grouped(eligible_cells, shared).into_iter().filter(|group| group.len() > 1).collect()
}

fn cleared(labels: &Labels, clear: fn(&mut Labels), settings: &[&str]) -> Labels {
    let mut labels = labels.clone();
    clear(&mut labels);
    labels.strategy = without(labels.strategy.as_deref(), settings);
    labels
}

/// A strategy's text without some of its settings.
fn without(strategy: Option<&str>, settings: &[&str]) -> Option<String> {
    let kept: Vec<&str> = strategy?
        .split(',')
        .map(str::trim)
        .filter(|part| part.split_once('=').is_none_or(|(name, _)| !settings.contains(&name.trim())))
        .collect();
    // The empty strategy is `auto`.
    Some(kept.join(",")).filter(|text| !text.is_empty() && text != "auto")
}

/// The value of a setting in a strategy's text.
pub(super) fn setting<'s>(labels: &'s Labels, name: &str) -> Option<&'s str> {
    let parts = labels.strategy.as_deref()?.split(',');
    parts
        .filter_map(|part| part.split_once('='))
        .find(|(n, _)| n.trim() == name)
        .map(|(_, value)| value.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strategy_text_drops_the_sweep_axis() {
        let text = Some("method=uring, depth=8,request=64K");
        assert_eq!(without(text, &["depth"]).as_deref(), Some("method=uring,request=64K"));
        assert_eq!(without(Some("auto,depth=8"), &["depth"]), None);
        assert_eq!(without(Some("cci-mt,depth=8"), &["depth"]).as_deref(), Some("cci-mt"));
        assert_eq!(without(None, &["depth"]), None);
        let labels = Labels { strategy: Some("cci-mt,stripe=1M".into()), ..Labels::default() };
        assert_eq!((setting(&labels, "stripe"), setting(&labels, "window")), (Some("1M"), None));
    }
}
