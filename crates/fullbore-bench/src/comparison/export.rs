//! The comparison for programs and spreadsheets: JSON (`docs/report.md` describes the fields), CSV with a row per cell.

use std::io::Write;

use serde::Serialize;

use super::change::Change;
use super::compare::RunComparison;
use super::compared_run::{CellChange, ComparedRun};
use crate::document::word;

/// The value of the `schema` field of a comparison as JSON.
pub const SCHEMA: &str = "fullbore.comparison";
/// The version of the JSON form.
pub const VERSION: u32 = 1;

/// Renders a comparison as JSON, indented by two spaces, with a final newline.
pub fn json(comparison: &RunComparison) -> String {
    // Cannot fail: figures, texts and lists of them are always representable.
    format!("{}\n", serde_json::to_string_pretty(&Described::of(comparison)).unwrap_or_default())
}

#[derive(Serialize)]
pub(super) struct Described<'a> {
    schema: &'static str,
    version: u32,
    fullbore_version: &'static str,
    #[serde(flatten)]
    comparison: &'a RunComparison,
    failed: bool,
}

impl<'a> Described<'a> {
    pub(super) fn of(comparison: &'a RunComparison) -> Self {
        let fullbore_version = env!("CARGO_PKG_VERSION");
        Self { schema: SCHEMA, version: VERSION, fullbore_version, comparison, failed: comparison.fails() }
    }
}

/// A column of the CSV form: its name, and its value for a compared cell.
pub type Column = (&'static str, fn(&ComparedRun, &CellChange) -> String);

/// The columns, in order. Ratios are this ÷ baseline; an empty field was not recorded or does not apply. `verdict` is
/// the verdict on the rate, or `missing` or `added` for a cell of one document only.
pub const COLUMNS: [Column; 35] = [
    ("document", |other, _| other.origin.name.clone()),
    ("cell", |_, cell| cell.id.clone()),
    ("baseline_cell", |_, cell| cell.baseline_id.clone()),
    ("experiment", |_, cell| cell.experiment.clone()),
    ("name", |_, cell| cell.name.clone()),
    ("verdict", |_, cell| cell.rate.verdict.to_owned()),
    ("stands", |_, cell| cell.rate.stands.to_string()),
    ("baseline_bytes_per_s", |_, cell| cell.rate.baseline.to_string()),
    ("bytes_per_s", |_, cell| cell.rate.this.to_string()),
    ("ratio", |_, cell| cell.rate.ratio.value.to_string()),
    ("ratio_low", |_, cell| end(&cell.rate, cell.rate.ratio.low)),
    ("ratio_high", |_, cell| end(&cell.rate, cell.rate.ratio.high)),
    ("paired", |_, cell| cell.rate.paired.to_string()),
    ("baseline_samples", |_, cell| cell.rate.baseline_samples.to_string()),
    ("samples", |_, cell| cell.rate.samples.to_string()),
    ("p", |_, cell| optional(cell.rate.p)),
    ("p_among_all", |_, cell| optional(cell.rate.p_among_all)),
    ("cost_measure", |_, cell| of(&cell.cost, |cost| word(cost.measure))),
    ("cost_verdict", |_, cell| of(&cell.cost, |cost| cost.verdict.to_owned())),
    ("cost_stands", |_, cell| of(&cell.cost, |cost| cost.stands.to_string())),
    ("baseline_cost_s", |_, cell| of(&cell.cost, |cost| cost.baseline.to_string())),
    ("cost_s", |_, cell| of(&cell.cost, |cost| cost.this.to_string())),
    ("cost_ratio", |_, cell| of(&cell.cost, |cost| cost.ratio.value.to_string())),
    ("cost_ratio_low", |_, cell| of(&cell.cost, |cost| end(cost, cost.ratio.low))),
    ("cost_ratio_high", |_, cell| of(&cell.cost, |cost| end(cost, cost.ratio.high))),
    ("cost_p_among_all", |_, cell| of(&cell.cost, |cost| optional(cost.p_among_all))),
    ("latency_verdict", |_, cell| of(&cell.latency, |latency| latency.verdict.to_owned())),
    ("latency_stands", |_, cell| of(&cell.latency, |latency| latency.stands.to_string())),
    ("baseline_latency_p99_s", |_, cell| of(&cell.latency, |latency| latency.baseline.to_string())),
    ("latency_p99_s", |_, cell| of(&cell.latency, |latency| latency.this.to_string())),
    ("latency_ratio", |_, cell| of(&cell.latency, |latency| latency.ratio.value.to_string())),
    ("latency_ratio_low", |_, cell| of(&cell.latency, |latency| end(latency, latency.ratio.low))),
    ("latency_ratio_high", |_, cell| of(&cell.latency, |latency| end(latency, latency.ratio.high))),
    ("latency_p_among_all", |_, cell| of(&cell.latency, |latency| optional(latency.p_among_all))),
    ("notes", |_, cell| cell.notes.join("; ")),
];

/// Writes the header and a row for each cell of each document: compared cells, the worst first, then cells of one
/// document only.
///
/// # Errors
/// Errors of the writer.
pub fn csv(comparison: &RunComparison, writer: impl Write) -> std::io::Result<()> {
    let mut sheet = csv::Writer::from_writer(writer);
    sheet.write_record(COLUMNS.map(|column| column.0))?;
    for other in &comparison.others {
        for cell in &other.cells {
            sheet.write_record(COLUMNS.map(|column| column.1(other, cell)))?;
        }
        for (cells, verdict) in [(&other.missing, "missing"), (&other.added, "added")] {
            let id = if verdict == "missing" { "baseline_cell" } else { "cell" };
            for cell in cells {
                sheet.write_record(COLUMNS.map(|(column, _)| match column {
                    "document" => &other.origin.name,
                    "name" => &cell.name,
                    "verdict" => verdict,
                    "notes" => &cell.reason,
                    column if column == id => &cell.id,
                    _ => "",
                }))?;
            }
        }
    }
    sheet.flush()
}

fn of(change: &Option<Change>, value: fn(&Change) -> String) -> String {
    change.as_ref().map(value).unwrap_or_default()
}

/// An end of the interval of a ratio, which that of two single samples does not have.
fn end(change: &Change, end: f64) -> String {
    if change.baseline_samples == 1 && change.samples == 1 { String::new() } else { end.to_string() }
}

fn optional(value: Option<f64>) -> String {
    value.map(|v| v.to_string()).unwrap_or_default()
}
