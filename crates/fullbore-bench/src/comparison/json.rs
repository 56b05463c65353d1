//! The comparison as JSON, for programs: `docs/report.md` describes the fields.

use serde::Serialize;

use super::cell::CellChange;
use super::change::{Change, Measure};
use super::compare::Comparison;
use super::compared_run::{ComparedRun, Origin, Unmatched};
use super::difference::Difference;
use super::pairs::Matched;
use crate::document::Labels;
use crate::stats::Estimate;

/// The value of the `schema` field of a comparison as JSON.
pub const SCHEMA: &str = "fullbore.comparison";
/// The version of the JSON form.
pub const VERSION: u32 = 1;

/// Renders a comparison as JSON, indented by two spaces, with a final newline.
pub fn json(comparison: &Comparison) -> String {
    let whole = comparison_json(comparison);
    let text = serde_json::to_string_pretty(&whole);
    // Cannot fail: figures, texts and lists of them are always representable.
    format!("{}\n", text.unwrap_or_default())
}

/// The serialisable form, for other writers.
pub(super) fn comparison_json(comparison: &Comparison) -> impl Serialize + '_ {
    ComparisonJson {
        schema: SCHEMA,
        version: VERSION,
        fullbore_version: env!("CARGO_PKG_VERSION"),
        margin: comparison.margin,
        confidence: comparison.confidence,
        baseline: document(&comparison.baseline),
        others: comparison.others.iter().map(|other| self::other(other, comparison.confidence)).collect(),
        conditions: comparison
            .conditions
            .iter()
            .map(|met| ConditionJson {
                condition: met.condition.to_string(),
                met: !met.cells.is_empty(),
                tested: met.tested,
                by_their_interval_alone: met.alone,
                cells: met
                    .cells
                    .iter()
                    .map(|cell| MatchingCellJson { document: &cell.document, id: &cell.id, name: &cell.name })
                    .collect(),
            })
            .collect(),
        failed: comparison.fails(),
    }
}

#[derive(Serialize)]
struct ComparisonJson<'a> {
    schema: &'static str,
    version: u32,
    fullbore_version: &'static str,
    margin: f64,
    confidence: f64,
    baseline: DocumentJson<'a>,
    others: Vec<ComparedRunJson<'a>>,
    conditions: Vec<ConditionJson<'a>>,
    failed: bool,
}

#[derive(Serialize)]
struct DocumentJson<'a> {
    name: &'a str,
    started: &'a str,
    fullbore_version: &'a str,
    directory: &'a str,
    file_system: &'a str,
    file_bytes: u64,
}

#[derive(Serialize)]
struct ComparedRunJson<'a> {
    document: DocumentJson<'a>,
    summary: SummaryJson,
    differences: &'a [Difference],
    notes: &'a [String],
    cells: Vec<CellJson<'a>>,
    missing: Vec<UnmatchedJson<'a>>,
    added: Vec<UnmatchedJson<'a>>,
}

#[derive(Serialize)]
struct SummaryJson {
    compared: usize,
    slower: usize,
    unclear: usize,
    no_difference_that_matters: usize,
    faster: usize,
    standing: usize,
    by_chance_at_most: f64,
    missing: usize,
    added: usize,
}

#[derive(Serialize)]
struct CellJson<'a> {
    id: &'a str,
    baseline_id: &'a str,
    matched: Matched,
    name: &'a str,
    experiment: &'a str,
    labels: &'a Labels,
    rate: ChangeJson,
    cost: Option<ChangeJson>,
    latency: Option<ChangeJson>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct ChangeJson {
    measure: Measure,
    baseline: f64,
    this: f64,
    baseline_samples: usize,
    samples: usize,
    paired: bool,
    ratio: Estimate,
    verdict: &'static str,
    stands: bool,
    p: Option<f64>,
    p_among_all: Option<f64>,
}

#[derive(Serialize)]
struct UnmatchedJson<'a> {
    id: &'a str,
    name: &'a str,
    reason: &'a str,
}

#[derive(Serialize)]
struct ConditionJson<'a> {
    condition: String,
    met: bool,
    tested: usize,
    by_their_interval_alone: usize,
    cells: Vec<MatchingCellJson<'a>>,
}

#[derive(Serialize)]
struct MatchingCellJson<'a> {
    document: &'a str,
    id: &'a str,
    name: &'a str,
}

fn document(origin: &Origin) -> DocumentJson<'_> {
    DocumentJson {
        name: &origin.name,
        started: &origin.started,
        fullbore_version: &origin.fullbore_version,
        directory: &origin.directory,
        file_system: &origin.file_system,
        file_bytes: origin.file_bytes,
    }
}

fn other(other: &ComparedRun, confidence: f64) -> ComparedRunJson<'_> {
    let verdict_counts = &other.verdict_counts;
    ComparedRunJson {
        document: document(&other.origin),
        summary: SummaryJson {
            compared: verdict_counts.compared,
            slower: verdict_counts.slower,
            unclear: verdict_counts.unclear,
            no_difference_that_matters: verdict_counts.same,
            faster: verdict_counts.faster,
            standing: verdict_counts.standing,
            by_chance_at_most: verdict_counts.by_chance,
            missing: other.missing.len(),
            added: other.added.len(),
        },
        differences: &other.differences,
        notes: &other.notes,
        cells: other.cells.iter().map(|cell| self::cell(cell, confidence)).collect(),
        missing: other.missing.iter().map(unmatched_json).collect(),
        added: other.added.iter().map(unmatched_json).collect(),
    }
}

fn cell(cell: &CellChange, confidence: f64) -> CellJson<'_> {
    CellJson {
        id: &cell.id,
        baseline_id: cell.baseline_id.as_deref().unwrap_or(&cell.id),
        matched: cell.matched,
        name: &cell.name,
        experiment: &cell.experiment,
        labels: &cell.labels,
        rate: measured(&cell.rate, confidence),
        cost: cell.cost.as_ref().map(|change| measured(change, confidence)),
        latency: cell.latency.as_ref().map(|change| measured(change, confidence)),
        notes: &cell.notes,
    }
}

fn measured(change: &Change, confidence: f64) -> ChangeJson {
    ChangeJson {
        measure: change.measure,
        baseline: change.baseline,
        this: change.this,
        baseline_samples: change.samples[0],
        samples: change.samples[1],
        paired: change.paired,
        ratio: change.ratio,
        verdict: change.word(),
        stands: change.is_significant(confidence),
        p: change.p,
        p_among_all: change.p_among_all,
    }
}

fn unmatched_json(alone: &Unmatched) -> UnmatchedJson<'_> {
    UnmatchedJson { id: &alone.id, name: &alone.name, reason: &alone.reason }
}
