//! The comparison as sections: one self-contained HTML file with a chart, or Markdown for pull requests and notes.

use super::change::{Judgement, Measure};
use super::compare::RunComparison;
use super::compared_run::{CellChange, ComparedRun, Unmatched};
use super::export;
use super::words::{self, figure, heading, interval, ratio};
use crate::block::html::{self, escape};
use crate::block::{Block, Figure, Fold, Section, Table, TableOf, markdown};
use crate::units;

/// Style for a page without the report's table of contents at the side.
const WIDTH: &str =
    "header, main, footer { max-width: 1240px; margin: 0 auto; padding-left: 24px; padding-right: 24px; }\n";
const SCRIPT: &str = include_str!("../report/script/theme.js");

/// Renders a comparison as a complete HTML page in the style of the report.
///
/// The page contains the comparison as JSON for programs. It requests nothing from anywhere; all text from the documents
/// is escaped.
pub fn html(comparison: &RunComparison) -> String {
    let body = format!(
        "{}<main>\n{}</main>\n<footer><p>Ratios of medians with {} bootstrap intervals. Schema {} version {}.</p></footer>\n{}",
        header(comparison),
        sections(comparison).iter().map(html::section).collect::<String>(),
        crate::units::percent(comparison.confidence),
        export::SCHEMA,
        export::VERSION,
        html::data("comparison", &export::Described::of(comparison))
    );
    html::page(&format!("Comparison with {}", comparison.baseline.name), WIDTH, &body, SCRIPT)
}

/// Renders a comparison as GitHub Markdown. Text from the documents is escaped.
pub fn markdown(comparison: &RunComparison) -> String {
    let baseline = markdown::escape(&words::origin(&comparison.baseline));
    let sections: String = sections(comparison).iter().map(markdown::section).collect();
    format!("# Comparison of storage results\n\nBaseline {baseline}\n\n{sections}")
}

fn header(comparison: &RunComparison) -> String {
    let link = |(number, other): (usize, &ComparedRun)| {
        format!("<a href=\"#d{}\">{}</a>", number + 1, escape(&other.origin.name))
    };
    let title = match comparison.others.as_slice() {
        [other] => format!("{} against {}", other.origin.name, comparison.baseline.name),
        others => format!("{} documents against {}", others.len(), comparison.baseline.name),
    };
    format!(
        "<header>\n<p class=\"kicker\">fullbore · comparison</p>\n<h1>{}</h1>\n<p class=\"where\">baseline {}</p>\n\
         <nav aria-label=\"Documents\">{}</nav>\n\
         <div class=\"tools\"><button type=\"button\" id=\"theme\">Light or dark</button></div>\n</header>\n",
        escape(&title),
        escape(&words::origin(&comparison.baseline)),
        comparison.others.iter().enumerate().map(link).collect::<String>()
    )
}

fn sections(comparison: &RunComparison) -> Vec<Section> {
    let mut sections = Vec::new();
    if !comparison.conditions.is_empty() {
        let lines = comparison.conditions.iter().map(ToString::to_string).collect();
        sections.push(Section::new("conditions", "Conditions", vec![Block::List(lines)]));
    }
    sections.extend(comparison.others.iter().enumerate().map(|(number, other)| {
        let title = format!("{}: {}", other.origin.name, words::summary(other));
        Section::new(&format!("d{}", number + 1), title, chapter(comparison, other))
    }));
    sections
}

fn chapter(comparison: &RunComparison, other: &ComparedRun) -> Vec<Block> {
    let mut lines = vec![words::chance(other)];
    lines.extend(words::ignored_differences(other).into_iter().chain(other.notes.iter().cloned()));
    let chart = format!("<div class=\"scroll\" tabindex=\"0\">\n{}</div>\n", svg(comparison, other));
    let mut blocks = vec![
        Block::Paragraph(words::origin(&other.origin)),
        Block::Tiles(tiles(other)),
        Block::List(lines),
        // The table below has its figures.
        Block::Figures(vec![Figure { html: chart, text: None }]),
    ];
    for (judgement, cells) in words::groups(other) {
        let title = heading(judgement, cells.len(), comparison.margin);
        let table = Block::Table { label: title.clone(), table: table(cells) };
        match judgement {
            Judgement::Same => {
                blocks.push(Block::Folded { title, fold: Fold::Everywhere, blocks: vec![table] });
            }
            _ => blocks.extend([Block::Heading(title), table]),
        }
    }
    blocks.push(Block::Paragraph(words::legend(comparison, other)));
    for (head, cells) in
        [("Missing: in the baseline only", &other.missing), ("Added: not in the baseline", &other.added)]
    {
        if !cells.is_empty() {
            let line = |cell: &Unmatched| format!("{}: {}", cell.name, cell.reason);
            blocks.push(Block::Heading(format!("{head} ({})", cells.len())));
            blocks.push(Block::List(cells.iter().map(line).collect()));
        }
    }
    blocks
}

fn tiles(other: &ComparedRun) -> Vec<[String; 3]> {
    let counts = &other.verdict_counts;
    [
        ("slower", counts.slower, ""),
        ("unclear", counts.unclear, "the interval is too wide"),
        ("same within the margin", counts.same, ""),
        ("faster", counts.faster, ""),
        ("missing or added", other.missing.len() + other.added.len(), ""),
    ]
    .map(|(what, count, how)| [what.into(), count.to_string(), how.into()])
    .to_vec()
}

fn table(cells: Vec<&CellChange>) -> Table {
    let figure = |number: usize| move |(_, figures): &(&CellChange, [String; 6])| figures[number].clone();
    TableOf::new(cells.into_iter().map(|cell| (cell, words::figures(cell))))
        .words("cell", |(cell, _)| cell.name.clone())
        .figures("baseline", figure(0))
        .figures("this", figure(1))
        .figures("ratio", figure(2))
        .figures("interval", figure(3))
        .figures("samples", |(cell, _)| format!("{} | {}", cell.rate.baseline_samples, cell.rate.samples))
        .figures("cpu", figure(4))
        .figures("p99", figure(5))
        .words("notes", |(cell, _)| cell.notes.join("; "))
        .table()
}

const CHART_WIDTH: f64 = 1100.0;
/// End of the names and start of the axis.
const LEFT: f64 = 452.0;
const RIGHT: f64 = 1080.0;
const TOP: f64 = 44.0;
const ROW: f64 = 19.0;
const HEAD: f64 = 28.0;
/// Longest name that fits beside the axis, in characters.
const NAME: usize = 60;
/// The axis always shows at least the first and at most the second.
const SHOWN: (f64, f64) = (1.12, 16.0);
/// Ticks in the order of preference.
const TICKS: [f64; 15] = [1.0, 0.5, 2.0, 0.25, 4.0, 0.1, 10.0, 0.75, 1.25, 1.5, 0.9, 1.1, 0.95, 1.05, 0.65];
/// Distance between ticks at which their texts do not touch.
const TICK_GAP: f64 = 36.0;

/// The cells of a document, the worst first, as an `svg` element.
fn svg(comparison: &RunComparison, other: &ComparedRun) -> String {
    let axis = Axis::of(&other.cells);
    let groups = words::groups(other);
    let bottom = TOP + groups.len() as f64 * HEAD + other.cells.len() as f64 * ROW;
    let mut svg = format!(
        "<svg class=\"chart\" viewBox=\"0 0 {CHART_WIDTH} {:.0}\" style=\"min-width:760px\" role=\"img\" aria-label=\"{}\">\n",
        bottom + 26.0,
        escape(&format!(
            "Rate of each cell ÷ baseline, with intervals: {}. All figures are in the table below.",
            words::summary(other)
        ))
    );
    svg += &axis.frame(comparison.margin, bottom);
    let mut y = TOP;
    for (judgement, cells) in groups {
        y += HEAD;
        svg +=
            &html::svg_text("value", (0.0, y - 8.0), "", &heading(judgement, cells.len(), comparison.margin));
        svg.push('\n');
        for cell in cells {
            svg += &row(cell, &axis, y + ROW / 2.0 - 4.0);
            y += ROW;
        }
    }
    svg + "</svg>\n"
}

fn row(cell: &CellChange, axis: &Axis, y: f64) -> String {
    let colour = match cell.rate.judgement {
        Judgement::Worse => 1,
        Judgement::Unclear => 4,
        Judgement::Same => 6,
        Judgement::Better => 2,
    };
    let change = &cell.rate;
    let tip = format!(
        "{}: {} × the baseline ({}), {} against {}",
        cell.name,
        ratio(change),
        interval(&change.ratio),
        figure(Measure::Rate, change.this),
        figure(Measure::Rate, change.baseline)
    );
    let (low, high) = (axis.place(change.ratio.low), axis.place(change.ratio.high));
    format!(
        "<g class=\"point c{colour}\"><title>{}</title><text x=\"10\" y=\"{:.1}\">{}</text>\
         <rect class=\"hit\" x=\"0\" y=\"{:.1}\" width=\"{CHART_WIDTH}\" height=\"{ROW}\"/>\
         <path class=\"whisker\" d=\"M{low:.1} {y:.1}H{high:.1}M{low:.1} {:.1}v6M{high:.1} {:.1}v6\"/>\
         <circle class=\"m\" cx=\"{:.1}\" cy=\"{y:.1}\" r=\"3.6\"/></g>\n",
        escape(&tip),
        y + 4.0,
        escape(&units::shortened(&cell.name, NAME)),
        y - ROW / 2.0,
        y - 3.0,
        y - 3.0,
        axis.place(change.ratio.value)
    )
}

struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    fn of(cells: &[CellChange]) -> Self {
        let positive = |value: f64| if value > 0.0 { value } else { 1.0 };
        let lows = cells.iter().map(|cell| positive(cell.rate.ratio.low));
        let highs = cells.iter().map(|cell| positive(cell.rate.ratio.high));
        Self {
            low: lows.fold(1.0 / SHOWN.0, f64::min).max(1.0 / SHOWN.1),
            high: highs.fold(SHOWN.0, f64::max).min(SHOWN.1),
        }
    }

    /// Position of a ratio; ratios off the axis are placed at its ends.
    fn place(&self, ratio: f64) -> f64 {
        let share = (ratio.max(self.low) / self.low).ln() / (self.high / self.low).ln();
        LEFT + share.clamp(0.0, 1.0) * (RIGHT - LEFT)
    }

    fn frame(&self, margin: f64, bottom: f64) -> String {
        let (from, to) = (self.place(1.0 / (1.0 + margin)), self.place(1.0 + margin));
        let mut svg = format!(
            "<rect class=\"band c6\" x=\"{from:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{:.1}\"/>\n",
            to - from,
            bottom - TOP
        );
        svg += "<text class=\"title\" x=\"0\" y=\"14\">rate ÷ baseline; the band is the margin of equivalence</text>\n";
        let mut taken: Vec<f64> = Vec::new();
        for tick in TICKS.into_iter().filter(|tick| (self.low..=self.high).contains(tick)) {
            let at = self.place(tick);
            if taken.iter().any(|other| (other - at).abs() < TICK_GAP) {
                continue;
            }
            taken.push(at);
            let class = if tick == 1.0 { "axis" } else { "grid" };
            svg += &format!(
                "<line class=\"{class}\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{bottom:.1}\"/>"
            );
            // Above and below: the chart of a whole run is longer than a screen.
            for y in [TOP - 6.0, bottom + 16.0] {
                svg += &format!("<text x=\"{at:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{tick}×</text>\n");
            }
        }
        svg
    }
}
