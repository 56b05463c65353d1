//! The comparison for the terminal: text of a given width, the worst cells first, the summary at the end.

use std::collections::BTreeMap;

use super::change::Judgement;
use super::compare::RunComparison;
use super::compared_run::{CellChange, ComparedRun, Unmatched};
use super::words::{self, heading};
use crate::block::text::{BOLD, GREEN, RED, Sheet, YELLOW};
use crate::table::TableOptions;

const INDENT: usize = 2;
/// Columns after the name: baseline, this, ratio, interval, CPU time, latency.
const COLUMNS: [(&str, usize); 6] =
    [("baseline", 10), ("this", 10), ("ratio", 8), ("interval", 13), ("cpu", 8), ("p99", 8)];

/// Renders a comparison as text; no line is wider than requested (60 at least), the last ends in a newline.
pub fn render(comparison: &RunComparison, options: TableOptions) -> String {
    let mut sheet = Sheet::new(options.width, options.colour);
    sheet.wrapped(0, &format!("baseline {}", words::origin(&comparison.baseline)));
    for other in &comparison.others {
        document(&mut sheet, comparison, other);
    }
    if !comparison.conditions.is_empty() {
        sheet.line("");
    }
    for met in &comparison.conditions {
        let colour = if met.met { RED } else { GREEN };
        sheet.styled(0, colour, &met.to_string());
    }
    for other in &comparison.others {
        sheet.wrapped(0, &format!("{}: {}", other.origin.name, words::summary(other)));
    }
    sheet.text
}

fn document(sheet: &mut Sheet, comparison: &RunComparison, other: &ComparedRun) {
    if comparison.others.len() > 1 {
        sheet.line("");
    }
    sheet.wrapped(0, &format!("this     {}", words::origin(&other.origin)));
    for line in words::ignored_differences(other) {
        sheet.styled(0, YELLOW, &line);
    }
    let latency = other.cells.iter().any(|cell| cell.latency.is_some());
    let columns = &COLUMNS[..if latency { 6 } else { 5 }];
    sheet.line("");
    let heads: Vec<_> = columns.iter().map(|(head, width)| ((*head).to_owned(), *width, "")).collect();
    sheet.row(0, ("", ""), &heads);
    for (judgement, cells) in words::groups(other) {
        let (colour, bold) = match judgement {
            Judgement::Worse => (RED, "1;31"),
            Judgement::Unclear => (YELLOW, "1;33"),
            Judgement::Same => ("", BOLD),
            Judgement::Better => (GREEN, "1;32"),
        };
        sheet.styled(0, bold, &heading(judgement, cells.len(), comparison.margin));
        for cell in cells {
            let values = words::figures(cell)
                .into_iter()
                .zip(columns)
                .map(|(value, (head, width))| (value, *width, if *head == "ratio" { colour } else { "" }));
            sheet.row(INDENT, (&cell.name, ""), &values.collect::<Vec<_>>());
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
    sheet.styled(0, BOLD, &format!("{head}: {where_} ({})", cells.len()));
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
    let judged = |cell: &&CellChange| cell.rate.is_judged();
    let noted = || other.cells.iter().filter(|cell| !cell.notes.is_empty());
    let mut lines = other.notes.clone();
    lines.extend(noted().filter(judged).map(|cell| format!("{}: {}", cell.name, cell.notes.join("; "))));
    let rest = noted().filter(|cell| !judged(cell)).count();
    if rest > 0 {
        lines.push(format!(
            "further notes on {} without a verdict of slower or faster: see --json, --csv or --html",
            crate::units::count(rest, "cell")
        ));
    }
    if lines.is_empty() {
        return;
    }
    sheet.line("");
    sheet.styled(0, BOLD, "Notes");
    for line in lines {
        sheet.item(&line);
    }
}
