//! Matching of cells, and of their samples, between two documents.

use std::collections::BTreeMap;

use fullbore::size;

use crate::document::{Cell, Document, Labels};

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
pub(super) fn cells(baseline: &[&Cell], this: &[&Cell]) -> Vec<(usize, usize, Matched)> {
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
    let mut over = unambiguous(
        (0..this.len()).filter(|place| !pairs.iter().any(|pair| pair.1 == *place)).map(|at| (at, this[at])),
    );
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
    if let Some(strategy) = &cell.labels.strategy {
        labels.insert("strategy".into(), beyond_labels(strategy).into());
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

/// Parts of a strategy that no label covers, in one order and with sizes in bytes: `stripe=8M` equals `stripe=8MiB`.
fn beyond_labels(strategy: &str) -> Vec<String> {
    const LABELLED: [&str; 8] = ["method", "read", "write", "request", "depth", "workers", "model", "alloc"];
    let mut fields: Vec<String> = strategy
        .split(',')
        .map(str::trim)
        .filter(|field| !field.split_once('=').is_some_and(|(name, _)| LABELLED.contains(&name)))
        .map(|field| match field.split_once('=') {
            Some((name, value)) => {
                let bytes = size::parse(value).map_or_else(|_| value.to_owned(), |bytes| bytes.to_string());
                format!("{name}={bytes}")
            }
            None => field.to_owned(),
        })
        .collect();
    fields.sort();
    fields
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
pub(super) fn interleaved(baseline: &Document, this: &Document) -> bool {
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

/// Positions of usable samples of two cells that were taken in the same round; none if a round has several.
pub(super) fn rounds(baseline: &Cell, this: &Cell) -> Vec<(usize, usize)> {
    let by_round = |cell: &Cell| {
        let mut places: BTreeMap<u32, usize> = BTreeMap::new();
        for (place, sample) in cell.samples.iter().filter(|sample| sample.usable()).enumerate() {
            if places.insert(sample.round, place).is_some() {
                return None;
            }
        }
        Some(places)
    };
    let (Some(before), Some(now)) = (by_round(baseline), by_round(this)) else { return Vec::new() };
    before.iter().filter_map(|(round, &place)| Some((place, *now.get(round)?))).collect()
}
