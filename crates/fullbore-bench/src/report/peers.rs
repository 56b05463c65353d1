//! Our cells beside those of other programs: a table of the ratios, and what they come to.

use std::collections::BTreeMap;

use super::data_table::Titled;
use super::markup::{NOTHING, Table, figures, words};
use super::verdict::against;
use crate::document::{Document, Experiment, PeerRatio};
use crate::stats::Verdict;
use crate::units;

fn of<'a>(document: &'a Document, experiment: &Experiment) -> Vec<&'a PeerRatio> {
    let here = |found: &&PeerRatio| {
        document.cell(&found.cell).is_some_and(|cell| cell.experiment == experiment.name)
    };
    document.findings.peers.iter().filter(here).collect()
}

/// The ratios of a chapter, a row for each of our cells that a peer did, too.
pub(super) fn table(document: &Document, experiment: &Experiment) -> Titled {
    let columns = [
        words("cell"),
        words("program"),
        figures("rate"),
        figures("95% interval"),
        words("ours is"),
        figures("p50"),
        figures("p99"),
        figures("processor time"),
        words("to be known"),
    ];
    let found = of(document, experiment);
    // Names are of all cells at once, and most chapters have no peer.
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
            format!("{:.2} to {:.2}", rate.low, rate.high),
            found.rate.verdict.to_string(),
            ratio(found.p50),
            ratio(found.p99),
            ratio(found.cpu_per_request.or(found.cpu_per_mb)),
            found.note.clone().unwrap_or_default(),
        ]
    };
    let rows = found.iter().map(row).collect();
    ("Beside other programs: ours ÷ theirs", Table::new(columns, rows).without_empty_columns())
}

/// A sentence a program: how ours stands to it, and in how many cells that is beyond doubt.
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
            return format!("Beside {program}: {}.", against(only, "it"));
        }
        let count = |verdict| rates.iter().filter(|rate| rate.verdict == verdict).count();
        let values = || rates.iter().map(|rate| rate.ratio.value);
        format!(
            "Beside {program} in {}: {} to {} times its rate; faster beyond doubt in {}, slower in {}.",
            units::count(rates.len(), "cell"),
            units::significant(values().fold(f64::INFINITY, f64::min)),
            units::significant(values().fold(f64::NEG_INFINITY, f64::max)),
            count(Verdict::Faster),
            count(Verdict::Slower)
        )
    };
    programs.into_iter().map(sentence).collect()
}
