//! The comparison as sections: one self-contained HTML file, or Markdown for pull requests and notes.

use super::change::Judgement;
use super::compare::Comparison;
use super::compared_run::{CellChange, ComparedRun, Unmatched};
use super::words::{self, heading};
use super::{export, svg};
use crate::block::html::{self, escape};
use crate::block::{Block, Figure, Fold, Section, Table, TableOf, markdown};

/// Style for a page without the report's table of contents at the side.
const WIDTH: &str =
    "header, main, footer { max-width: 1240px; margin: 0 auto; padding-left: 24px; padding-right: 24px; }\n";
const SCRIPT: &str = include_str!("../report/script/theme.js");

/// Renders a comparison as a complete HTML page in the style of the report.
///
/// The page contains the comparison as JSON for programs. It requests nothing from anywhere; all text from the documents
/// is escaped.
pub fn html(comparison: &Comparison) -> String {
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
pub fn markdown(comparison: &Comparison) -> String {
    let baseline = markdown::escape(&words::origin(&comparison.baseline));
    let sections: String = sections(comparison).iter().map(markdown::section).collect();
    format!("# Comparison of storage results\n\nBaseline {baseline}\n\n{sections}")
}

fn header(comparison: &Comparison) -> String {
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

fn sections(comparison: &Comparison) -> Vec<Section> {
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

fn chapter(comparison: &Comparison, other: &ComparedRun) -> Vec<Block> {
    let mut lines = vec![words::chance(other)];
    lines.extend(words::ignored_differences(other).into_iter().chain(other.notes.iter().cloned()));
    let chart = format!("<div class=\"scroll\" tabindex=\"0\">\n{}</div>\n", svg::svg(comparison, other));
    let mut blocks = vec![
        Block::Paragraph(words::origin(&other.origin)),
        Block::Tiles(tiles(other)),
        Block::List(lines),
        // The table below has its figures.
        Block::Figures(vec![Figure { html: chart, text: None }]),
    ];
    for judgement in words::ORDER {
        let table = cells(other, judgement);
        let title = heading(judgement, table.rows.len(), comparison.margin);
        if table.rows.is_empty() {
            continue;
        }
        let table = Block::Table { label: title.clone(), table };
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

/// The cells with this verdict.
fn cells(other: &ComparedRun, judgement: Judgement) -> Table {
    let cells = other.cells.iter().filter(|cell| cell.rate.judgement == judgement);
    let figure = |number: usize| move |(_, figures): &(&CellChange, [String; 6])| figures[number].clone();
    TableOf::new(cells.map(|cell| (cell, words::figures(cell))))
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
