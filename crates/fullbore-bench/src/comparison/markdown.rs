//! The comparison as Markdown, for pull requests and notes.

use std::fmt::Write;

use super::cell::CellChange;
use super::change::{Judgement, Measure};
use super::compare::Comparison;
use super::compared_run::{ComparedRun, Unmatched};
use super::words::{self, figure, heading, interval, marked_ratio, ratio};

/// Renders a comparison as GitHub Markdown. Text from the documents is escaped.
pub fn markdown(comparison: &Comparison) -> String {
    let mut page = String::from("# Comparison of storage results\n\n");
    let _ = writeln!(page, "- Baseline {}", text(&words::origin(&comparison.baseline)));
    for other in &comparison.others {
        let _ = writeln!(page, "- {}", text(&words::origin(&other.origin)));
    }
    for met in &comparison.conditions {
        let mark = if met.cells.is_empty() { "" } else { "**" };
        let _ = writeln!(page, "\n{mark}{}{mark}", text(&met.to_string()));
    }
    for other in &comparison.others {
        document(&mut page, comparison, other);
    }
    page
}

fn document(page: &mut String, comparison: &Comparison, other: &ComparedRun) {
    let name = text(&other.origin.name);
    let _ = writeln!(page, "\n## {name}: {}\n", text(&words::summary(other)));
    let _ = writeln!(page, "{}\n", text(&words::chance(other)));
    for line in words::ignored_differences(other).iter().chain(&other.notes) {
        let _ = writeln!(page, "- {}", text(line));
    }
    for judgement in words::ORDER {
        let cells: Vec<&CellChange> =
            other.cells.iter().filter(|cell| cell.rate.judgement == judgement).collect();
        if cells.is_empty() {
            continue;
        }
        // Unchanged cells are folded.
        let folded = judgement == Judgement::Same;
        let head = heading(judgement, cells.len());
        let _ = match folded {
            true => writeln!(page, "\n<details><summary>{head}</summary>\n"),
            false => writeln!(page, "\n### {head}\n"),
        };
        page.push_str("| cell | baseline | this | ratio | interval | cpu | p99 | notes |\n");
        page.push_str("|---|--:|--:|--:|--:|--:|--:|---|\n");
        for cell in cells {
            let _ = writeln!(
                page,
                "| {} | {} | {} | {} | {} | {} | {} | {} |",
                text(&cell.name),
                figure(Measure::Rate, cell.rate.baseline),
                figure(Measure::Rate, cell.rate.this),
                ratio(&cell.rate, comparison.confidence),
                interval(&cell.rate.ratio),
                text(&marked_ratio(cell.cost.as_ref())),
                text(&marked_ratio(cell.latency.as_ref())),
                text(&cell.notes.join("; ")),
            );
        }
        if folded {
            page.push_str("\n</details>\n");
        }
    }
    unmatched(page, "Missing: in the baseline only", &other.missing);
    unmatched(page, "Added: not in the baseline", &other.added);
    let _ = writeln!(page, "\n{}", text(&words::legend(comparison, other)));
}

fn unmatched(page: &mut String, head: &str, cells: &[Unmatched]) {
    if cells.is_empty() {
        return;
    }
    let _ = writeln!(page, "\n### {head} ({})\n", cells.len());
    for cell in cells {
        let _ = writeln!(page, "- {}: {}", text(&cell.name), text(&cell.reason));
    }
}

/// Text with Markdown's special characters escaped.
fn text(raw: &str) -> String {
    let mut safe = String::with_capacity(raw.len());
    for c in raw.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' => {
                safe.push('\\');
                safe.push(c);
            }
            c => safe.push(c),
        }
    }
    safe
}
