//! The comparison of documents: pairs of cells, their changes, and the conditions that they meet.

use std::collections::{BTreeMap, BTreeSet};

use super::cell::{self, CellChange};
use super::change::Judgement;
use super::compared_run::{ComparedRun, Origin, Unmatched, VerdictCounts};
use super::condition_result::ConditionResult;
use super::difference::{Difference, Differences};
use super::environment::differences;
use super::error::Error;
use super::options::{Options, Source};
use super::pairs;
use super::text::shown;
use crate::document::Cell;

/// The whole comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The baseline.
    pub baseline: Origin,
    /// The margin of equivalence, a share.
    pub margin: f64,
    /// The confidence of intervals, a share.
    pub confidence: f64,
    /// The documents compared, in the caller's order.
    pub others: Vec<ComparedRun>,
    /// The conditions given, and the cells that meet them.
    pub conditions: Vec<ConditionResult>,
}

impl Comparison {
    /// True if a condition is met.
    pub fn fails(&self) -> bool {
        self.conditions.iter().any(|met| !met.cells.is_empty())
    }
}

/// Compares each of `others` with `baseline`.
///
/// # Errors
/// If the environments differ in an aspect that `options.across` does not name, or if there is nothing to compare.
pub fn compare(baseline: Source<'_>, others: &[Source<'_>], options: &Options) -> Result<Comparison, Error> {
    for source in std::iter::once(&baseline).chain(others) {
        check_comparable(source)?;
    }
    for pattern in &options.only {
        let all = std::iter::once(&baseline).chain(others).flat_map(|source| &source.document.cells);
        if !all.clone().any(|cell| pattern.matches(&cell.id)) {
            let example = all.map(|cell| shown(&cell.id)).next().unwrap_or_default();
            return Err(Error::NoMatch { pattern: shown(&pattern.to_string()), example });
        }
    }
    let found: Vec<Differences> =
        others.iter().map(|other| differences(baseline.document, other.document)).collect();
    let refused: Vec<_> = others
        .iter()
        .zip(&found)
        .map(|(other, found)| {
            let allowed = |difference: &&Difference| !options.across.contains(&difference.aspect);
            let differences = found.differences.iter().filter(allowed).cloned().collect::<Vec<_>>();
            (shown(other.name), differences)
        })
        .filter(|(_, differences)| !differences.is_empty())
        .collect();
    if !refused.is_empty() {
        return Err(Error::Differ { documents: refused });
    }
    let others = others
        .iter()
        .zip(found)
        .map(|(other, found)| compare_run(&baseline, other, found, options))
        .collect::<Result<Vec<_>, _>>()?;
    let confidence = options.bootstrap.confidence;
    let conditions = options
        .conditions
        .iter()
        .map(|condition| ConditionResult::of(condition, &others, confidence))
        .collect();
    Ok(Comparison { baseline: Origin::of(&baseline), margin: options.margin, confidence, others, conditions })
}

/// Checks that a document can be compared.
fn check_comparable(source: &Source<'_>) -> Result<(), Error> {
    let cells = &source.document.cells;
    if cells.is_empty() {
        return Err(Error::NoCells { name: shown(source.name) });
    }
    let mut ids = BTreeSet::new();
    match cells.iter().find(|cell| !ids.insert(&cell.id)) {
        Some(cell) => Err(Error::Twice { name: shown(source.name), id: shown(&cell.id) }),
        None => Ok(()),
    }
}

fn compare_run(
    baseline: &Source<'_>,
    other: &Source<'_>,
    found: Differences,
    options: &Options,
) -> Result<ComparedRun, Error> {
    let asked = |cell: &&Cell| options.only.is_empty() || options.only.iter().any(|o| o.matches(&cell.id));
    let before: Vec<&Cell> = baseline.document.cells.iter().filter(asked).collect();
    let now: Vec<&Cell> = other.document.cells.iter().filter(asked).collect();
    let pairs = pairs::cells(&before, &now);
    let interleaved = pairs::interleaved(baseline.document, other.document);
    let (names_before, names) = (baseline.document.cell_names(), other.document.cell_names());
    let mut cells = Vec::new();
    let (mut missing, mut added) = (Vec::new(), Vec::new());
    let unmatched = |cell: &Cell, names: &BTreeMap<String, String>, reason: String| Unmatched {
        id: cell.id.clone(),
        name: shown(names.get(&cell.id).unwrap_or(&cell.id)),
        reason,
    };
    for &(a, b, matched) in &pairs {
        let (a, b) = (before[a], now[b]);
        let name = shown(names.get(&b.id).unwrap_or(&b.id));
        match (cell::measured(a), cell::measured(b)) {
            (Ok(()), Ok(())) => {
                cells.extend(CellChange::of(a, b, name, matched, interleaved, options));
            }
            (Ok(()), Err(reason)) => missing.push(unmatched(a, &names_before, reason)),
            (Err(reason), Ok(())) => added.push(unmatched(b, &names, reason)),
            (Err(_), Err(_)) => {}
        }
    }
    for (at, cell) in before.iter().enumerate() {
        if cell::measured(cell).is_ok() && !pairs.iter().any(|pair| pair.0 == at) {
            missing.push(unmatched(cell, &names_before, "no such cell".into()));
        }
    }
    for (at, cell) in now.iter().enumerate() {
        if cell::measured(cell).is_ok() && !pairs.iter().any(|pair| pair.1 == at) {
            added.push(unmatched(cell, &names, "no such cell".into()));
        }
    }
    if cells.is_empty() {
        let example = |cells: &[&Cell]| match cells.first() {
            Some(cell) => shown(&cell.id),
            None => "none selected".into(),
        };
        let examples = [example(&before), example(&now)];
        return Err(Error::NothingInCommon { name: shown(other.name), examples });
    }
    cell::correct(&mut cells);
    cells.sort_by(|x, y| {
        let order = |cell: &CellChange| (cell.rate.judgement, cell.rate.ratio.value);
        let ((x, rx), (y, ry)) = (order(x), order(y));
        x.cmp(&y).then(rx.total_cmp(&ry))
    });
    let verdict_counts = count_verdicts(&cells, options.bootstrap.confidence);
    let mut notes = found.notes;
    if interleaved {
        notes.push("one process made both documents, interleaved: samples of one round are paired".into());
    }
    if same_samples(&before, &now) {
        notes.push("both documents contain the same samples: they are copies of one run".into());
    }
    notes.iter_mut().for_each(|note| *note = shown(note));
    let origin = Origin::of(other);
    Ok(ComparedRun { origin, differences: found.differences, notes, cells, missing, added, verdict_counts })
}

fn same_samples(before: &[&Cell], now: &[&Cell]) -> bool {
    before.len() == now.len() && before.iter().zip(now).all(|(a, b)| a.id == b.id && a.samples == b.samples)
}

fn count_verdicts(cells: &[CellChange], confidence: f64) -> VerdictCounts {
    let count = |judgement| cells.iter().filter(|cell| cell.rate.judgement == judgement).count();
    let judged = cells.iter().filter(|cell| cell.rate.p.is_some()).count();
    VerdictCounts {
        compared: cells.len(),
        slower: count(Judgement::Worse),
        unclear: count(Judgement::Unclear),
        same: count(Judgement::Same),
        faster: count(Judgement::Better),
        standing: cells.iter().filter(|cell| cell.rate.is_significant(confidence)).count(),
        by_chance: judged as f64 * (1.0 - confidence),
    }
}
