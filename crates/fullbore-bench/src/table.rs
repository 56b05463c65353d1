//! The terminal's views of a run: a summary of one page with headline figures, strategies to use, advice and warnings; and
//! all findings.

use std::collections::BTreeMap;

use crate::block::text::{BOLD, Sheet};
use crate::document::{
    Axis, Document, Experiment, Peak, PeerRatio, Recommendation, Regret, RuleVerdict, Series,
    SeriesHalfPower, StopReason, Summary, experiments, series, word,
};
use crate::grouping::distinct;
use crate::report::{
    NO_DEFAULT, advice, capital, device_facts, headline_figures, measured_rate, spanned, tiles, verdict,
    wrong_predictions,
};
use crate::stats::Estimate;
use crate::units;

/// Layout of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableOptions {
    /// Columns of the terminal; at least 60.
    pub width: usize,
    /// True if headings and warnings are coloured by ANSI escapes.
    pub colour: bool,
}

impl Default for TableOptions {
    /// 80 columns, no colour.
    fn default() -> Self {
        Self { width: 80, colour: false }
    }
}

/// Widths of the columns after the path: rate, ±, roof, half-power, µs per request, ms per MB.
const COLUMNS: [usize; 6] = [11, 6, 6, 11, 8, 8];
const HEADINGS: [&str; 6] = ["rate", "±", "roof", "half-power", "µs/req", "ms/MB"];

/// Formats the findings of a document as text: a block per experiment, advice at the end. Lines have at most the requested width
/// (at least 60), except for a long word of a command that cannot be cut at a comma. The last line ends in a newline.
pub fn render(document: &Document, options: TableOptions) -> String {
    let mut sheet = Sheet::new(options.width, options.colour);
    head(&mut sheet, document);
    headlines(&mut sheet, document, usize::MAX);
    use_this(&mut sheet, document);
    blocks(&mut sheet, document);
    peers(&mut sheet, document);
    warnings(&mut sheet, document);
    choices(&mut sheet, document);
    regrets(&mut sheet, document);
    rules(&mut sheet, document);
    predictions(&mut sheet, document);
    all_advice(&mut sheet, document);
    sheet.text
}

fn head(sheet: &mut Sheet, document: &Document) {
    let run = &document.run;
    let system = &document.environment.file_system.kind;
    let on = if system.is_empty() { String::new() } else { format!(" ({system})") };
    sheet
        .wrapped(0, &format!("{}{on}, {} file, {}", run.directory, units::size(run.file_bytes), run.started));
    let samples: usize = document.cells.iter().map(|c| c.samples.len()).sum();
    let measured = document.cells.iter().filter(|c| c.summary.is_some()).count();
    let ended = match (run.complete, run.interrupted) {
        (_, true) => "; interrupted, incomplete",
        (false, false) => "; incomplete",
        (true, false) => "",
    };
    let (cells, samples) = (units::count(measured, "cell"), units::count(samples, "sample"));
    sheet.wrapped(0, &format!("{cells}, {samples} in {}{ended}", units::seconds(run.duration_s)));
}

fn width(rate: &Estimate) -> String {
    if rate.has_interval() { units::percent(rate.relative_half_width()) } else { "?".into() }
}

/// Adds a block for each measured experiment: its paths at their peaks, then its findings.
fn blocks(sheet: &mut Sheet, document: &Document) {
    let all: Vec<(Experiment, Vec<Series>)> = experiments(&document.experiments, &document.cells)
        .into_iter()
        .map(|experiment| {
            let lines = series(&document.cells, &experiment);
            (experiment, lines)
        })
        .collect();
    let measured = all.iter().any(|(_, lines)| !lines.is_empty());
    if measured {
        sheet.heading("Peak of each path, by experiment");
    }
    for (experiment, lines) in all {
        let described = verdict(document, &experiment, &lines);
        if lines.is_empty() && described.is_empty() {
            continue;
        }
        let peaks: Vec<&Peak> =
            document.findings.peaks.iter().filter(|p| p.series.experiment == experiment.name).collect();
        sheet.line("");
        let headings: &[_] = if peaks.is_empty() { &[] } else { &HEADINGS };
        row(sheet, 0, (&experiment.title, BOLD), headings.iter().map(|heading| (*heading).to_owned()));
        paths(sheet, document, &peaks);
        described.iter().for_each(|sentence| sheet.wrapped(2, sentence));
    }
    if measured {
        sheet.line("");
        sheet.wrapped(
            0,
            "± half the 95% interval; roof: share of the roof, the fastest read or copy of memory; half-power: \
             smallest request or depth that reaches half of the peak; CPU time at the peak, as charged to the process.",
        );
    }
}

fn paths(sheet: &mut Sheet, document: &Document, peaks: &[&Peak]) {
    for peak in peaks {
        let summary = document.summary(&peak.cell);
        let per_request =
            summary.and_then(|s| s.cpu_per_request).map(|c| units::significant(c.charged.value * 1e6));
        let per_mb = summary.map(|s| units::ms_per_mb(s.cpu_per_mb.charged.value));
        // The rate of small random requests is given in requests per second.
        let small = |bytes: u64| bytes <= 16 << 10;
        let random =
            peak.series.labels.is_random_over_file() && peak.series.labels.request_bytes.is_some_and(small);
        let requests = summary.and_then(|s| s.requests_per_s).filter(|_| random);
        let values = [
            requests.map_or_else(|| units::rate(peak.rate.value), units::requests_rate),
            width(&peak.rate),
            peak.share_of_roof.map_or("-".into(), units::percent),
            half_power(document, peak),
            per_request.unwrap_or("-".into()),
            per_mb.unwrap_or("-".into()),
        ];
        row(sheet, 2, (&peak.series.name, ""), values);
    }
}

fn row(sheet: &mut Sheet, indent: usize, name: (&str, &str), values: impl IntoIterator<Item = String>) {
    let values: Vec<_> = values.into_iter().zip(COLUMNS).map(|(value, width)| (value, width, "")).collect();
    sheet.row(indent, name, &values);
}

/// Formats the half-power point of the peak's path: `64 KiB`, `depth 3`, `≤ 4 KiB`.
fn half_power(document: &Document, peak: &Peak) -> String {
    let same = |found: &&SeriesHalfPower| found.series.cells == peak.series.cells;
    let on = |found: &SeriesHalfPower, axis: Axis| {
        let bound = if found.half_power.at_most { "≤ " } else { "" };
        format!("{bound}{}", axis.label(found.half_power.at))
    };
    let findings = &document.findings;
    let request = findings.half_power_request.iter().find(same).map(|f| on(f, Axis::Request));
    let depth = findings.half_power_depth.iter().find(same).map(|f| on(f, Axis::Depth));
    request.or(depth).unwrap_or("-".into())
}

fn listed<T>(sheet: &mut Sheet, heading: &str, items: &[T], mut add: impl FnMut(&mut Sheet, &T)) {
    if !items.is_empty() {
        sheet.heading(heading);
        items.iter().for_each(|item| add(sheet, item));
    }
}

fn choices(sheet: &mut Sheet, document: &Document) {
    listed(sheet, "Strategy chosen for each job", &document.findings.choices, |sheet, choice| {
        sheet.wrapped(0, &format!("{}: {}", choice.job, choice.strategy));
        sheet.wrapped(4, &choice.evidence);
    });
}

fn regrets(sheet: &mut Sheet, document: &Document) {
    let heading = "auto against the best strategy of each job";
    listed(sheet, heading, &document.findings.regrets, |sheet, regret| sheet.wrapped(0, &regret.text()));
}

fn rules(sheet: &mut Sheet, document: &Document) {
    let rules = &document.findings.rules;
    if rules.is_empty() {
        return;
    }
    sheet.heading("The rules of 1997, tested again");
    for verdict in [RuleVerdict::StillTrue, RuleVerdict::NoLongerTrue, RuleVerdict::NotTestable] {
        let numbers: Vec<String> =
            rules.iter().filter(|r| r.verdict == verdict).map(|r| r.number.to_string()).collect();
        if !numbers.is_empty() {
            sheet.wrapped(0, &format!("{}: {}", verdict.words(), numbers.join(", ")));
        }
    }
}

fn all_advice(sheet: &mut Sheet, document: &Document) {
    let mut number = 0;
    listed(sheet, "Advice", &document.findings.advice, |sheet, advice| {
        number += 1;
        sheet.wrapped(0, &format!("{number}. {} ({} confidence)", advice.text, word(advice.confidence)));
        advice.setting.iter().for_each(|setting| sheet.command(setting));
    });
}

fn predictions(sheet: &mut Sheet, document: &Document) {
    let names = document.cell_names();
    listed(sheet, "Wrong predictions of the model", &wrong_predictions(document), |sheet, one| {
        let (measured, predicted) = (measured_rate(document, &one.cell), spanned(one.rate, units::rate));
        sheet.wrapped(
            0,
            &format!("{}: {measured}; predicted {predicted}", names.get(&one.cell).unwrap_or(&one.cell)),
        );
    });
}

fn use_this(sheet: &mut Sheet, document: &Document) {
    listed(sheet, "Use this", &document.findings.use_this, |sheet, found| {
        let rate = spanned(found.rate, |rate| found.unit.rate(rate));
        sheet.wrapped(0, &format!("{}, {}: {}, {rate}", found.job.words(), found.place, found.method));
        let other = found.no_difference_from.as_ref();
        let other = other.map(|other| format!("no significant difference from {other}"));
        other.iter().for_each(|text| sheet.wrapped(4, text));
        [&found.command, &found.plain].into_iter().flatten().for_each(|text| sheet.command(text));
    });
}

fn peers(sheet: &mut Sheet, document: &Document) {
    let findings = &document.findings.peers;
    if findings.is_empty() {
        return;
    }
    sheet.heading("Ratios: fullbore ÷ other programs (95% interval)");
    let names = document.cell_names();
    for found in findings {
        let name = names.get(&found.cell).unwrap_or(&found.cell);
        sheet.wrapped(2, &format!("{name} ÷ {}", found.peer));
        sheet.wrapped(6, &found.text());
    }
    let note = |found: &PeerRatio| Some(format!("{}: {}", found.peer, found.note.as_ref()?));
    distinct(findings.iter().filter_map(note)).iter().for_each(|note| sheet.item(note));
}

fn warnings(sheet: &mut Sheet, document: &Document) {
    let names = document.cell_names();
    let mut lines = Vec::new();
    let mut imprecise = 0;
    // Cells skipped for the same reason share one line.
    let mut skipped: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for cell in &document.cells {
        if let Some(reason) = &cell.skipped {
            skipped.entry(reason).or_default().push(names[&cell.id].clone());
        }
        let Some(summary) = &cell.summary else {
            if !cell.samples.is_empty() {
                lines.push(format!("{}: no usable sample", names[&cell.id]));
            }
            continue;
        };
        imprecise += usize::from(summary.stop != StopReason::Precise);
        lines.extend(summary.warnings_of_samples().map(|warning| format!("{}: {warning}", names[&cell.id])));
    }
    if imprecise > 0 {
        let cells = units::count(imprecise, "cell");
        lines.push(format!("{cells} did not reach the target precision: see ± and the report"));
    }
    lines.extend(skipped.iter().map(|(reason, what)| format!("skipped {}: {reason}", what.join(", "))));
    lines.extend(document.audit.findings.iter().map(|finding| format!("self-audit: {finding}")));
    lines.extend(document.run.notes.iter().cloned());
    if !lines.is_empty() {
        sheet.heading("Warnings");
        for line in lines {
            sheet.item(&line);
        }
    }
}

/// Lines of a summary at 80 columns: a page of 60, less those in which `bench` names its files.
const LINES: usize = 55;
const WARNINGS: usize = 8;
/// Lines of a part without entries: a heading with the empty line before it, and the line about the others.
const FRAME: usize = 3;
const NAME: usize = 17;
const RATE: usize = 12;

/// Formats the summary of a document: at most 55 lines if `options` has 80 columns. The last line ends in a newline.
pub fn summary(document: &Document, options: TableOptions) -> String {
    let mut sheet = Sheet::new(options.width, options.colour);
    head(&mut sheet, document);
    headlines(&mut sheet, document, DEVICE_FACTS);
    // The largest significant regret, or the most precise of all.
    let weight = |found: &&Regret| match found.regret {
        Estimate { value, low, .. } if low > 0.0 => (1, value),
        Estimate { low, high, .. } => (0, low - high),
    };
    let regret = document.findings.regrets.iter().max_by(|a, b| {
        let ((a, first), (b, second)) = (weight(a), weight(b));
        a.cmp(&b).then(first.total_cmp(&second))
    });
    if let Some(regret) = regret {
        sheet.columns(&[("Auto", NAME)], &regret.words());
    }
    let recommended = &document.findings.use_this;
    if !recommended.is_empty() {
        sheet.heading("Use this");
        recommended.iter().for_each(|found| recommend(&mut sheet, found));
    }
    let part = || Sheet::new(options.width, options.colour);
    let mut last = part();
    warning_counts(&mut last, document);
    let mut room = LINES.saturating_sub(sheet.lines() + last.lines());
    let (lead, rest) = advice(document);
    let entry = |text: String| {
        let mut entry = part();
        entry.wrapped(0, &text);
        entry
    };
    let entries = lead.iter().enumerate();
    let mut entries: Vec<Sheet> = entries
        .map(|(i, advice)| {
            let mut entry =
                entry(format!("{}. {} ({} confidence)", i + 1, advice.text, word(advice.confidence)));
            let used = |found: &Recommendation| [&found.command, &found.plain].contains(&&advice.setting);
            if let Some(setting) = advice.setting.as_ref().filter(|_| !recommended.iter().any(used)) {
                entry.command(setting);
            }
            entry
        })
        .collect();
    if lead.is_empty() && !rest.is_empty() {
        entries.push(entry(NO_DEFAULT.into()));
    }
    add(&mut sheet, "Advice", entries, rest.len(), &mut room);
    // Advice comes first: the experiments have the room that it leaves.
    let all = experiments(&document.experiments, &document.cells);
    let sentences = all.iter().filter_map(|experiment| {
        let sentence =
            verdict(document, experiment, &series(&document.cells, experiment)).into_iter().next()?;
        Some(entry(format!("{}: {sentence}", experiment.title)))
    });
    add(&mut sheet, "By experiment", sentences.collect(), 0, &mut room);
    sheet.text + &last.text
}

/// The most facts of devices in a summary.
const DEVICE_FACTS: usize = 5;

/// Adds the headline figures, and up to `most` facts of the devices that qualify them.
fn headlines(sheet: &mut Sheet, document: &Document, most: usize) {
    let tiles = tiles(document);
    if !tiles.is_empty() {
        sheet.line("");
    }
    for [name, rate, how] in &tiles {
        sheet.columns(&[(&capital(name), NAME), (rate, RATE)], how);
    }
    let facts = device_facts(document);
    for (what, text) in facts.iter().take(most) {
        sheet.columns(&[(what, NAME)], text);
    }
    if facts.len() > most {
        sheet.line(&format!("… {} more facts of devices with --full", facts.len() - most));
    }
}

/// Adds a heading, the entries that there is room for, and a line about the others and `more` of them; nothing if there are none
/// to show or to mention.
fn add(sheet: &mut Sheet, heading: &str, entries: Vec<Sheet>, more: usize, room: &mut usize) {
    let all = entries.len() + more;
    let mut left = room.saturating_sub(FRAME);
    let fits = |entry: &Sheet| {
        let fits = entry.lines() <= left;
        left -= if fits { entry.lines() } else { 0 };
        fits
    };
    let shown: Vec<Sheet> = entries.into_iter().take_while(fits).collect();
    if shown.is_empty() && more == 0 {
        return;
    }
    sheet.heading(heading);
    shown.iter().for_each(|entry| sheet.text += &entry.text);
    if all > shown.len() {
        sheet.line(&format!("… {} more with --full and in the report", all - shown.len()));
    }
    *room = left;
}

fn recommend(sheet: &mut Sheet, found: &Recommendation) {
    let rate = spanned(found.rate, |rate| found.unit.rate(rate));
    let mut text = format!("{rate}: {}, {}", found.method, found.place);
    if let Some(other) = &found.no_difference_from {
        text += &format!("; no significant difference from {other}");
    }
    sheet.columns(&[(&capital(found.job.words()), NAME)], &text);
    if let Some(typed) = found.command.as_ref().or(found.plain.as_ref()) {
        sheet.command(typed);
    }
}

/// Adds the numbers of warnings by kind, in at most [`WARNINGS`] lines with their heading.
fn warning_counts(sheet: &mut Sheet, document: &Document) {
    let summaries = || document.cells.iter().filter_map(|cell| cell.summary.as_ref());
    let measured = units::count(summaries().count(), "cell");
    let headlines = headline_figures(document);
    let missed = |s: &&Summary| s.stop != StopReason::Precise;
    let imprecise = headlines.iter().filter_map(|(_, cell, _)| cell.summary.as_ref()).filter(missed).count();
    // Other cells have few samples where a decision does not need more.
    let imprecise = (imprecise > 0).then(|| {
        let figures = units::count(headlines.len(), "headline figure");
        format!("{imprecise} of {figures} missed the target precision")
    });
    let kinds = [
        ("have samples that counters contradict", summaries().filter(|s| s.contradicted > 0).count()),
        ("are limited by the meter", summaries().filter(|s| s.tool_bound).count()),
    ];
    let counted = kinds.iter().filter(|kind| kind.1 > 0);
    let counted = counted.map(|(what, count)| format!("{count} of {measured} {what}"));
    let mut lines: Vec<String> = imprecise.into_iter().chain(counted).collect();
    let skipped = document.cells.iter().filter(|cell| cell.skipped.is_some()).count();
    lines.extend(
        (skipped > 0)
            .then(|| format!("{} skipped; the report gives the reasons", units::count(skipped, "cell"))),
    );
    lines.extend(document.audit.findings.iter().map(|finding| format!("self-audit: {finding}")));
    lines.extend(document.run.notes.iter().cloned());
    if lines.is_empty() {
        return;
    }
    sheet.heading("Warnings");
    let mut lines = lines.into_iter().peekable();
    while let Some(line) = lines.next() {
        let before = sheet.text.len();
        sheet.item(&line);
        // The last line is for the others, if there are any.
        if sheet.lines() > WARNINGS - usize::from(lines.peek().is_some()) {
            sheet.text.truncate(before);
            sheet.item("more with --full and in the report");
            break;
        }
    }
}
