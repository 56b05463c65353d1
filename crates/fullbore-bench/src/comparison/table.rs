//! The comparison for the terminal: text of a given width, the worst cells first, the summary at the end.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::cell::CellChange;
use super::change::{Judgement, Measure};
use super::compare::Comparison;
use super::compared_run::{ComparedRun, Unmatched};
use super::words::{self, figure, heading, interval, marked_ratio, ratio};
use crate::table::{TableOptions, broken};

const NARROWEST: usize = 60;
const INDENT: usize = 2;
/// Columns after the name: baseline, this, ratio, interval, CPU time, latency.
const COLUMNS: [(&str, usize); 6] =
    [("baseline", 10), ("this", 10), ("ratio", 8), ("interval", 13), ("cpu", 8), ("p99", 8)];

/// Renders a comparison as text; no line is wider than requested (60 at least), the last ends in a newline.
pub fn render(comparison: &Comparison, options: TableOptions) -> String {
    let mut sheet =
        Sheet { text: String::new(), width: options.width.max(NARROWEST), colour: options.colour };
    sheet.wrapped(0, &format!("baseline {}", words::origin(&comparison.baseline)));
    for other in &comparison.others {
        document(&mut sheet, comparison, other);
    }
    if !comparison.conditions.is_empty() {
        sheet.line("");
    }
    for met in &comparison.conditions {
        let colour = if met.cells.is_empty() { GREEN } else { RED };
        sheet.coloured(0, colour, &met.to_string());
    }
    for other in &comparison.others {
        sheet.wrapped(0, &format!("{}: {}", other.origin.name, words::summary(other)));
    }
    sheet.text
}

fn document(sheet: &mut Sheet, comparison: &Comparison, other: &ComparedRun) {
    if comparison.others.len() > 1 {
        sheet.line("");
    }
    sheet.wrapped(0, &format!("this     {}", words::origin(&other.origin)));
    for line in words::ignored_differences(other) {
        sheet.coloured(0, YELLOW, &line);
    }
    let latency = other.cells.iter().any(|cell| cell.latency.is_some());
    let columns = &COLUMNS[..if latency { 6 } else { 5 }];
    sheet.line("");
    let heads: Vec<String> = columns.iter().map(|(head, _)| (*head).to_owned()).collect();
    sheet.row(columns, "", &heads, None);
    for judgement in words::ORDER {
        let cells: Vec<&CellChange> =
            other.cells.iter().filter(|cell| cell.rate.judgement == judgement).collect();
        if cells.is_empty() {
            continue;
        }
        let (colour, bold) = match judgement {
            Judgement::Worse => (RED, "1;31"),
            Judgement::Unclear => (YELLOW, "1;33"),
            Judgement::Same => ("", "1"),
            Judgement::Better => (GREEN, "1;32"),
        };
        sheet.coloured(0, bold, &heading(judgement, cells.len()));
        for cell in cells {
            let values = [
                figure(Measure::Rate, cell.rate.baseline),
                figure(Measure::Rate, cell.rate.this),
                ratio(&cell.rate, comparison.confidence),
                interval(&cell.rate.ratio),
                marked_ratio(cell.cost.as_ref()),
                marked_ratio(cell.latency.as_ref()),
            ];
            sheet.row(columns, &cell.name, &values[..columns.len()], Some(colour));
        }
    }
    sheet.line("");
    sheet.wrapped(0, &words::legend(comparison, other));
    unmatched(sheet, "Missing", "in the baseline only", &other.missing);
    unmatched(sheet, "Added", "not in the baseline", &other.added);
    notes(sheet, other);
    sheet.line("");
    sheet.wrapped(0, &words::chance(other));
}

/// Cells of one document only, grouped by reason.
fn unmatched(sheet: &mut Sheet, head: &str, where_: &str, cells: &[Unmatched]) {
    if cells.is_empty() {
        return;
    }
    sheet.line("");
    sheet.coloured(0, "1", &format!("{head}: {where_} ({})", cells.len()));
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for cell in cells {
        reasons.entry(&cell.reason).or_default().push(&cell.name);
    }
    for (reason, names) in reasons {
        sheet.wrapped(INDENT, &format!("{reason}:"));
        for name in names {
            sheet.wrapped(2 * INDENT, name);
        }
    }
}

fn notes(sheet: &mut Sheet, other: &ComparedRun) {
    let judged = |cell: &&CellChange| matches!(cell.rate.judgement, Judgement::Worse | Judgement::Better);
    let noted = || other.cells.iter().filter(|cell| !cell.notes.is_empty());
    let mut lines = other.notes.clone();
    lines.extend(noted().filter(judged).map(|cell| format!("{}: {}", cell.name, cell.notes.join("; "))));
    let rest = noted().filter(|cell| !judged(cell)).count();
    if rest > 0 {
        lines.push(format!(
            "{} without a verdict of slower or faster have further notes: see --json, --csv or --html",
            crate::units::count(rest, "cell")
        ));
    }
    if lines.is_empty() {
        return;
    }
    sheet.line("");
    sheet.coloured(0, "1", "Notes");
    for line in lines {
        sheet.item(&line);
    }
}

const RED: &str = "31";
const GREEN: &str = "32";
const YELLOW: &str = "33";

/// Text under construction.
struct Sheet {
    text: String,
    width: usize,
    colour: bool,
}

impl Sheet {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "{}", text.trim_end());
    }

    fn painted(&self, colour: &str, text: &str) -> String {
        if self.colour && !colour.is_empty() { format!("\x1b[{colour}m{text}\x1b[0m") } else { text.into() }
    }

    fn wrapped(&mut self, indent: usize, text: &str) {
        self.coloured(indent, "", text);
    }

    /// `text` broken at spaces, every line indented, lines after the first by four more.
    fn coloured(&mut self, indent: usize, colour: &str, text: &str) {
        for (i, part) in broken(text, self.width - indent - 4).into_iter().enumerate() {
            let more = if i == 0 { indent } else { indent + 4 };
            let part = self.painted(colour, &part);
            self.line(&format!("{:more$}{part}", ""));
        }
    }

    fn item(&mut self, text: &str) {
        let mark = self.painted(YELLOW, "!");
        for (i, part) in broken(text, self.width - 2).into_iter().enumerate() {
            let line = if i == 0 { format!("{mark} {part}") } else { format!("  {part}") };
            self.line(&line);
        }
    }

    /// A name and its columns; a name too long for its column is on lines of its own above. The ratio is `coloured`.
    fn row(&mut self, columns: &[(&str, usize)], name: &str, values: &[String], coloured: Option<&str>) {
        let indent = if coloured.is_some() { INDENT } else { 0 };
        let taken: usize = columns.iter().map(|(_, width)| width).sum();
        let room = self.width.saturating_sub(taken + indent).max(1);
        let mut name = name;
        if name.chars().count() >= room {
            self.wrapped(indent, name);
            name = "";
        }
        let mut line = format!("{:indent$}{name:<room$}", "");
        for ((head, width), value) in columns.iter().zip(values) {
            let gap = width.saturating_sub(value.chars().count());
            let value = match coloured {
                Some(colour) if *head == "ratio" => self.painted(colour, value),
                _ => value.clone(),
            };
            let _ = write!(line, "{:gap$}{value}", "");
        }
        self.line(&line);
    }
}
