//! The tables of a chapter: the peak of each path, and every figure that the charts draw.

use super::figures::{cost_of, half_of};
use super::measure::{axis_words, between};
use super::phrases::{peak, spanned};
use super::prose::method_text;
use super::request_figures::{jain, parts, stream_rates};
use crate::block::{Column, NOTHING, Table, Titled, figures, words};
use crate::document::{Axis, Cell, CpuCost, Document, Experiment, Phases, Series, Summary};
use crate::stats::{Estimate, median};
use crate::units;

/// The tables of a chapter, without empty ones. If the first is of paths, it is the main one.
pub(super) fn tables(document: &Document, experiment: &Experiment, lines: &[Series]) -> Vec<Titled> {
    let mut tables = Vec::new();
    if experiment.axis != Axis::None && experiment.axis != Axis::Load {
        tables.push(("Peak of each path", paths(document, experiment, lines)));
    }
    tables.push(super::chapter_findings::credit_table(document, experiment));
    tables.push(super::chapter_findings::regret_table(document, experiment));
    tables.push(super::chapter_findings::peer_table(document, experiment));
    tables.push(super::chapter_findings::disk_table(document, experiment));
    tables.push(super::chapter_findings::request_time_table(document, experiment));
    let rates = [
        figures("rate"),
        figures("95% interval"),
        figures("samples"),
        words("within 3% (1997)"),
        figures("requests/s"),
        figures("reached depth"),
        figures("p50"),
        figures("p90"),
        figures("p99"),
        figures("p99.9"),
        figures("longest"),
        figures("fairness"),
        words("warnings"),
    ];
    tables.push(("Every cell: rates", cells(document, experiment, lines, &rates, rate_columns)));
    let costs =
        ["busy", "µs/request", "user", "system", "off-process", "ms/MB", "user", "system", "off-process"]
            .map(figures);
    let charged = |l: &Series| {
        let summary = |&c: &usize| document.cells[c].summary.as_ref();
        l.cells.iter().filter_map(summary).any(|s| s.cpu_per_mb.charged.value > 0.0)
    };
    if lines.iter().any(charged) {
        tables.push(("Every cell: CPU time", cells(document, experiment, lines, &costs, cost_columns)));
    }
    let phases = [
        "submit",
        "queue",
        "device",
        "complete",
        "requests submitted",
        "device requests",
        "merged",
        "split",
        "mean device request",
    ]
    .map(figures);
    let traced = |l: &Series| l.cells.iter().any(|&c| parts(&document.cells[c]).is_some());
    if lines.iter().any(traced) {
        tables.push((
            "Every cell: phases of a request",
            cells(document, experiment, lines, &phases, phase_columns),
        ));
    }
    tables.retain(|(_, table)| !table.rows.is_empty());
    tables
}

fn dash(value: Option<String>) -> String {
    value.unwrap_or_else(|| NOTHING.into())
}

/// One row per cell. Along an axis, the rows of a path are grouped under its name.
fn cells(
    document: &Document,
    experiment: &Experiment,
    lines: &[Series],
    columns: &[Column],
    row: fn(&Cell, &Summary) -> Vec<String>,
) -> Table {
    let axis = experiment.axis;
    let first = if axis == Axis::None { words("path") } else { words(axis_words(axis).heading) };
    let mut rows = Vec::new();
    for line in lines {
        if axis != Axis::None && lines.len() > 1 {
            rows.push(vec![line.name.clone()]);
        }
        for &c in &line.cells {
            let cell = &document.cells[c];
            let Some(summary) = &cell.summary else { continue };
            let name = axis.of(&cell.labels).map_or_else(|| line.name.clone(), |at| signed(axis, cell, at));
            rows.push(std::iter::once(name).chain(row(cell, summary)).collect());
        }
    }
    Table::new([&[first], columns].concat(), rows).without_empty_columns()
}

/// A position; an offset with its sign.
fn signed(axis: Axis, cell: &Cell, at: u64) -> String {
    match (axis, cell.labels.offset_bytes) {
        (Axis::Offset, Some(0)) => "aligned".into(),
        (Axis::Offset, Some(offset)) => format!("{}{}", if offset < 0 { "−" } else { "+" }, axis.text(at)),
        _ => axis.text(at),
    }
}

/// The interval, with the unit once if both ends share it.
fn interval(value: Estimate) -> String {
    let [low, high] = [value.low, value.high].map(units::rate);
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((bare, one)), Some((_, other))) if one == other => format!("{bare}–{high}"),
        _ => format!("{low} to {high}"),
    }
}

fn rate_columns(cell: &Cell, summary: &Summary) -> Vec<String> {
    let left_out =
        if summary.n == cell.samples.len() { String::new() } else { format!(" of {}", cell.samples.len()) };
    let late = |value: fn(&crate::document::Latency) -> f64| {
        dash(summary.latency.as_ref().map(value).filter(|v| *v > 0.0).map(units::seconds))
    };
    vec![
        units::rate(summary.rate.value),
        interval(summary.rate),
        format!("{}{left_out}", summary.n),
        dash(summary.repeatability.map(|found| {
            format!(
                "{}, {}",
                if found.is_repeatable() { "yes" } else { "no" },
                units::percent(found.deviation)
            )
        })),
        dash(summary.requests_per_s.map(units::requests_rate)),
        dash(summary.achieved_depth.map(units::significant)),
        late(|l| l.p50_s),
        late(|l| l.p90_s),
        late(|l| l.p99_s),
        late(|l| l.p999_s),
        late(|l| l.max_s),
        dash(jain(&stream_rates(cell)).map(|j| format!("{j:.3}"))),
        summary.flags.join("; "),
    ]
}

fn cost_columns(_: &Cell, summary: &Summary) -> Vec<String> {
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

fn phase_columns(cell: &Cell, _: &Summary) -> Vec<String> {
    let usable = || cell.samples.iter().filter(|s| s.usable());
    let each = |value: fn(&Phases) -> f64| {
        median(&usable().filter_map(|s| s.phases.as_ref().map(value)).collect::<Vec<_>>())
    };
    let count = |value: Option<f64>| dash(value.map(|v| format!("{v:.0}")));
    let times = parts(cell).map_or_else(
        || vec![NOTHING.to_owned(); 4],
        |parts| parts.iter().map(|p| dash(p.map(units::seconds))).collect(),
    );
    let asked = median(&usable().map(|s| s.requests as f64).collect::<Vec<_>>());
    let mut columns = times;
    columns.extend([
        count(asked),
        count(each(|p| p.device_requests as f64)),
        count(each(|p| p.merges as f64)),
        count(each(|p| p.splits as f64)),
        dash(each(|p| p.device_request_bytes).filter(|b| *b > 0.0).map(units::about_size)),
    ]);
    columns
}

/// The peak of every path: share of the roof, half-power point, fitted cost.
fn paths(document: &Document, experiment: &Experiment, lines: &[Series]) -> Table {
    let columns = [
        words("path"),
        figures("peak"),
        figures("±"),
        figures("of roof"),
        figures("half-power"),
        figures("crossing"),
        figures("µs/request"),
        figures("ms/MB"),
        figures("a, µs/request"),
        figures("b, ms/MB"),
        figures("worst residual"),
        words("method"),
    ];
    let row = |line: &Series| {
        let (cell, rate) = peak(document, line)?;
        let summary = cell.summary.as_ref()?;
        let half = half_of(document, line, experiment.axis).map(|h| &h.half_power);
        let cost = cost_of(document, line).map(|c| c.line);
        let span = |e: Estimate| spanned(e, units::significant);
        let roof = document.findings.roof.as_ref().filter(|r| r.rate.value > 0.0);
        let bound = |at_most: bool| if at_most { "≤ " } else { "" };
        let crossing = half.and_then(|h| h.crossing).map(|c| spanned(c, |v| between(experiment.axis, v)));
        Some(vec![
            line.name.clone(),
            units::rate(rate.value),
            units::percent(rate.relative_half_width()),
            dash(roof.map(|r| units::percent(rate.value / r.rate.value))),
            dash(half.map(|h| format!("{}{}", bound(h.at_most), experiment.axis.label(h.at)))),
            dash(crossing),
            dash(summary.cpu_per_request.map(|c| units::significant(c.charged.value * 1e6))),
            units::ms_per_mb(summary.cpu_per_mb.charged.value),
            dash(cost.map(|c| span(c.per_request.scaled(1e6)))),
            dash(cost.map(|c| span(c.per_byte.scaled(1e9)))),
            dash(cost.map(|c| units::percent(c.max_relative_residual))),
            method_text(&cell.labels),
        ])
    };
    Table::new(columns, lines.iter().filter_map(row).collect()).without_empty_columns()
}
