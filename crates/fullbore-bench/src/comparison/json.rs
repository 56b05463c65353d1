//! The comparison as JSON, for programs: `docs/report.md` describes the fields.

use serde::Serialize;

use super::cell::CellChange;
use super::change::{Change, Measure};
use super::compare::Comparison;
use super::compared_run::{ComparedRun, Origin, Unmatched, VerdictCounts};
use super::condition_result::MatchingCell;
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
        baseline: &comparison.baseline,
        others: comparison.others.iter().map(|other| self::other(other, comparison.confidence)).collect(),
        conditions: comparison
            .conditions
            .iter()
            .map(|met| ConditionJson {
                condition: met.condition.to_string(),
                met: !met.cells.is_empty(),
                tested: met.tested,
                by_their_interval_alone: met.alone,
                cells: &met.cells,
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
    baseline: &'a Origin,
    others: Vec<ComparedRunJson<'a>>,
    conditions: Vec<ConditionJson<'a>>,
    failed: bool,
}

#[derive(Serialize)]
struct ComparedRunJson<'a> {
    document: &'a Origin,
    summary: SummaryJson,
    differences: &'a [Difference],
    notes: &'a [String],
    cells: Vec<CellJson<'a>>,
    missing: &'a [Unmatched],
    added: &'a [Unmatched],
}

#[derive(Serialize)]
struct SummaryJson {
    #[serde(flatten)]
    verdict_counts: VerdictCounts,
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
struct ConditionJson<'a> {
    condition: String,
    met: bool,
    tested: usize,
    by_their_interval_alone: usize,
    cells: &'a [MatchingCell],
}

fn other(other: &ComparedRun, confidence: f64) -> ComparedRunJson<'_> {
    ComparedRunJson {
        document: &other.origin,
        summary: SummaryJson {
            verdict_counts: other.verdict_counts,
            missing: other.missing.len(),
            added: other.added.len(),
        },
        differences: &other.differences,
        notes: &other.notes,
        cells: other.cells.iter().map(|cell| self::cell(cell, confidence)).collect(),
        missing: &other.missing,
        added: &other.added,
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
