//! The summary of a run on one page of a terminal: headline figures, the strategies to use, advice, warnings.

use super::full::{TableOptions, head};
use crate::block::text::Sheet;
use crate::document::{Document, Recommendation, StopReason, experiments, series};
use crate::report::{NO_DEFAULT, advice, capital, spanned, tiles, verdict};
use crate::units;

/// Lines of a summary at 80 columns: a page of 60, less those in which `bench` names its files.
pub(super) const LINES: usize = 55;
const WARNINGS: usize = 8;
const NAME: usize = 17;
const RATE: usize = 12;

/// Formats the summary of a document: at most 55 lines if `options` has 80 columns. The last line ends in a newline.
pub fn summary(document: &Document, options: TableOptions) -> String {
    let mut sheet = Sheet::new(options.width, options.colour);
    head(&mut sheet, document);
    let tiles = tiles(document);
    if !tiles.is_empty() {
        sheet.line("");
    }
    for [name, rate, how] in &tiles {
        sheet.columns(&[(&capital(name), NAME), (rate, RATE)], how);
    }
    for limit in document.findings.limits.iter().filter(|limit| limit.limited()) {
        sheet.columns(&[("Device limits", NAME)], &limit.words());
    }
    for found in document.findings.variation.iter().filter(|found| found.variation.matters()) {
        sheet.columns(&[("Storage", NAME)], &found.words());
    }
    let recommended = &document.findings.use_this;
    if !recommended.is_empty() {
        sheet.heading("Use this");
        recommended.iter().for_each(|found| row(&mut sheet, found));
    }
    let part = || Sheet::new(options.width, options.colour);
    let mut last = part();
    warnings(&mut last, document);
    let mut room = LINES.saturating_sub(sheet.lines() + last.lines());
    let (lead, rest) = advice(document);
    let entry = |text: String| {
        let mut entry = part();
        entry.wrapped(0, &text);
        entry
    };
    let entries = lead.iter().enumerate();
    let mut entries: Vec<Sheet> = entries
        .map(|(i, advice)| entry(format!("{}. {} ({})", i + 1, advice.text, advice.standing())))
        .collect();
    if lead.is_empty() && !rest.is_empty() {
        entries.push(entry(NO_DEFAULT.into()));
    }
    add(&mut sheet, "Advice", entries, rest.len(), &mut room);
    let all = experiments(&document.experiments, &document.cells);
    let sentences = all.iter().filter_map(|experiment| {
        let sentence =
            verdict(document, experiment, &series(&document.cells, experiment)).into_iter().next()?;
        Some(entry(format!("{}: {sentence}", experiment.title)))
    });
    add(&mut sheet, "By experiment", sentences.collect(), 0, &mut room);
    sheet.text + &last.text
}

/// Adds a heading and the entries that there is room for, with a line about the others and `more` of them.
fn add(sheet: &mut Sheet, heading: &str, entries: Vec<Sheet>, more: usize, room: &mut usize) {
    /// A heading with the empty line before it, and the line about the others.
    const FRAME: usize = 3;
    let mut left = room.saturating_sub(FRAME);
    let mut shown = 0;
    let all = entries.len();
    for entry in entries {
        if entry.lines() > left {
            break;
        }
        if shown == 0 {
            sheet.heading(heading);
        }
        left -= entry.lines();
        shown += 1;
        sheet.text += &entry.text;
    }
    if shown > 0 {
        *room = left;
        let more = more + all - shown;
        if more > 0 {
            sheet.line(&format!("… {more} more with --full and in the report"));
        }
    }
}

fn row(sheet: &mut Sheet, found: &Recommendation) {
    let rate = spanned(found.rate, |rate| found.unit.rate(rate));
    let mut text = format!("{rate}: {}, {}", found.method, found.place);
    if let Some(other) = &found.no_difference_from {
        text += &format!("; no significant difference from {other}");
    }
    sheet.columns(&[(&capital(found.job.words()), NAME)], &text);
    if let Some(typed) = found.command.as_ref().or(found.plain.as_ref()) {
        sheet.columns(&[("", 4)], typed);
    }
}

/// Adds the numbers of warnings by kind, in at most [`WARNINGS`] lines with their heading.
fn warnings(sheet: &mut Sheet, document: &Document) {
    let summaries = || document.cells.iter().filter_map(|cell| cell.summary.as_ref());
    let measured = units::count(summaries().count(), "cell");
    let kinds = [
        ("missed the target precision", summaries().filter(|s| s.stop != StopReason::Precise).count()),
        ("have samples that counters contradict", summaries().filter(|s| s.contradicted > 0).count()),
        ("are limited by the meter", summaries().filter(|s| s.tool_bound).count()),
    ];
    let mut lines: Vec<String> = kinds
        .iter()
        .filter(|kind| kind.1 > 0)
        .map(|(what, count)| format!("{count} of {measured} {what}"))
        .collect();
    let skipped = document.cells.iter().filter(|cell| cell.skipped.is_some()).count();
    lines.extend((skipped > 0).then(|| format!("{} skipped", units::count(skipped, "cell"))));
    lines.extend(document.audit.findings.iter().map(|finding| format!("self-audit: {finding}")));
    lines.extend(document.run.notes.iter().cloned());
    if lines.is_empty() {
        return;
    }
    sheet.heading("Warnings");
    for line in lines {
        let before = sheet.text.len();
        sheet.item(&line);
        if sheet.lines() >= WARNINGS {
            sheet.text.truncate(before);
            sheet.item("more with --full and in the report");
            break;
        }
    }
}
