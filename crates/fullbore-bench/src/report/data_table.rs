//! The table under a chart: every figure that it draws, and those beside them.

use super::markup::{Column, figures, table, words};
use crate::document::{Axis, Cell, CpuCost, Document, Summary};
use crate::units;

/// The table under a chart: a row for each of `cells` (name of the path, position in the document), of processor
/// `cost` or of rates.
pub(super) fn rows(document: &Document, cells: &[(String, usize)], cost: bool, axis: Option<Axis>) -> String {
    let mut columns: Vec<Column> = vec![words("path")];
    match axis {
        Some(Axis::Request) => columns.push(figures("request")),
        Some(Axis::Depth) => columns.push(figures("depth")),
        _ => {}
    }
    if cost {
        columns.extend(["busy", "µs/req", "user", "system", "uncharged"].map(figures));
        columns.extend(["ms/MB", "user", "system", "uncharged"].map(figures));
    } else {
        columns.extend(
            ["rate", "low", "high", "samples", "requests/s", "reached depth", "p50", "p99"].map(figures),
        );
    }
    columns.push(words("to be known"));
    let row = |(name, position): &(String, usize)| {
        let cell = &document.cells[*position];
        let summary = cell.summary.as_ref()?;
        let mut row = vec![name.clone()];
        row.extend(axis.and_then(|a| Some(a.text(a.of(&cell.labels)?))));
        row.extend(if cost { cost_columns(summary) } else { rate_columns(cell, summary) });
        row.push(summary.flags.join("; "));
        Some(row)
    };
    table("", &columns, &cells.iter().filter_map(row).collect::<Vec<_>>())
}

fn dash(value: Option<String>) -> String {
    value.unwrap_or_else(|| "–".into())
}

fn rate_columns(cell: &Cell, summary: &Summary) -> Vec<String> {
    let left_out =
        if summary.n == cell.samples.len() { String::new() } else { format!(" of {}", cell.samples.len()) };
    vec![
        units::rate(summary.rate.value),
        units::rate(summary.rate.low),
        units::rate(summary.rate.high),
        format!("{}{left_out}", summary.n),
        dash(summary.requests_per_s.map(units::requests_rate)),
        dash(summary.achieved_depth.map(units::significant)),
        dash(summary.latency.map(|l| units::seconds(l.p50_s))),
        dash(summary.latency.map(|l| units::seconds(l.p99_s))),
    ]
}

fn cost_columns(summary: &Summary) -> Vec<String> {
    let parts = |cost: Option<CpuCost>, factor: f64| {
        let each = |value: fn(&CpuCost) -> Option<f64>| {
            dash(cost.as_ref().and_then(value).map(|v| units::significant(v * factor)))
        };
        [
            each(|c| Some(c.charged.value)),
            each(|c| Some(c.user_s)),
            each(|c| Some(c.system_s)),
            each(|c| c.uncharged_s),
        ]
    };
    let mut columns = vec![dash(summary.processors.map(|p| units::significant(p.value)))];
    columns.extend(parts(summary.cpu_per_request, 1e6));
    columns.extend(parts(Some(summary.cpu_per_mb), 1e3));
    columns
}
