//! A chapter of the report: one experiment with its question, earlier and present findings, charts, and tables of the peak
//! of each path and of every figure that the charts draw.

use std::collections::HashMap;

use super::chapter_findings::{credit_table, disk_table, peer_table};
use super::chapter_findings::{regret_sentences, regret_table, request_time_table};
use super::figures::{ChartBuilder, cost_of, half_of};
use super::measure::{axis_words, between};
use super::panels::Palette;
use super::picture::Chart;
use super::prose::{ends, half_width, method_text, peak, spanned};
use super::request_figures::{parts, stream_fairness};
use super::verdict::verdict;
use crate::block::{Block, Fold, NOTHING, Section, Table, TableOf, Titled};
use crate::document::{
    Axis, Cell, CpuCost, Document, Experiment, Figure, Latency, Phases, Series, StopReason, Summary,
    experiments, series,
};
use crate::grouping::grouped;
use crate::stats::{Estimate, HalfPower, median};
use crate::units;

/// The content of a chapter, independent of HTML and Markdown.
pub(super) struct Chapter {
    pub(super) experiment: Experiment,
    /// Id of its section, unique in the report.
    pub(super) anchor: String,
    pub(super) here: Vec<String>,
    pub(super) charts: Vec<Chart>,
    pub(super) tables: Vec<Titled>,
    pub(super) care: Option<String>,
    /// Reasons why cells were not measured, each with the number of cells.
    pub(super) skipped: Vec<(String, usize)>,
}

/// The chapters of a report: every experiment described or measured, in order.
pub(super) fn chapters(document: &Document) -> Vec<Chapter> {
    let palette = Palette::of(document);
    let mut all = experiments(&document.experiments, &document.cells);
    let shown = all.iter().any(|e| e.figures.contains(&Figure::Pipeline));
    if document.findings.pipeline.is_some() && !shown {
        let question = "How fast is each stage between the application's memory and the device, compared with \
                        its advertised throughput, and which one is the slowest?";
        all.push(Experiment {
            title: "The storage pipeline".into(),
            question: question.into(),
            figures: vec![Figure::Pipeline],
            ..Experiment::named("pipeline", Axis::None)
        });
    }
    let mut chapters: Vec<Chapter> = Vec::new();
    let mut slugs: HashMap<String, u32> = HashMap::new();
    let mut number = 0;
    for experiment in all {
        let lines = series(&document.cells, &experiment);
        let mut drawer =
            ChartBuilder { document, palette: &palette, experiment: &experiment, charts: Vec::new() };
        drawer.draw(&lines);
        let mut charts = drawer.charts;
        let mut slug = slug(&experiment.name);
        let namesakes = slugs.entry(slug.clone()).or_insert(0);
        *namesakes += 1;
        if *namesakes > 1 {
            // Slugs are lower case, so no other name yields this one.
            slug = format!("{slug}-N{namesakes}");
        }
        for (i, chart) in charts.iter_mut().enumerate() {
            number += 1;
            chart.number = number;
            chart.stem = format!("{slug}-{}-{}", i + 1, chart.stem);
        }
        let regrets = regret_sentences(document, &experiment);
        let here = [verdict(document, &experiment, &lines), regrets].concat();
        chapters.push(Chapter {
            here,
            tables: tables(document, &experiment, &lines),
            care: care(document, &experiment.name),
            skipped: skipped(document, &experiment.name)
                .into_iter()
                .map(|(reason, cells)| (reason, cells.len()))
                .collect(),
            charts,
            anchor: format!("experiment-{slug}"),
            experiment,
        });
    }
    chapters
}

/// Returns the name in lower case, with dashes for all but ASCII letters and digits, at most 100 characters: for names of
/// files and anchors.
fn slug(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    name.chars().take(100).map(safe).collect()
}

/// The numbers of cells that are imprecise, bimodal, drifting and so on, in a sentence; `None` if there are none.
fn care(document: &Document, experiment: &str) -> Option<String> {
    let summaries = || {
        let cells = document.cells.iter().filter(|c| c.experiment == experiment);
        cells.filter_map(|c| c.summary.as_ref())
    };
    let measured = summaries().count();
    let kinds: [(&str, usize); 7] = [
        ("missed the target precision", summaries().filter(|s| s.stop != StopReason::Precise).count()),
        ("bimodal", summaries().filter(|s| s.modes.is_some()).count()),
        ("drifting", summaries().filter(|s| s.drift.as_ref().is_some_and(|d| d.matters())).count()),
        ("with contradicted samples", summaries().filter(|s| s.contradicted > 0).count()),
        ("with unproved cache state", summaries().filter(|s| s.unproved > 0).count()),
        ("with outliers", summaries().filter(|s| !s.outliers.is_empty()).count()),
        ("limited by the meter", summaries().filter(|s| s.tool_bound).count()),
    ];
    let text: Vec<String> =
        kinds.iter().filter(|k| k.1 > 0).map(|(what, count)| format!("{count} {what}")).collect();
    (!text.is_empty()).then(|| format!("Of {}: {}.", units::count(measured, "cell"), text.join(", ")))
}

/// Reasons why cells of an experiment were not measured, each with its cells.
pub(super) fn skipped<'d>(document: &'d Document, experiment: &str) -> Vec<(String, Vec<&'d Cell>)> {
    let cells = document.cells.iter().filter(|c| c.experiment == experiment && c.summary.is_none());
    let reason = |cell: &Cell| match &cell.skipped {
        Some(reason) => reason.clone(),
        None if cell.samples.is_empty() => "not reached in time".into(),
        None => "no usable sample".into(),
    };
    grouped(cells.map(|cell| (reason(cell), cell)))
}

impl Chapter {
    pub(super) fn measured(&self) -> bool {
        !self.charts.is_empty() || !self.tables.is_empty()
    }

    /// The chapter as a section; the `first` of all is marked so.
    pub(super) fn section(&self, first: bool) -> Section {
        let experiment = &self.experiment;
        let mut blocks = Vec::new();
        if !experiment.question.is_empty() {
            blocks.push(Block::Question(experiment.question.clone()));
        }
        if !experiment.note.is_empty() {
            blocks.push(Block::Paragraph(experiment.note.clone()));
        }
        let here = match (self.here.is_empty(), self.measured()) {
            (false, _) => self.here.clone(),
            (true, true) => vec!["Measured, without a verdict.".into()],
            (true, false) => vec!["Nothing was measured here.".into()],
        };
        blocks.push(Block::Findings { then: experiment.then.clone(), here });
        blocks.push(Block::Figures(self.charts.iter().map(Chart::figure).collect()));
        blocks.extend(self.care.iter().map(|care| Block::Labelled("Warnings", care.clone())));
        blocks.extend(self.skipped.iter().map(|(reason, count)| {
            Block::Labelled("Not measured", format!("{}: {reason}", units::count(*count, "cell")))
        }));
        for (i, (title, table)) in self.tables.iter().enumerate() {
            let fold = if i == 0 && self.tables.len() > 1 { Fold::Screen } else { Fold::Page };
            let label = format!("{}: {}", experiment.title, title.to_lowercase());
            let table = Block::Table { label, table: table.clone() };
            blocks.push(Block::Folded { title: (*title).into(), fold, blocks: vec![table] });
        }
        let class = match (self.measured(), first) {
            (false, _) => "unmeasured",
            (true, true) => "first",
            (true, false) => "",
        };
        Section { class, ..Section::new(&self.anchor, &experiment.title, blocks) }
    }
}

/// The tables of a chapter, without empty ones. If the first is of paths, it is the main one.
fn tables(document: &Document, experiment: &Experiment, lines: &[Series]) -> Vec<Titled> {
    let mut tables = Vec::new();
    if experiment.axis != Axis::None && experiment.axis != Axis::Load {
        tables.push(("Peak of each path", paths(document, experiment, lines)));
    }
    let findings = [credit_table, regret_table, peer_table, disk_table, request_time_table];
    tables.extend(findings.map(|table| table(document, experiment)));
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
    let first = if axis == Axis::None { "path" } else { axis_words(axis).heading };
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
        .figures("95% interval", |(_, s)| ends(s.rate, units::rate))
        .figures("samples", samples)
        .words("within 3% (1997)", repeatable)
        .figures("requests/s", |(_, s)| dash(s.requests_per_s.map(units::requests_rate)))
        .figures("depth reached", |(_, s)| dash(s.achieved_depth.map(units::significant)))
        .figures("p50", late(|l| l.p50_s))
        .figures("p90", late(|l| l.p90_s))
        .figures("p99", late(|l| l.p99_s))
        .figures("p99.9", late(|l| l.p999_s))
        .figures("longest", late(|l| l.max_s))
        .figures("fairness", |(cell, _)| dash(stream_fairness(cell).map(|j| format!("{j:.3}"))))
        .words("warnings", |(_, s)| s.flags.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
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
        median(&cell.counted().filter_map(|s| s.phases.as_ref().map(value)).collect::<Vec<_>>())
    };
    let count = |value: Option<f64>| dash(value.map(|v| format!("{v:.0}")));
    let counted = |value: fn(&Phases) -> f64| move |(cell, _): &(&Cell, &Summary)| count(middle(cell, value));
    let submitted = |(cell, _): &(&Cell, &Summary)| {
        count(median(&cell.counted().map(|s| s.requests as f64).collect::<Vec<_>>()))
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
    let roof = document.findings.roof.as_ref();
    let half_power = |half: &HalfPower| {
        let bound = if half.at_most { "≤ " } else { "" };
        format!("{bound}{}", axis.label(half.at))
    };
    let crossing = |half: &HalfPower| half.crossing.map(|c| spanned(c, |v| between(axis, v)));
    let request = |s: &Summary| s.cpu_per_request.map(|c| units::significant(c.charged.value * 1e6));
    TableOf::new(lines.iter().filter_map(row))
        .words("path", |(line, ..)| line.name.clone())
        .figures("peak", |(.., rate, _, _)| units::rate(rate.value))
        .figures("±", |(.., rate, _, _)| half_width(rate).unwrap_or_else(|| "no interval".into()))
        .figures("of roof", |(.., rate, _, _)| {
            dash(roof.and_then(|roof| roof.share(rate)).map(units::percent))
        })
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
