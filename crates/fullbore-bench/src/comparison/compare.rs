//! The comparison of documents: pairs of cells, their changes, and the conditions that they meet.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

use super::change::{Change, Judgement, Measure, holm};
use super::compared_run::{
    CellChange, ComparedRun, Matched, Origin, Unmatched, VerdictCounts, are_interleaved, correct,
    match_cells, measured, same_regime,
};
use super::difference::{Difference, Differences, Error, shown};
use super::environment::differences;
use super::options::{Condition, Options, Source};
use crate::document::Cell;
use crate::units;

/// The whole comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunComparison {
    /// The margin of equivalence, a share.
    pub margin: f64,
    /// The confidence of intervals, a share.
    pub confidence: f64,
    /// The baseline.
    pub baseline: Origin,
    /// The documents compared, in the caller's order.
    pub others: Vec<ComparedRun>,
    /// The conditions given, and the cells that meet them.
    pub conditions: Vec<ConditionResult>,
}

impl RunComparison {
    /// True if a condition is met.
    pub fn fails(&self) -> bool {
        self.conditions.iter().any(|condition| condition.met)
    }
}

/// Compares each of `others` with `baseline`.
///
/// # Errors
/// If the environments differ in an aspect that `options.across` does not name, or if there is nothing to compare.
pub fn compare(
    baseline: Source<'_>,
    others: &[Source<'_>],
    options: &Options,
) -> Result<RunComparison, Error> {
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
    Ok(RunComparison {
        baseline: Origin::of(&baseline),
        margin: options.margin,
        confidence,
        others,
        conditions,
    })
}

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
    let selected = |cell: &&Cell| options.only.is_empty() || options.only.iter().any(|o| o.matches(&cell.id));
    let before: Vec<&Cell> = baseline.document.cells.iter().filter(selected).collect();
    let now: Vec<&Cell> = other.document.cells.iter().filter(selected).collect();
    let pairs = match_cells(&before, &now);
    let interleaved = are_interleaved(baseline.document, other.document);
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
        match (measured(a), measured(b).and_then(|()| same_regime(a, b))) {
            (Ok(()), Ok(())) => match CellChange::of(a, b, name, matched, interleaved, options) {
                Some(change) => cells.push(change),
                None => missing.push(unmatched(a, &names_before, "no rates that can be compared".into())),
            },
            (Ok(()), Err(reason)) => missing.push(unmatched(a, &names_before, reason)),
            (Err(reason), Ok(())) => added.push(unmatched(b, &names, reason)),
            (Err(_), Err(_)) => {}
        }
    }
    let alone = |cells: &[&Cell], names, place: fn(&(usize, usize, Matched)) -> usize| {
        let paired: BTreeSet<usize> = pairs.iter().map(place).collect();
        let cells = (0..cells.len())
            .filter(|at| !paired.contains(at))
            .map(|at| cells[at])
            .filter(|c| measured(c).is_ok());
        cells.map(|cell| unmatched(cell, names, "no such cell".into())).collect::<Vec<_>>()
    };
    missing.extend(alone(&before, &names_before, |pair| pair.0));
    added.extend(alone(&now, &names, |pair| pair.1));
    if cells.is_empty() {
        let example =
            |cells: &[&Cell]| cells.first().map_or_else(|| "none selected".into(), |cell| shown(&cell.id));
        let examples = [example(&before), example(&now)];
        return Err(Error::NothingInCommon { name: shown(other.name), examples });
    }
    correct(&mut cells, options.bootstrap.confidence);
    cells.sort_by(|x, y| {
        let order = |cell: &CellChange| (cell.rate.judgement, cell.rate.ratio.value);
        let ((x, rx), (y, ry)) = (order(x), order(y));
        x.cmp(&y).then(rx.total_cmp(&ry))
    });
    let count = |judgement| cells.iter().filter(|cell| cell.rate.judgement == judgement).count();
    let judged = cells.iter().filter(|cell| cell.rate.p.is_some()).count();
    let verdict_counts = VerdictCounts {
        compared: cells.len(),
        slower: count(Judgement::Worse),
        unclear: count(Judgement::Unclear),
        same: count(Judgement::Same),
        faster: count(Judgement::Better),
        standing: cells.iter().filter(|cell| cell.rate.stands).count(),
        by_chance: judged as f64 * (1.0 - options.bootstrap.confidence),
        missing: missing.len(),
        added: added.len(),
    };
    let mut notes = found.notes;
    if interleaved {
        notes.push("one process made both documents, interleaved: samples of one round are paired".into());
    }
    let same = |(a, b): (&&Cell, &&Cell)| a.id == b.id && a.samples == b.samples;
    if before.len() == now.len() && before.iter().zip(&now).all(same) {
        notes.push("both documents contain the same samples: they are copies of one run".into());
    }
    notes.iter_mut().for_each(|note| *note = shown(note));
    let origin = Origin::of(other);
    Ok(ComparedRun { origin, differences: found.differences, notes, cells, missing, added, verdict_counts })
}

/// A cell that meets a condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MatchingCell {
    /// Name of the document.
    pub document: String,
    /// Id of the cell, in the baseline if it is missing here.
    pub id: String,
    /// The name of the cell.
    pub name: String,
}

/// A condition and the cells that meet it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConditionResult {
    /// The condition.
    pub condition: Condition,
    /// True if a cell meets it.
    pub met: bool,
    /// Number of cells tested for it.
    pub tested: usize,
    /// Number of cells that meet it by their own interval, but not among all cells compared.
    #[serde(rename = "by_their_interval_alone")]
    pub alone: usize,
    /// The cells that meet it.
    pub cells: Vec<MatchingCell>,
}

impl fmt::Display for ConditionResult {
    /// Writes the number of cells that meet the condition, and the first of them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cells = units::count(self.tested, "cell");
        let alone = match self.alone {
            0 => String::new(),
            n => format!("; {n} more by the cell's own interval, but not among {cells} (Holm)"),
        };
        let condition = self.condition;
        let mut names: Vec<String> = self.cells.iter().take(3).map(|cell| cell.name.clone()).collect();
        match self.cells.len() {
            0 => write!(f, "--fail-on {condition}: not met by any of {cells}{alone}"),
            n => {
                if n > names.len() {
                    names.push(format!("and {} more", n - names.len()));
                }
                write!(f, "--fail-on {condition}: met by {n} of {cells}: {}{alone}", names.join("; "))
            }
        }
    }
}

impl ConditionResult {
    /// Determines the cells that meet `condition`.
    ///
    /// A change counts if the whole interval lies beyond the share, and if it still does among all comparisons: Holm's
    /// correction over the tests of "by no more than the share", one-sided, at half of what the intervals miss. So
    /// whatever the number of cells, a comparison in which nothing changed by more fails in at most 2.5% of cases.
    pub(super) fn of(condition: &Condition, others: &[ComparedRun], confidence: f64) -> Self {
        let (met, tested, alone, cells) = Default::default();
        let mut result = Self { condition: *condition, met, tested, alone, cells };
        let cell = |other: &ComparedRun, id: &str, name: &str| MatchingCell {
            document: other.origin.name.clone(),
            id: id.to_owned(),
            name: name.to_owned(),
        };
        match condition {
            Condition::Missing => {
                for other in others {
                    result
                        .cells
                        .extend(other.missing.iter().map(|alone| cell(other, &alone.id, &alone.name)));
                    result.tested += other.missing.len() + other.cells.len();
                }
            }
            Condition::Unclear => {
                for other in others {
                    let unclear = other.cells.iter().filter(|c| c.rate.judgement == Judgement::Unclear);
                    result.cells.extend(unclear.map(|c| cell(other, &c.id, &c.name)));
                    result.tested += other.cells.len();
                }
            }
            &Condition::Changed { measure, judgement, share } => {
                result.changed((measure, judgement), share, others, confidence, cell);
            }
        }
        result.met = !result.cells.is_empty();
        result
    }

    fn changed(
        &mut self,
        (measure, judgement): (Measure, Judgement),
        share: f64,
        others: &[ComparedRun],
        confidence: f64,
        cell: impl Fn(&ComparedRun, &str, &str) -> MatchingCell,
    ) {
        let of = |c: &CellChange| -> Option<Change> {
            match measure {
                Measure::Rate => Some(c.rate.clone()),
                Measure::CostPerMb | Measure::CostPerRequest => c.cost.clone(),
                Measure::LatencyP99 => c.latency.clone(),
            }
        };
        let candidates: Vec<_> = others
            .iter()
            .flat_map(|other| other.cells.iter().map(move |c| (other, c)))
            .filter_map(|(other, c)| {
                let change = of(c).filter(Change::has_intervals)?;
                let test = change.test?;
                let p = match judgement.falls(measure) {
                    true => test.p_of_at_least(1.0 - share),
                    false => test.p_of_at_most(1.0 + share),
                };
                Some((other, c, change, p))
            })
            .collect();
        self.tested = candidates.len();
        let adjusted = holm(&candidates.iter().map(|candidate| candidate.3).collect::<Vec<_>>());
        for ((other, c, change, _), p) in candidates.iter().zip(adjusted) {
            let beyond = change.is_beyond(judgement, share);
            if beyond && p <= (1.0 - confidence) / 2.0 {
                self.cells.push(cell(other, &c.id, &c.name));
            } else if beyond {
                self.alone += 1;
            }
        }
    }
}
