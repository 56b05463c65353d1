//! Ratios of fullbore's cells to those of other programs: a table and a sentence.

use std::collections::BTreeMap;

use super::phrases::against;
use crate::block::{NOTHING, Table, Titled, figures, words};
use crate::document::{Document, Experiment, PeerRatio};
use crate::stats::Verdict;
use crate::units;

fn of<'a>(document: &'a Document, experiment: &Experiment) -> Vec<&'a PeerRatio> {
    let here = |found: &&PeerRatio| {
        document.cell(&found.cell).is_some_and(|cell| cell.experiment == experiment.name)
    };
    document.findings.peers.iter().filter(here).collect()
}

/// The ratios of a chapter, one row per cell that a peer also ran.
pub(super) fn table(document: &Document, experiment: &Experiment) -> Titled {
    let columns = [
        words("cell"),
        words("program"),
        figures("rate"),
        figures("95% interval"),
        words("fullbore is"),
        figures("p50"),
        figures("p99"),
        figures("CPU time"),
        words("notes"),
    ];
    let found = of(document, experiment);
    // Names are computed for all cells at once, and most chapters have no peer.
    let names = if found.is_empty() { BTreeMap::new() } else { document.cell_names() };
    let ratio = |value: Option<f64>| value.map_or_else(|| NOTHING.into(), |value| format!("{value:.2}"));
    let row = |found: &&PeerRatio| {
        let name = names.get(&found.cell).unwrap_or(&found.cell);
        let name = name.strip_prefix(&format!("{}: ", experiment.name)).unwrap_or(name);
        let rate = found.rate.ratio;
        vec![
            name.to_owned(),
            found.peer.clone(),
            format!("{:.2}", rate.value),
            format!("{:.2}–{:.2}", rate.low, rate.high),
            found.rate.verdict.to_string(),
            ratio(found.p50),
            ratio(found.p99),
            ratio(found.cpu_per_request.or(found.cpu_per_mb)),
            found.note.clone().unwrap_or_default(),
        ]
    };
    let rows = found.iter().map(row).collect();
    ("Ratios: fullbore ÷ other programs", Table::new(columns, rows).without_empty_columns())
}

/// A sentence per program: the range of the ratios, and the number of significant differences.
pub(super) fn sentences(document: &Document, experiment: &Experiment) -> Vec<String> {
    let all = of(document, experiment);
    let mut programs: Vec<&str> = Vec::new();
    for found in &all {
        if !programs.contains(&found.peer.as_str()) {
            programs.push(&found.peer);
        }
    }
    let sentence = |program: &str| {
        let rates: Vec<_> =
            all.iter().filter(|found| found.peer == program).map(|found| found.rate).collect();
        if let [only] = rates.as_slice() {
            return format!("Compared with {program}: {}.", against(only, "its rate"));
        }
        let count = |verdict| rates.iter().filter(|rate| rate.verdict == verdict).count();
        let values = || rates.iter().map(|rate| rate.ratio.value);
        format!(
            "Compared with {program} in {}: {} to {} times its rate; significantly faster in {}, slower in {}.",
            units::count(rates.len(), "cell"),
            units::significant(values().fold(f64::INFINITY, f64::min)),
            units::significant(values().fold(f64::NEG_INFINITY, f64::max)),
            count(Verdict::Faster),
            count(Verdict::Slower)
        )
    };
    programs.into_iter().map(sentence).collect()
}
