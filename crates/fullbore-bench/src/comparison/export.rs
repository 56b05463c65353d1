//! The comparison for programs, spreadsheets and scripts: JSON (`docs/report.md` describes the fields), and CSV with a row
//! per cell.

use std::io::Write;

use serde::Serialize;

use super::change::{Change, Measure};
use super::compare::Comparison;
use super::compared_run::{CellChange, ComparedRun, Unmatched};

/// The value of the `schema` field of a comparison as JSON.
pub const SCHEMA: &str = "fullbore.comparison";
/// The version of the JSON form.
pub const VERSION: u32 = 1;

/// Renders a comparison as JSON, indented by two spaces, with a final newline.
pub fn json(comparison: &Comparison) -> String {
    // Cannot fail: figures, texts and lists of them are always representable.
    format!("{}\n", serde_json::to_string_pretty(&Described::of(comparison)).unwrap_or_default())
}

/// A comparison with the description of its form.
#[derive(Serialize)]
pub(super) struct Described<'a> {
    schema: &'static str,
    version: u32,
    fullbore_version: &'static str,
    #[serde(flatten)]
    comparison: &'a Comparison,
    failed: bool,
}

impl<'a> Described<'a> {
    pub(super) fn of(comparison: &'a Comparison) -> Self {
        let fullbore_version = env!("CARGO_PKG_VERSION");
        Self { schema: SCHEMA, version: VERSION, fullbore_version, comparison, failed: comparison.fails() }
    }
}

/// The columns, in order. Ratios are this ÷ baseline; an empty field was not recorded or does not apply. `verdict` is
/// the verdict on the rate, or `missing` or `added` for a cell of one document only.
pub const COLUMNS: [&str; 35] = [
    "document",
    "cell",
    "baseline_cell",
    "experiment",
    "name",
    "verdict",
    "stands",
    "baseline_bytes_per_s",
    "bytes_per_s",
    "ratio",
    "ratio_low",
    "ratio_high",
    "paired",
    "baseline_samples",
    "samples",
    "p",
    "p_among_all",
    "cost_measure",
    "cost_verdict",
    "cost_stands",
    "baseline_cost_s",
    "cost_s",
    "cost_ratio",
    "cost_ratio_low",
    "cost_ratio_high",
    "cost_p_among_all",
    "latency_verdict",
    "latency_stands",
    "baseline_latency_p99_s",
    "latency_p99_s",
    "latency_ratio",
    "latency_ratio_low",
    "latency_ratio_high",
    "latency_p_among_all",
    "notes",
];

/// Writes the header and a row for each cell of each document: compared cells, the worst first, then cells of one
/// document only.
///
/// # Errors
/// Errors of the writer.
pub fn csv(comparison: &Comparison, writer: impl Write) -> std::io::Result<()> {
    let mut sheet = csv::Writer::from_writer(writer);
    sheet.write_record(COLUMNS).map_err(std::io::Error::other)?;
    for other in &comparison.others {
        for cell in &other.cells {
            sheet.write_record(compared(other, cell)).map_err(std::io::Error::other)?;
        }
        for (cells, verdict) in [(&other.missing, "missing"), (&other.added, "added")] {
            for cell in cells {
                sheet.write_record(unmatched(other, cell, verdict)).map_err(std::io::Error::other)?;
            }
        }
    }
    sheet.flush()
}

fn compared(other: &ComparedRun, cell: &CellChange) -> Vec<String> {
    let rate = &cell.rate;
    let measure = |change: &Change| match change.measure {
        Measure::CostPerRequest => "cost-per-request",
        _ => "cost-per-mb",
    };
    let mut row = vec![
        other.origin.name.clone(),
        cell.id.clone(),
        cell.baseline_id.clone(),
        cell.experiment.clone(),
        cell.name.clone(),
        rate.verdict.to_owned(),
        rate.stands.to_string(),
        rate.baseline.to_string(),
        rate.this.to_string(),
        rate.ratio.value.to_string(),
        rate.ratio.low.to_string(),
        rate.ratio.high.to_string(),
        rate.paired.to_string(),
        rate.baseline_samples.to_string(),
        rate.samples.to_string(),
        optional(rate.p),
        optional(rate.p_among_all),
        cell.cost.as_ref().map(measure).unwrap_or_default().to_owned(),
    ];
    row.extend(change_columns(cell.cost.as_ref()));
    row.extend(change_columns(cell.latency.as_ref()));
    row.push(cell.notes.join("; "));
    row
}

fn change_columns(change: Option<&Change>) -> [String; 8] {
    let Some(change) = change else { return Default::default() };
    [
        change.verdict.to_owned(),
        change.stands.to_string(),
        change.baseline.to_string(),
        change.this.to_string(),
        change.ratio.value.to_string(),
        change.ratio.low.to_string(),
        change.ratio.high.to_string(),
        optional(change.p_among_all),
    ]
}

fn unmatched(other: &ComparedRun, cell: &Unmatched, verdict: &str) -> Vec<String> {
    let mut row = vec![String::new(); COLUMNS.len()];
    row[0].clone_from(&other.origin.name);
    row[if verdict == "missing" { 2 } else { 1 }].clone_from(&cell.id);
    row[4].clone_from(&cell.name);
    row[5] = verdict.to_owned();
    row[COLUMNS.len() - 1].clone_from(&cell.reason);
    row
}

fn optional(value: Option<f64>) -> String {
    value.map(|v| v.to_string()).unwrap_or_default()
}
