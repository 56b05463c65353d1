//! Comparison of results documents: each cell with the same cell of a baseline, with a ratio, its interval and a verdict.
//!
//! Documents are compared only if no recorded difference of their environments could alone explain a difference in
//! speed, or if the caller allows the difference. Samples of a run contain its noise; the difference between two runs of
//! the same thing on the same machine (file layout, another guest, a warm drive) is in no interval: see `docs/report.md`.

mod cell;
mod change;
mod condition;
mod csv;
mod devices;
mod environment;
mod family;
mod glob;
mod html;
mod json;
mod markdown;
mod pairs;
mod svg;
mod table;
mod words;

use std::fmt;

use crate::document::{Cell, Document};
use crate::stats::{Bootstrap, DEFAULT_MARGIN};
use crate::units;

pub use cell::CellChange;
pub use change::{Change, FEWEST_SAMPLES, Judgement, Measure};
pub use condition::{Condition, ConditionResult, parse_share};
pub use csv::{COLUMNS, csv};
pub use environment::{Aspect, Difference, Differences, differences};
pub use glob::Glob;
pub use html::html;
pub use json::json;
pub use markdown::markdown;
pub use pairs::Matched;
pub use table::render;

/// The value of the `schema` field of a comparison as JSON.
pub const SCHEMA: &str = "fullbore.comparison";
/// The version of the JSON form.
pub const VERSION: u32 = 1;

/// A document with the name shown to users, such as its path.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The name.
    pub name: &'a str,
    /// The document.
    pub document: &'a Document,
}

/// Options of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Ratios within this share of 1 count as equal (0.03 is 3%).
    pub margin: f64,
    /// Parameters of the intervals.
    pub bootstrap: Bootstrap,
    /// Aspects in which the environments may differ.
    pub across: Vec<Aspect>,
    /// Patterns for the ids of the cells to compare; empty: all.
    pub only: Vec<Glob>,
    /// Conditions to fail on.
    pub conditions: Vec<Condition>,
}

impl Default for Options {
    /// All cells, 3%, 95% intervals, no difference allowed, no condition.
    fn default() -> Self {
        Self {
            margin: DEFAULT_MARGIN,
            bootstrap: Bootstrap::default(),
            across: Vec::new(),
            only: Vec::new(),
            conditions: Vec::new(),
        }
    }
}

/// The properties of a document that a comparison shows.
#[derive(Debug, Clone, PartialEq)]
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
    fn of(source: &Source<'_>) -> Self {
        let run = &source.document.run;
        Self {
            name: words::shown(source.name),
            started: run.started.clone(),
            fullbore_version: run.fullbore_version.clone(),
            directory: words::shown(&run.directory),
            file_system: source.document.environment.file_system.kind.clone(),
            file_bytes: run.file_bytes,
        }
    }
}

/// A cell measured in one of two documents only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmatched {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The reason why the other has no figure for it.
    pub reason: String,
}

/// Numbers of cells by verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct VerdictCounts {
    /// Cells compared.
    pub compared: usize,
    /// Of these by their rate: slower.
    pub slower: usize,
    /// Unclear.
    pub unclear: usize,
    /// No difference that matters.
    pub same: usize,
    /// Faster.
    pub faster: usize,
    /// Slower or faster among all comparisons made (Holm).
    pub standing: usize,
    /// Largest expected number of verdicts of slower or faster if nothing changed: the share that intervals miss, times
    /// the cells with enough samples for a verdict.
    pub by_chance: f64,
}

/// One document compared with the baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedRun {
    /// The document.
    pub origin: Origin,
    /// Differences of its environment; all of them are of an allowed aspect.
    pub differences: Vec<Difference>,
    /// Notes for the reader, a phrase each.
    pub notes: Vec<String>,
    /// The cells compared, the worst first.
    pub cells: Vec<CellChange>,
    /// Cells of the baseline without a figure here.
    pub missing: Vec<Unmatched>,
    /// Cells without a figure in the baseline.
    pub added: Vec<Unmatched>,
    /// Numbers of cells by verdict.
    pub verdict_counts: VerdictCounts,
}

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

/// The reason why documents were not compared.
#[derive(Debug, Clone, PartialEq)]
pub enum Error {
    /// The environments differ in an aspect that is not allowed.
    Differ {
        /// The differences of each document, by name.
        documents: Vec<(String, Vec<Difference>)>,
    },
    /// A document has no cells.
    NoCells {
        /// Its name.
        name: String,
    },
    /// A document has two cells with one id.
    Twice {
        /// Its name.
        name: String,
        /// The id.
        id: String,
    },
    /// No cell matches a pattern.
    NoMatch {
        /// The pattern that matches none.
        pattern: String,
        /// An id that exists.
        example: String,
    },
    /// No cell was measured in both.
    NothingInCommon {
        /// Name of the document.
        name: String,
        /// An id of the baseline, and one of the document.
        examples: [String; 2],
    },
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Differ { documents } => words::refusal(f, documents),
            Self::NoCells { name } => write!(f, "{name}: no cells to compare"),
            Self::Twice { name, id } => write!(f, "{name}: damaged: two cells have the id {id}"),
            Self::NoMatch { pattern, example } => {
                write!(f, "--only {pattern}: no cell matches; one of the ids is {example}")
            }
            Self::NothingInCommon { name, examples: [baseline, this] } => write!(
                f,
                "{name}: no measured cell in common with the baseline (baseline: {baseline}; this: {this})"
            ),
        }
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
            let example = all.map(|cell| words::shown(&cell.id)).next().unwrap_or_default();
            return Err(Error::NoMatch { pattern: words::shown(&pattern.to_string()), example });
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
            (words::shown(other.name), differences)
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
        return Err(Error::NoCells { name: words::shown(source.name) });
    }
    let mut ids = std::collections::BTreeSet::new();
    match cells.iter().find(|cell| !ids.insert(&cell.id)) {
        Some(cell) => Err(Error::Twice { name: words::shown(source.name), id: words::shown(&cell.id) }),
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
    let unmatched = |cell: &Cell, names: &std::collections::BTreeMap<String, String>, reason: String| {
        Unmatched { id: cell.id.clone(), name: words::shown(names.get(&cell.id).unwrap_or(&cell.id)), reason }
    };
    for &(a, b, matched) in &pairs {
        let (a, b) = (before[a], now[b]);
        let name = words::shown(names.get(&b.id).unwrap_or(&b.id));
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
            Some(cell) => words::shown(&cell.id),
            None => "none selected".into(),
        };
        let examples = [example(&before), example(&now)];
        return Err(Error::NothingInCommon { name: words::shown(other.name), examples });
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
    notes.iter_mut().for_each(|note| *note = words::shown(note));
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

impl VerdictCounts {
    /// The verdicts in a line: `3 slower, 2 unclear, 60 no different, 10 faster of 75 cells`.
    pub fn line(&self) -> String {
        format!(
            "{} slower, {} unclear, {} no different, {} faster of {}",
            self.slower,
            self.unclear,
            self.same,
            self.faster,
            units::count(self.compared, "cell")
        )
    }
}
