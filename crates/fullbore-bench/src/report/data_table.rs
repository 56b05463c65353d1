//! The tables of a chapter: the peak of each path, and every figure that the charts draw.

use super::figures::{cost_of, half_of};
use super::measure::{axis_words, between};
use super::phrases::{peak, spanned};
use super::prose::method_text;
use super::request_figures::{jain, parts, stream_rates};
use crate::block::{NOTHING, Table, TableOf, Titled, words};
use crate::document::{Axis, Cell, CpuCost, Document, Experiment, Latency, Phases, Series, Summary};
use crate::stats::{Estimate, HalfPower, median};
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
    tables.push(("Every cell: rates", rates(document, experiment, lines)));
    let measured = || lines.iter().flat_map(|line| &line.cells).map(|&c| &document.cells[c]);
    let charged = |cell: &Cell| cell.summary.as_ref().is_some_and(|s| s.cpu_per_mb.charged.value > 0.0);
    if measured().any(charged) {
        tables.push(("Every cell: CPU time", costs(document, experiment, lines)));
    }
    if measured().any(|cell| parts(cell).is_some()) {
        tables.push(("Every cell: phases of a request", phases(document, experiment, lines)));
    }
    tables.retain(|(_, table)| !table.rows.is_empty());
    tables
}

fn dash(value: Option<String>) -> String {
    value.unwrap_or_else(|| NOTHING.into())
}

/// One row per cell. Along an axis, the rows of a path are grouped under its name.
fn cells<'a>(
    document: &'a Document,
    experiment: &Experiment,
    lines: &[Series],
) -> TableOf<(&'a Cell, &'a Summary)> {
    let axis = experiment.axis;
    let first = if axis == Axis::None { words("path") } else { words(axis_words(axis).heading) };
    let mut rows = Vec::new();
    for line in lines {
        if axis != Axis::None && lines.len() > 1 {
            rows.push((line.name.clone(), None));
        }
        for &c in &line.cells {
            let cell = &document.cells[c];
            let Some(summary) = &cell.summary else { continue };
            let name = axis.of(&cell.labels).map_or_else(|| line.name.clone(), |at| signed(axis, cell, at));
            rows.push((name, Some((cell, summary))));
        }
    }
    TableOf::named(first, rows)
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

fn rates(document: &Document, experiment: &Experiment, lines: &[Series]) -> Table {
    let samples = |(cell, summary): &(&Cell, &Summary)| match (summary.n, cell.samples.len()) {
        (usable, all) if usable == all => all.to_string(),
        (usable, all) => format!("{usable} of {all}"),
    };
    let repeatable = |(_, summary): &(&Cell, &Summary)| {
        dash(summary.repeatability.map(|found| {
            let answer = if found.is_repeatable() { "yes" } else { "no" };
            format!("{answer}, {}", units::percent(found.deviation))
        }))
    };
    let late = |value: fn(&Latency) -> f64| {
        move |(_, summary): &(&Cell, &Summary)| {
            dash(summary.latency.as_ref().map(value).filter(|v| *v > 0.0).map(units::seconds))
        }
    };
    cells(document, experiment, lines)
        .figures("rate", |(_, s)| units::rate(s.rate.value))
        .figures("95% interval", |(_, s)| interval(s.rate))
        .figures("samples", samples)
        .words("within 3% (1997)", repeatable)
        .figures("requests/s", |(_, s)| dash(s.requests_per_s.map(units::requests_rate)))
        .figures("reached depth", |(_, s)| dash(s.achieved_depth.map(units::significant)))
        .figures("p50", late(|l| l.p50_s))
        .figures("p90", late(|l| l.p90_s))
        .figures("p99", late(|l| l.p99_s))
        .figures("p99.9", late(|l| l.p999_s))
        .figures("longest", late(|l| l.max_s))
        .figures("fairness", |(cell, _)| dash(jain(&stream_rates(cell)).map(|j| format!("{j:.3}"))))
        .words("warnings", |(_, s)| s.flags.join("; "))
        .table()
        .without_empty_columns()
}

fn costs(document: &Document, experiment: &Experiment, lines: &[Series]) -> Table {
    let request = |value: fn(&CpuCost) -> Option<f64>| {
        move |(_, s): &(&Cell, &Summary)| {
            dash(s.cpu_per_request.as_ref().and_then(value).map(|v| units::significant(v * 1e6)))
        }
    };
    let mb = |value: fn(&CpuCost) -> Option<f64>| {
        move |(_, s): &(&Cell, &Summary)| dash(value(&s.cpu_per_mb).map(|v| units::significant(v * 1e3)))
    };
    cells(document, experiment, lines)
        .figures("busy", |(_, s)| dash(s.processors.map(|p| units::significant(p.value))))
        .figures("µs/request", request(|c| Some(c.charged.value)))
        .figures("user", request(|c| Some(c.user_s)))
        .figures("system", request(|c| Some(c.system_s)))
        .figures("off-process", request(|c| c.uncharged_s))
        .figures("ms/MB", mb(|c| Some(c.charged.value)))
        .figures("user", mb(|c| Some(c.user_s)))
        .figures("system", mb(|c| Some(c.system_s)))
        .figures("off-process", mb(|c| c.uncharged_s))
        .table()
        .without_empty_columns()
}

fn phases(document: &Document, experiment: &Experiment, lines: &[Series]) -> Table {
    let time = |phase: usize| {
        move |(cell, _): &(&Cell, &Summary)| {
            dash(parts(cell).and_then(|parts| parts[phase]).map(units::seconds))
        }
    };
    let middle = |cell: &Cell, value: fn(&Phases) -> f64| {
        let usable = cell.samples.iter().filter(|s| s.usable());
        median(&usable.filter_map(|s| s.phases.as_ref().map(value)).collect::<Vec<_>>())
    };
    let count = |value: Option<f64>| dash(value.map(|v| format!("{v:.0}")));
    let counted = |value: fn(&Phases) -> f64| move |(cell, _): &(&Cell, &Summary)| count(middle(cell, value));
    let submitted = |(cell, _): &(&Cell, &Summary)| {
        let usable = cell.samples.iter().filter(|s| s.usable());
        count(median(&usable.map(|s| s.requests as f64).collect::<Vec<_>>()))
    };
    let size = |(cell, _): &(&Cell, &Summary)| {
        let bytes = middle(cell, |p| p.device_request_bytes).filter(|bytes| *bytes > 0.0);
        dash(bytes.map(units::about_size))
    };
    cells(document, experiment, lines)
        .figures("submit", time(0))
        .figures("queue", time(1))
        .figures("device", time(2))
        .figures("complete", time(3))
        .figures("requests submitted", submitted)
        .figures("device requests", counted(|p| p.device_requests as f64))
        .figures("merged", counted(|p| p.merges as f64))
        .figures("split", counted(|p| p.splits as f64))
        .figures("mean device request", size)
        .table()
        .without_empty_columns()
}

/// The peak of every path: share of the roof, half-power point, fitted cost.
fn paths(document: &Document, experiment: &Experiment, lines: &[Series]) -> Table {
    let axis = experiment.axis;
    let row = |line| {
        let (cell, rate) = peak(document, line)?;
        let half = half_of(document, line, axis).map(|h| &h.half_power);
        Some((line, cell, cell.summary.as_ref()?, rate, half, cost_of(document, line).map(|c| c.line)))
    };
    let span = |e: Estimate| spanned(e, units::significant);
    let roof = document.findings.roof.as_ref().filter(|r| r.rate.value > 0.0);
    let half_power = |half: &HalfPower| {
        let bound = if half.at_most { "≤ " } else { "" };
        format!("{bound}{}", axis.label(half.at))
    };
    let crossing = |half: &HalfPower| half.crossing.map(|c| spanned(c, |v| between(axis, v)));
    let request = |s: &Summary| s.cpu_per_request.map(|c| units::significant(c.charged.value * 1e6));
    TableOf::new(lines.iter().filter_map(row))
        .words("path", |(line, ..)| line.name.clone())
        .figures("peak", |(.., rate, _, _)| units::rate(rate.value))
        .figures("±", |(.., rate, _, _)| units::percent(rate.relative_half_width()))
        .figures("of roof", |(.., rate, _, _)| dash(roof.map(|r| units::percent(rate.value / r.rate.value))))
        .figures("half-power", |(.., half, _)| dash(half.map(half_power)))
        .figures("crossing", |(.., half, _)| dash(half.and_then(crossing)))
        .figures("µs/request", |(_, _, s, ..)| dash(request(s)))
        .figures("ms/MB", |(_, _, s, ..)| units::ms_per_mb(s.cpu_per_mb.charged.value))
        .figures("a, µs/request", |(.., cost)| dash(cost.map(|c| span(c.per_request.scaled(1e6)))))
        .figures("b, ms/MB", |(.., cost)| dash(cost.map(|c| span(c.per_byte.scaled(1e9)))))
        .figures("worst residual", |(.., cost)| dash(cost.map(|c| units::percent(c.max_relative_residual))))
        .words("method", |(_, cell, ..)| method_text(&cell.labels))
        .table()
        .without_empty_columns()
}
