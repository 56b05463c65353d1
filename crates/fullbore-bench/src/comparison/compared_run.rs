//! One document compared with the baseline: its cells matched with the baseline's, their rate, CPU time and latency.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::change::{Change, Measure, holm};
use super::difference::{Difference, shown};
use super::options::{Options, Source};
use crate::document::{Cell, Document, Labels, Sample, word};
use crate::stats::median;
use crate::units;

/// The properties of a document that a comparison shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Origin {
    /// The name given by the caller.
    pub name: String,
    /// Start of the run.
    pub started: String,
    /// Version of fullbore.
    pub fullbore_version: String,
    /// Directory measured.
    pub directory: String,
    /// Kind of its file system.
    pub file_system: String,
    /// Size of the test file in bytes.
    pub file_bytes: u64,
}

impl Origin {
    pub(super) fn of(source: &Source<'_>) -> Self {
        let run = &source.document.run;
        Self {
            name: shown(source.name),
            started: run.started.clone(),
            fullbore_version: run.fullbore_version.clone(),
            directory: shown(&run.directory),
            file_system: source.document.environment.file_system.kind.clone(),
            file_bytes: run.file_bytes,
        }
    }
}

/// A cell measured in one of two documents only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unmatched {
    /// The id of the cell.
    pub id: String,
    /// The name of the cell.
    pub name: String,
    /// The reason why the other document has no figure for the cell.
    pub reason: String,
}

/// The numbers of cells by the verdict on their rates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct VerdictCounts {
    /// The number of cells that both documents measured.
    pub compared: usize,
    /// The number of cells that are slower.
    pub slower: usize,
    /// The number of cells whose verdict is unclear.
    pub unclear: usize,
    /// The number of cells whose rate is the same within the margin.
    #[serde(rename = "no_difference_that_matters")]
    pub same: usize,
    /// The number of cells that are faster.
    pub faster: usize,
    /// The number of verdicts of slower or faster that hold among all comparisons made (Holm).
    pub standing: usize,
    /// Largest expected number of verdicts of slower or faster if nothing changed: the share that intervals miss, times
    /// the cells with enough samples for a verdict.
    #[serde(rename = "by_chance_at_most")]
    pub by_chance: f64,
    /// The number of cells of the baseline without a figure in this document.
    pub missing: usize,
    /// The number of cells of this document without a figure in the baseline.
    pub added: usize,
}

impl VerdictCounts {
    /// Returns the verdicts in a line: `3 slower, 2 unclear, 60 same, 10 faster of 75 cells`.
    pub fn line(&self) -> String {
        format!(
            "{} slower, {} unclear, {} same, {} faster of {}",
            self.slower,
            self.unclear,
            self.same,
            self.faster,
            units::count(self.compared, "cell")
        )
    }
}

/// One document compared with the baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedRun {
    /// The document.
    #[serde(rename = "document")]
    pub origin: Origin,
    /// The numbers of cells by verdict.
    #[serde(rename = "summary")]
    pub verdict_counts: VerdictCounts,
    /// The differences of its environment from the baseline's, all of an allowed aspect.
    pub differences: Vec<Difference>,
    /// Notes for the reader, a phrase each.
    pub notes: Vec<String>,
    /// The cells compared, the worst first.
    pub cells: Vec<CellChange>,
    /// Cells of the baseline without a figure in this document.
    pub missing: Vec<Unmatched>,
    /// Cells of this document without a figure in the baseline.
    pub added: Vec<Unmatched>,
}

/// A cell compared with the same cell of the baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellChange {
    /// The id of the cell in this document.
    pub id: String,
    /// The id of the cell in the baseline.
    pub baseline_id: String,
    /// The way in which the cell was matched.
    pub matched: Matched,
    /// The name of the cell.
    pub name: String,
    /// The experiment of the cell.
    pub experiment: String,
    /// The labels of the cell in this document.
    pub labels: Labels,
    /// The change of the throughput, in bytes per second.
    pub rate: Change,
    /// The change of the charged CPU time per megabyte, of random access per request; `None` if not recorded.
    pub cost: Option<Change>,
    /// The change of the 99th percentile of request time, if both documents recorded it.
    pub latency: Option<Change>,
    /// Notes for the reader, a phrase each.
    pub notes: Vec<String>,
}

/// Sample sizes that differ by more than this factor are noted: bursts and caches show in short samples.
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
            let all = |cell: &Cell| -> Option<Vec<f64>> { cell.counted().map(value).collect() };
            Change::of(measure, &all(baseline)?, &all(this)?, &pairs, options.margin, &options.bootstrap)
        };
        let rate = change(Measure::Rate, &|sample| Some(sample.rate()))?;
        let cost = if this.labels.is_random_over_file() {
            // For small random requests the number per second counts.
            change(Measure::CostPerRequest, &|sample| {
                (sample.requests > 0).then(|| sample.charged_s() / sample.requests as f64)
            })
        } else {
            change(Measure::CostPerMb, &|sample| Some(sample.charged_s() / (sample.bytes as f64 / 1e6)))
        };
        // Of fewer requests it is the maximum, which grows with their number.
        let latency = change(Measure::LatencyP99, &|sample| {
            sample.latency.filter(|_| sample.requests >= 100).map(|latency| latency.p99_s)
        });
        Some(Self {
            id: this.id.clone(),
            baseline_id: baseline.id.clone(),
            matched,
            name,
            experiment: this.experiment.clone(),
            labels: this.labels.clone(),
            rate,
            cost,
            latency,
            notes: notes(baseline, this).iter().map(|note| shown(note)).collect(),
        })
    }

    /// All measures compared.
    pub fn changes(&self) -> impl Iterator<Item = &Change> {
        [Some(&self.rate), self.cost.as_ref(), self.latency.as_ref()].into_iter().flatten()
    }
}

/// Succeeds if a cell has figures; the error is the reason why not.
pub(super) fn measured(cell: &Cell) -> Result<(), String> {
    if cell.samples.iter().any(Sample::usable) {
        return Ok(());
    }
    Err(match &cell.skipped {
        Some(reason) => format!("not measured: {}", shown(reason)),
        None if cell.samples.is_empty() => "not measured: the run ended first".into(),
        None => "no usable sample: the counters contradict every sample, or no bytes were moved".into(),
    })
}

/// Succeeds unless one cell has figures of a burst only and the other of sustained throughput; the error is the reason.
pub(super) fn same_regime(baseline: &Cell, this: &Cell) -> Result<(), String> {
    match (baseline.regime(), this.regime()) {
        (Some(before), Some(now)) if before.opposite() == Some(now) => {
            Err(format!("{} in the baseline, {} in this document", word(before), word(now)))
        }
        _ => Ok(()),
    }
}

fn notes(baseline: &Cell, this: &Cell) -> Vec<String> {
    let mut notes: Vec<String> = label_changes(&baseline.labels, &this.labels);
    if let (Some(before), Some(now)) = (baseline.regime(), this.regime())
        && before != now
    {
        notes.push(format!("regime: {} → {}", word(before), word(now)));
    }
    let length = |cell: &Cell| {
        let bytes: Vec<f64> = cell.counted().map(|s| s.bytes as f64).collect();
        median(&bytes).unwrap_or(0.0)
    };
    let (before, now) = (length(baseline), length(this));
    if before.max(now) > OTHER_LENGTH * before.min(now) {
        let [before, now] = [before, now].map(|bytes| units::size(bytes as u64));
        notes.push(format!("samples: {before} → {now}"));
    }
    for (cell, which) in [(baseline, "in the baseline"), (this, "in this document")] {
        let Some(summary) = &cell.summary else { continue };
        if summary.modes.is_some() {
            notes.push(format!("bimodal {which}"));
        }
        if summary.drift.is_some_and(|drift| drift.matters()) {
            notes.push(format!("drifting {which}"));
        }
    }
    notes
}

/// Adjusts the probabilities of all tests of a measure for their number.
pub(super) fn correct(cells: &mut [CellChange], confidence: f64) {
    let families: [fn(&mut CellChange) -> Option<&mut Change>; 3] =
        [|cell| Some(&mut cell.rate), |cell| cell.cost.as_mut(), |cell| cell.latency.as_mut()];
    for member in families {
        let mut changes: Vec<&mut Change> = cells.iter_mut().filter_map(member).collect();
        let known: Vec<f64> = changes.iter().filter_map(|change| change.p).collect();
        let mut adjusted = holm(&known).into_iter();
        for change in changes.iter_mut().filter(|change| change.p.is_some()) {
            change.p_among_all = adjusted.next();
            change.stands = change.is_judged() && change.p_among_all.is_some_and(|p| p <= 1.0 - confidence);
        }
    }
}

/// The way in which a cell was matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Matched {
    /// Both have the same id.
    ById,
    /// The ids differ, all labels are equal.
    ByLabels,
}

/// Matches cells: pairs of positions in the two documents, in the order of the first.
pub(super) fn match_cells(baseline: &[&Cell], this: &[&Cell]) -> Vec<(usize, usize, Matched)> {
    let ids: BTreeMap<&str, usize> =
        this.iter().enumerate().map(|(at, cell)| (cell.id.as_str(), at)).collect();
    let mut pairs: Vec<(usize, usize, Matched)> = Vec::new();
    let mut left: Vec<usize> = Vec::new();
    for (at, cell) in baseline.iter().enumerate() {
        match ids.get(cell.id.as_str()) {
            Some(&place) => pairs.push((at, place, Matched::ById)),
            None => left.push(at),
        }
    }
    let paired: BTreeSet<usize> = pairs.iter().map(|pair| pair.1).collect();
    let mut over =
        unambiguous((0..this.len()).filter(|place| !paired.contains(place)).map(|at| (at, this[at])));
    for (key, at) in unambiguous(left.into_iter().map(|at| (at, baseline[at]))) {
        if let (Some(at), Some(Some(place))) = (at, over.remove(&key)) {
            pairs.push((at, place, Matched::ByLabels));
        }
    }
    pairs.sort_by_key(|pair| pair.0);
    pairs
}

/// Position by labels; `None` if several cells have the same labels.
fn unambiguous<'a>(cells: impl Iterator<Item = (usize, &'a Cell)>) -> BTreeMap<String, Option<usize>> {
    let mut positions = BTreeMap::new();
    for (at, cell) in cells {
        positions.entry(key(cell)).and_modify(|there| *there = None).or_insert(Some(at));
    }
    positions
}

/// All that decides a cell's speed: experiment and labels, without the job, a depth of one and a single worker.
fn key(cell: &Cell) -> String {
    let mut labels = label_map(&cell.labels);
    labels.retain(|name, value| {
        let implied = matches!(name.as_str(), "depth" | "workers") && value.as_u64() == Some(1);
        name != "job" && !value.is_null() && !implied
    });
    if let Some(parts) = cell.labels.beyond_labels() {
        labels.insert("strategy".into(), parts.into());
    }
    format!("{} {}", cell.experiment, serde_json::Value::Object(labels))
}

fn label_map(labels: &Labels) -> serde_json::Map<String, serde_json::Value> {
    match serde_json::to_value(labels) {
        Ok(serde_json::Value::Object(map)) => map,
        // Labels are always an object.
        _ => serde_json::Map::new(),
    }
}

/// Labels of one cell that differ, in words: a named strategy can mean something else on another machine.
pub(super) fn label_changes(baseline: &Labels, this: &Labels) -> Vec<String> {
    let (before, now) = (label_map(baseline), label_map(this));
    let changed = |(name, value): &(&String, &serde_json::Value)| {
        !matches!(name.as_str(), "job" | "strategy") && now.get(*name) != Some(*value)
    };
    let text = |name: &str, value: Option<&serde_json::Value>| match value {
        None | Some(serde_json::Value::Null) => "none".to_owned(),
        Some(value) if name.ends_with("_bytes") && value.is_u64() => {
            value.as_u64().map(crate::units::size).unwrap_or_default()
        }
        Some(value) => super::difference::plain(value),
    };
    before
        .iter()
        .filter(changed)
        .map(|(name, value)| {
            let called = name.trim_end_matches("_bytes").replace('_', " ");
            format!("{called}: {} → {}", text(name, Some(value)), text(name, now.get(name)))
        })
        .collect()
}

/// True if one process made both documents with their trials interleaved, so that samples of one round were taken under
/// the same conditions: they have the same start, seed, directory and version, they share one clock, and no two samples
/// ran at the same time, as they do in two runs that were started together, and in a copy.
pub(super) fn are_interleaved(baseline: &Document, this: &Document) -> bool {
    let (a, b) = (&baseline.run, &this.run);
    let identity = |run: &crate::document::Run| {
        (run.started.clone(), run.seed, run.directory.clone(), run.fullbore_version.clone(), run.file_bytes)
    };
    if a.started.is_empty() || identity(a) != identity(b) || baseline.environment != this.environment {
        return false;
    }
    let spans = |document: &Document, which: usize| -> Vec<(f64, f64, usize)> {
        let samples = document.cells.iter().flat_map(|cell| &cell.samples);
        samples.map(|sample| (sample.start_s, sample.start_s + sample.seconds, which)).collect()
    };
    let mut all = spans(baseline, 0);
    all.extend(spans(this, 1));
    all.sort_by(|x, y| x.0.total_cmp(&y.0));
    // Sorted by start, two samples overlap only if one begins before the latest end on the other side.
    let mut ends = [f64::NEG_INFINITY; 2];
    let mut turns = 0;
    let mut last = None;
    for (start, end, which) in all {
        if start < ends[1 - which] {
            return false;
        }
        ends[which] = ends[which].max(end);
        turns += usize::from(last.is_some_and(|last| last != which));
        last = Some(which);
    }
    // A single change of sides means one run after the other: then the rounds share no conditions.
    turns > 1
}

/// Positions of the counted samples of two cells that were taken in the same round; none if a round has several.
pub(super) fn rounds(baseline: &Cell, this: &Cell) -> Vec<(usize, usize)> {
    let by_round = |cell: &Cell| {
        let mut places: BTreeMap<u32, usize> = BTreeMap::new();
        for (place, sample) in cell.counted().enumerate() {
            if places.insert(sample.round, place).is_some() {
                return None;
            }
        }
        Some(places)
    };
    let (Some(before), Some(now)) = (by_round(baseline), by_round(this)) else { return Vec::new() };
    before.iter().filter_map(|(round, &place)| Some((place, *now.get(round)?))).collect()
}
