//! A cell in two documents: rate, processor cost and latency, each compared.

use super::Options;
use super::change::{Change, Measure};
use super::family::holm;
use super::pairs::{Matched, label_changes, rounds};
use super::words;
use crate::document::{Cell, Labels, Sample};
use crate::stats::median;
use crate::units;

/// A cell against the same cell of the baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct CellChange {
    /// Its id in this document.
    pub id: String,
    /// Its id in the baseline, where that is another one.
    pub baseline_id: Option<String>,
    /// How it was found.
    pub matched: Matched,
    /// Its name.
    pub name: String,
    /// Its experiment.
    pub experiment: String,
    /// Its labels in this document.
    pub labels: Labels,
    /// Bytes a second.
    pub rate: Change,
    /// Charged processor time a megabyte, of random access a request; `None` where there is none.
    pub cost: Option<Change>,
    /// The 99th percentile of the time of a request, where both documents recorded it.
    pub latency: Option<Change>,
    /// What a reader should know, a phrase each.
    pub notes: Vec<String>,
}

/// Sizes of samples that differ by more than this factor are told of: bursts and caches show in short samples.
const OTHER_LENGTH: f64 = 2.0;

impl CellChange {
    /// Compares two measured cells; `None` if they have no rates to compare.
    pub(super) fn of(
        baseline: &Cell,
        this: &Cell,
        name: String,
        matched: Matched,
        interleaved: bool,
        options: &Options,
    ) -> Option<Self> {
        let pairs = if interleaved { rounds(baseline, this) } else { Vec::new() };
        let change = |measure: Measure, value: &dyn Fn(&Sample) -> Option<f64>| {
            let all = |cell: &Cell| -> Option<Vec<f64>> {
                cell.samples.iter().filter(|sample| sample.usable()).map(value).collect()
            };
            Change::of(measure, &all(baseline)?, &all(this)?, &pairs, options.margin, &options.bootstrap)
        };
        let rate = change(Measure::Rate, &|sample| Some(sample.rate()))?;
        let cost = if this.labels.order.as_deref() == Some("random") {
            // Of small random requests their number is what counts.
            change(Measure::CostPerRequest, &|sample| {
                (sample.requests > 0).then(|| sample.charged_s() / sample.requests as f64)
            })
        } else {
            change(Measure::CostPerMb, &|sample| Some(sample.charged_s() / (sample.bytes as f64 / 1e6)))
        };
        let latency = change(Measure::LatencyP99, &|sample| sample.latency.map(|latency| latency.p99_s));
        Some(Self {
            id: this.id.clone(),
            baseline_id: (baseline.id != this.id).then(|| baseline.id.clone()),
            matched,
            name,
            experiment: this.experiment.clone(),
            labels: this.labels.clone(),
            rate,
            cost,
            latency,
            notes: notes(baseline, this).iter().map(|note| words::shown(note)).collect(),
        })
    }

    /// All measures compared.
    pub fn changes(&self) -> impl Iterator<Item = &Change> {
        [Some(&self.rate), self.cost.as_ref(), self.latency.as_ref()].into_iter().flatten()
    }
}

/// Whether a cell has figures; else why not.
pub(super) fn measured(cell: &Cell) -> Result<(), String> {
    if cell.samples.iter().any(Sample::usable) {
        return Ok(());
    }
    Err(match &cell.skipped {
        Some(reason) => format!("not measured: {}", words::shown(reason)),
        None if cell.samples.is_empty() => "not measured: the run ended before".into(),
        None => "no sample is usable: its proof contradicts each, or nothing was moved".into(),
    })
}

fn notes(baseline: &Cell, this: &Cell) -> Vec<String> {
    let mut notes: Vec<String> = label_changes(&baseline.labels, &this.labels);
    let length = |cell: &Cell| {
        let bytes: Vec<f64> = cell.samples.iter().filter(|s| s.usable()).map(|s| s.bytes as f64).collect();
        median(&bytes).unwrap_or(0.0)
    };
    let (before, now) = (length(baseline), length(this));
    if before.max(now) > OTHER_LENGTH * before.min(now) {
        let [before, now] = [before, now].map(|bytes| units::size(bytes as u64));
        notes.push(format!("samples of {before} here of {now}"));
    }
    for (cell, which) in [(baseline, "in the baseline"), (this, "here")] {
        let Some(summary) = &cell.summary else { continue };
        if summary.modes.is_some() {
            notes.push(format!("two-humped {which}"));
        }
        if summary.drift.is_some_and(|drift| drift.matters()) {
            notes.push(format!("drifting {which}"));
        }
    }
    notes
}

/// Gives every test its place among all of its measure.
pub(super) fn correct(cells: &mut [CellChange]) {
    let families: [fn(&mut CellChange) -> Option<&mut Change>; 3] =
        [|cell| Some(&mut cell.rate), |cell| cell.cost.as_mut(), |cell| cell.latency.as_mut()];
    for member in families {
        let mut changes: Vec<&mut Change> = cells.iter_mut().filter_map(member).collect();
        let known: Vec<f64> = changes.iter().filter_map(|change| change.p).collect();
        let mut adjusted = holm(&known).into_iter();
        for change in changes.iter_mut().filter(|change| change.p.is_some()) {
            change.p_among_all = adjusted.next();
        }
    }
}
