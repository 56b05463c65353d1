//! The summary: throughput, losses and quality of a run in a few sentences; and parts of sentences for all sections: values with
//! their intervals, and cells compared.

use crate::block::{Block, Section};
use crate::comparable::comparable;
use crate::document::{
    AccessMethod, CacheState, Cell, Document, Headline, Labels, Operation, Peak, Regime, Series, StopReason,
    Summary, is_ordinary, page_size,
};
use crate::grouping::grouped;
use crate::simplicity::{fastest_cell, fastest_known};
use crate::stats::{Estimate, RatioComparison, Verdict, correlation_time, quantile};
use crate::units;

pub(super) fn section(document: &Document) -> Section {
    let blocks = vec![Block::Tiles(tiles(document)), Block::List(sentences(document))];
    Section::new("summary", "Summary", blocks)
}

/// Four to six sentences, each with its figures, and facts of the devices; fewer when less was measured.
fn sentences(document: &Document) -> Vec<String> {
    let described = [scope(document), reading(document), writing(document), roof(document), waste(document)];
    let mut sentences: Vec<String> = described.into_iter().flatten().collect();
    sentences.extend(device_facts(document).into_iter().map(|(what, text)| format!("{what}: {text}.")));
    sentences.push(quality(document));
    sentences
}

/// Facts of the devices that qualify the figures, each with its name: limits, credit, and variation. A device without a limiter is
/// named if the regime of a headline figure is unknown.
pub(crate) fn device_facts(document: &Document) -> Vec<(&'static str, String)> {
    let findings = &document.findings;
    let is_unknown =
        headline_figures(document).iter().any(|(_, cell, _)| cell.regime() == Some(Regime::Unknown));
    let shown = findings.limits.iter().filter(|limit| limit.limited() || is_unknown);
    // Equal limits of several directories share a line.
    let mut limits =
        grouped(shown.map(|limit| ((!limit.limited(), limit.words()), limit.directory.as_str())));
    limits.sort_by_key(|((is_unlimited, _), _)| *is_unlimited);
    let several = !document.run.directories.is_empty();
    let limits = limits.into_iter().map(|((is_unlimited, mut words), directories)| {
        if is_unlimited {
            words += "; the regime is unknown";
        }
        ("Device limits", if several { format!("{}: {words}", directories.join(", ")) } else { words })
    });
    let credits = findings.credit.iter().filter(|found| found.fit.burst.is_some());
    let credits = credits.map(|found| ("Device credit", format!("{}s: {}", found.operation, found.text())));
    let variation = findings.variation.iter().filter(|found| found.variation.matters());
    let variation = variation.map(|found| ("Storage", found.words()));
    limits.chain(credits).chain(variation).collect()
}

fn fastest(document: &Document, headline: Headline) -> Option<&Peak> {
    let peaks = document.findings.peaks.iter().filter(|peak| {
        // The labels of a series lack those of its axis, such as the number of disks.
        let labels = document.cell(&peak.cell).map_or(&peak.series.labels, |cell| &cell.labels);
        Headline::of(labels) == Some(headline)
    });
    let samples = |peak: &Peak| document.summary(&peak.cell).map_or(0, |summary| summary.n);
    fastest_known(peaks.map(|peak| (peak, peak.rate.value, samples(peak))))
}

/// Method, request size, depth and workers of a cell: `direct, 4 MiB requests, depth 8`.
pub(super) fn method_text(labels: &Labels) -> String {
    let mut parts = vec![labels.method.to_string()];
    parts.extend(labels.request_bytes.map(|r| format!("{} requests", units::size(r))));
    parts.extend(labels.depth.filter(|d| *d > 1).map(|d| format!("depth {d}")));
    parts.extend(labels.workers.filter(|w| *w > 1).map(|w| units::count(w as usize, "worker")));
    parts.join(", ")
}

/// Method of a path's fastest cell.
fn reached(document: &Document, peak: &Peak) -> String {
    document.cell(&peak.cell).map_or_else(|| method_text(&peak.series.labels), circumstances)
}

/// Method of a cell, a burst, the figure of the other regime beside it, and an unproved cache state.
fn circumstances(cell: &Cell) -> String {
    let summary = cell.summary.as_ref();
    let burst = summary.filter(|summary| summary.regime == Some(Regime::Burst));
    let beside = burst.map(|_| "burst".to_owned()).into_iter();
    let beside = beside.chain(summary.and_then(Summary::other_regime_text));
    let unproved = summary.is_some_and(|summary| summary.unproved > 0);
    let unproved = unproved.then(|| "cache state unproved".to_owned());
    std::iter::once(method_text(&cell.labels)).chain(beside).chain(unproved).collect::<Vec<_>>().join(", ")
}

/// The headline figures: name, cell and rate.
pub(crate) fn headline_figures(document: &Document) -> Vec<(&'static str, &Cell, String)> {
    let peak = |headline: Headline| {
        let peak = fastest(document, headline)?;
        Some((document.cell(&peak.cell)?, units::rate(peak.rate.value)))
    };
    let random = || most_random(document).map(|(cell, requests)| (cell, units::requests_rate(requests)));
    let roof = || {
        let roof = document.findings.roof.as_ref()?;
        Some((document.cell(&roof.cell)?, units::rate(roof.rate.value)))
    };
    let figures = [
        ("read, page cache", peak(Headline::CachedReads)),
        ("read, device", peak(Headline::DeviceReads)),
        ("write, page cache", peak(Headline::CachedWrites)),
        ("write, device", peak(Headline::FlushedWrites).or_else(|| peak(Headline::DirectWrites))),
        ("random reads", random()),
        ("roof: memory", roof()),
    ];
    figures.into_iter().filter_map(|(name, figure)| figure.map(|(cell, rate)| (name, cell, rate))).collect()
}

/// The headline figures in words: name, rate, and its half-width with the method.
pub(crate) fn tiles(document: &Document) -> Vec<[String; 3]> {
    let tile = |(name, cell, rate): (&str, &Cell, String)| {
        let width = cell.summary.as_ref().and_then(|summary| summary.relative_half_width);
        let width = width.map(|width| format!("±{}", units::percent(width)));
        let how = (cell.labels.method != AccessMethod::Memory).then(|| circumstances(cell));
        let parts = width.into_iter().chain(how).chain(variation(cell));
        [name.into(), rate, parts.collect::<Vec<_>>().join(", ")]
    };
    headline_figures(document).into_iter().map(tile).collect()
}

/// A half-width above which a headline figure states how its samples vary.
const PRECISE: f64 = 0.05;

/// The levels between which the samples of an imprecise figure vary, and their time scale: `varies from 1.10 to 1.62 GB/s
/// over about 8.00 s`.
fn variation(cell: &Cell) -> Option<String> {
    let summary = cell.summary.as_ref()?;
    summary.relative_half_width.filter(|width| *width > PRECISE)?;
    let course: Vec<(f64, f64)> = cell.counted().map(|sample| (sample.start_s, sample.rate())).collect();
    let rates: Vec<f64> = course.iter().map(|point| point.1).collect();
    let ends = [quantile(&rates, 0.1)?, quantile(&rates, 0.9)?];
    let [low, high] = summary.modes.as_ref().map_or(ends, |modes| [modes.low.value, modes.high.value]);
    let [low, high] =
        [low, high].map(|rate| match summary.requests_per_s.filter(|_| cell.labels.is_random_over_file()) {
            Some(requests) => units::requests_rate(requests * rate / summary.rate.value),
            None => units::rate(rate),
        });
    let scale = correlation_time(&course);
    let scale = scale.map_or_else(String::new, |scale| format!(" over about {}", units::seconds(scale)));
    Some(format!("varies from {low} to {high}{scale}"))
}

/// The cell with the most random reads of a page per second from the device; if none read from the device, from the page cache.
fn most_random(document: &Document) -> Option<(&Cell, f64)> {
    let most = |headline: Headline| {
        let cells = || {
            let measured = document.cells.iter().filter(|cell| cell.summary.is_some());
            measured.filter(move |cell| Headline::of(&cell.labels) == Some(headline))
        };
        let kept = comparable(cells(), document.run.regime);
        let sizes: Vec<u64> = cells().filter_map(|c| c.labels.request_bytes).collect();
        let page = page_size(sizes.iter().copied());
        let rated = cells()
            .filter(|c| c.labels.request_bytes == page && kept(c))
            .filter_map(|c| Some((c, c.summary.as_ref()?)))
            .filter_map(|(c, summary)| Some(((c, summary.requests_per_s?), summary)));
        fastest_known(rated.map(|(found, summary)| (found, found.1, summary.n)))
    };
    most(Headline::RandomReads).or_else(|| most(Headline::CachedRandomReads))
}

/// Directory, file size, machine and extent of the run.
fn scope(document: &Document) -> Option<String> {
    let measured = document.cells.iter().filter(|c| c.summary.is_some()).count();
    if measured == 0 {
        return None;
    }
    let samples: usize = document.cells.iter().map(|c| c.samples.len()).sum();
    let env = &document.environment;
    let mut machine = Vec::new();
    machine.extend((!env.cpu_model.is_empty()).then(|| env.cpu_model.clone()));
    machine.extend((env.logical_cpus > 0).then(|| units::count(env.logical_cpus as usize, "processor")));
    machine.extend(env.memory_bytes.map(|m| format!("{} of memory", units::size(m))));
    let on = if machine.is_empty() { String::new() } else { format!(", on {}", machine.join(", ")) };
    let system = &env.file_system;
    let kind = if system.kind.is_empty() { String::new() } else { format!(" on {}", system.kind) };
    Some(format!(
        "Measured in {}{kind} with a test file of {}, started {}{on}: {}, {}, in {}.",
        document.run.directory,
        units::size(document.run.file_bytes),
        moment(&document.run.started),
        units::count(measured, "cell"),
        units::count(samples, "sample"),
        duration(document.run.duration_s)
    ))
}

/// Formats an RFC 3339 time in UTC as `2026-03-14 09:26 UTC`; other text is returned unchanged.
fn moment(started: &str) -> String {
    let parts = started.strip_suffix('Z').and_then(|t| t.split_once('T'));
    parts.map_or_else(
        || started.to_owned(),
        |(day, time)| format!("{day} {} UTC", time.chars().take(5).collect::<String>()),
    )
}

/// Formats a duration: `45 s`, `27 min`.
fn duration(seconds: f64) -> String {
    if seconds >= 120.0 { format!("{:.0} min", seconds / 60.0) } else { units::seconds(seconds) }
}

fn describe_peak(document: &Document, peak: &Peak) -> String {
    format!("{} ({})", units::rate(peak.rate.value), reached(document, peak))
}

/// Words on the fastest path of each headline figure that was measured.
fn in_words<const N: usize>(
    document: &Document,
    headlines: [(Headline, &str); N],
    text: impl Fn(&str, &Peak) -> String,
) -> Vec<String> {
    let words = |(headline, what)| fastest(document, headline).map(|peak| text(what, peak));
    headlines.into_iter().filter_map(words).collect()
}

fn enumerated(parts: &[String], and: &str) -> Option<String> {
    let (last, first) = parts.split_last()?;
    Some(if first.is_empty() { last.clone() } else { format!("{}{and}{last}", first.join(", ")) })
}

fn reading(document: &Document) -> Option<String> {
    let headlines = [(Headline::CachedReads, "page cache"), (Headline::DeviceReads, "device")];
    let parts = in_words(document, headlines, |source, peak| {
        format!("reads from the {source} reach {}", describe_peak(document, peak))
    });
    (!parts.is_empty()).then(|| capital(&parts.join("; ")) + ".")
}

fn writing(document: &Document) -> Option<String> {
    let headlines = [
        (Headline::CachedWrites, "into the page cache (lost on power failure)"),
        (Headline::DirectWrites, "with direct I/O"),
        (Headline::FlushedWrites, "with a flush to the device"),
    ];
    let parts = in_words(document, headlines, |to, peak| format!("{} {to}", describe_peak(document, peak)));
    Some(format!("Writes reach {}.", enumerated(&parts, ", and ")?))
}

/// The best throughputs as shares of the roof.
fn roof(document: &Document) -> Option<String> {
    let roof = document.findings.roof.as_ref()?;
    let headlines = [
        (Headline::CachedReads, "reads from the page cache"),
        (Headline::DeviceReads, "reads from the device"),
        (Headline::CachedWrites, "writes into the page cache"),
    ];
    let parts = in_words(document, headlines, |what, peak| {
        format!("{what} {}", roof.share(&peak.rate).map_or("-".into(), units::percent))
    });
    let list = enumerated(&parts, " and ")?;
    Some(format!("Share of the roof (memory, {}): {list}.", units::rate(roof.rate.value)))
}

/// The most costly choice: smallest request, least depth or slowest path, each against the best.
fn waste(document: &Document) -> Option<String> {
    let mut losses: Vec<(f64, String)> = Vec::new();
    let ordinary = |peak: &Peak| document.cell(&peak.cell).is_some_and(|cell| is_ordinary(&cell.labels));
    let ours = |p: &&Peak| ordinary(p) && p.series.labels.operation.is_transfer();
    for peak in document.findings.peaks.iter().filter(ours) {
        let same = |other: &&Peak| {
            let (a, b) = (&other.series, &peak.series);
            let alike = (&a.labels.operation, a.labels.cache, &a.labels.order, a.labels.flush)
                == (&b.labels.operation, b.labels.cache, &b.labels.order, b.labels.flush);
            a.experiment == b.experiment && alike && ordinary(other)
        };
        let rivals = document.findings.peaks.iter().filter(same);
        let best = rivals.max_by(|a, b| a.rate.value.total_cmp(&b.rate.value));
        let Some((best, cell)) = best.and_then(|b| Some((b, document.cell(&b.cell)?))) else { continue };
        // On the best path: its smallest request, its least depth.
        if best == peak {
            let ends = peak.series.cells.iter().filter_map(|id| document.cell(id));
            losses.extend(ends.filter_map(|other| loss(cell, other, &same_path(cell, other)?)));
        } else if let Some(other) = document.cell(&peak.cell) {
            let instead =
                format!("by {} instead of {}", method_text(&other.labels), method_text(&cell.labels));
            losses.extend(loss(cell, other, &instead));
        }
    }
    losses.sort_by(|a, b| b.0.total_cmp(&a.0));
    Some(format!("Largest loss: {}.", losses.first()?.1))
}

/// Difference between two cells of a path in request size or depth, if `other` has less of it.
fn same_path(best: &Cell, other: &Cell) -> Option<String> {
    let (a, b) = (&best.labels, &other.labels);
    let request = b.request_bytes.filter(|r| a.request_bytes.is_some_and(|best| *r < best));
    let depth = b.depth.filter(|d| a.depth.is_some_and(|best| *d < best));
    let (what, with) = match (request, depth) {
        (Some(request), _) => {
            let (few, many) = (units::size(request), units::size(a.request_bytes?));
            (format!("requests of {few} instead of {many}"), Labels { request_bytes: None, ..a.clone() })
        }
        (None, Some(depth)) => {
            let few = units::count(depth as usize, "request");
            (format!("{few} in flight instead of {}", a.depth?), Labels { depth: None, ..a.clone() })
        }
        (None, None) => return None,
    };
    Some(format!("with {what} ({})", method_text(&with)))
}

/// The ratio of a loss, and its text, if the ratio's interval confirms it.
fn loss(best: &Cell, other: &Cell, instead: &str) -> Option<(f64, String)> {
    let comparison = best.compared_with(other).filter(|c| c.verdict == Verdict::Faster)?;
    let labels = &other.labels;
    let doing = if labels.operation == Operation::Read { "a read" } else { "a write" };
    let kind = [labels.cache.map(CacheState::word), labels.order.as_deref()].into_iter().flatten();
    let kind = kind.map(|word| format!("{word} ")).collect::<String>();
    let ratio = comparison.ratio;
    let [value, low, high] = [ratio.value, ratio.low, ratio.high].map(units::significant);
    let doing = doing.replacen(' ', &format!(" {kind}"), 1);
    Some((ratio.value, format!("{doing} {instead} takes {value} times as long ({low}–{high})")))
}

fn quality(document: &Document) -> String {
    let summaries = || document.cells.iter().filter_map(|c| c.summary.as_ref());
    let measured = summaries().count();
    let precise = summaries().filter(|s| s.stop == StopReason::Precise).count();
    let contradicted: usize = summaries().map(|s| s.contradicted).sum();
    let skipped = document.cells.iter().filter(|c| c.skipped.is_some()).count();
    let mut text = format!("Target precision reached in {precise} of {}", units::count(measured, "cell"));
    if 2 * precise < measured {
        text += ": throughput varies here; run longer with --time";
    }
    if contradicted > 0 {
        text += &format!(
            "; {} contradicted by counters and excluded",
            units::count(contradicted, "sample") + if contradicted == 1 { " was" } else { " were" }
        );
    }
    if skipped > 0 {
        text += &format!("; {} skipped, reasons below", units::count(skipped, "cell"));
    }
    if document.run.interrupted {
        text += ". The run was interrupted; the remaining cells were not measured";
    } else if !document.run.complete {
        text += ". The run is incomplete";
    }
    text + "."
}

pub(super) fn peak<'a>(document: &'a Document, line: &Series) -> Option<(&'a Cell, Estimate)> {
    fastest_cell(line.cells.iter().map(|&c| &document.cells[c])).map(|(cell, summary)| (cell, summary.rate))
}

/// A value with its interval, the unit once if all parts share it: `3.12 GB/s (3.05–3.18)`.
pub(crate) fn spanned(value: Estimate, text: impl Fn(f64) -> String) -> String {
    let (middle, ends) = (text(value.value), ends(value, text));
    let unit = middle.find(' ').map_or("", |at| &middle[at..]);
    match ends.strip_suffix(unit).filter(|bare| !bare.contains(' ')) {
        Some(bare) => format!("{middle} ({bare})"),
        None => format!("{middle} ({ends})"),
    }
}

/// An interval, the unit once if both ends share it: `3.05–3.18 GB/s`. One sample, or equal ones, have none.
pub(super) fn ends(value: Estimate, text: impl Fn(f64) -> String) -> String {
    if !value.has_interval() {
        return "no interval".into();
    }
    let [low, high] = [value.low, value.high].map(text);
    match (low.split_once(' '), high.split_once(' ')) {
        _ if value.low < 0.0 => format!("{low} to {high}"),
        (Some((bare, one)), Some((_, other))) if one == other => format!("{bare}–{high}"),
        (None, None) => format!("{low}–{high}"),
        _ => format!("{low} to {high}"),
    }
}

/// The ratio of two cells' rates: `1.24 times X (1.20–1.28)`.
pub(super) fn against(comparison: &RatioComparison, other: &str) -> String {
    let Estimate { value, low, high } = comparison.ratio;
    match comparison.verdict {
        Verdict::NoDifferenceThatMatters => format!("no difference that matters from {other}"),
        Verdict::Unclear => match comparison.unclear_because() {
            Some(why) => {
                let interval = ends(comparison.ratio, two_digits);
                format!("{} times {other} ({interval}; unclear: {why})", units::significant(value))
            }
            None => format!("no significant difference from {other} (ratio {low:.2}–{high:.2})"),
        },
        Verdict::Faster | Verdict::Slower => {
            format!("{} times {other} ({low:.2}–{high:.2})", units::significant(value))
        }
    }
}

/// Half the width of an interval, in percent of the value.
pub(super) fn half_width(value: &Estimate) -> Option<String> {
    (value.low != value.high).then(|| units::percent(value.relative_half_width()))
}

/// A ratio with two digits after the point.
pub(super) fn two_digits(ratio: f64) -> String {
    format!("{ratio:.2}")
}

pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_share_their_unit() {
        let rate = Estimate { value: 3.12e9, low: 3.05e9, high: 3.18e9 };
        assert_eq!(spanned(rate, units::rate), "3.12 GB/s (3.05–3.18)");
        let rate = Estimate { value: 1.01e9, low: 0.95e9, high: 1.2e9 };
        assert_eq!(spanned(rate, units::rate), "1.01 GB/s (950 MB/s to 1.20 GB/s)");
        assert_eq!(spanned(rate, units::significant), "1.01e9 (9.50e8–1.20e9)");
        assert_eq!(ends(rate, units::rate), "950 MB/s to 1.20 GB/s");
        let around_zero = Estimate { value: 1.0, low: -2.0, high: 3.0 };
        assert_eq!(spanned(around_zero, units::significant), "1.00 (−2.00 to 3.00)");
        let one = Estimate { low: 1.0, high: 1.0, ..around_zero };
        assert_eq!(spanned(one, units::significant), "1.00 (no interval)");
        assert_eq!(spanned(one, units::rate), "1.00 B/s (no interval)");
        assert_eq!(ends(Estimate { low: 0.5, ..one }, two_digits), "0.50–1.00");
        assert_eq!([half_width(&one), half_width(&Estimate { low: 0.5, ..one })], [None, Some("25%".into())]);
    }

    #[test]
    fn overlapping_intervals_give_no_verdict() {
        let ratio = |value, low, high| Estimate { value, low, high };
        let described = |verdict, ratio| against(&RatioComparison { ratio, verdict }, "mmap");
        assert_eq!(described(Verdict::Faster, ratio(1.24, 1.2, 1.28)), "1.24 times mmap (1.20–1.28)");
        assert_eq!(
            described(Verdict::Unclear, ratio(1.1, 0.9, 1.28)),
            "no significant difference from mmap (ratio 0.90–1.28)"
        );
        assert_eq!(
            described(Verdict::Unclear, ratio(2.4, 1.76, 3.29)),
            "2.40 times mmap (1.76–3.29; unclear: too few samples)"
        );
        assert_eq!(
            described(Verdict::Unclear, ratio(1.02, 1.01, 1.04)),
            "1.02 times mmap (1.01–1.04; unclear: less than 3% apart)"
        );
        assert_eq!(
            described(Verdict::NoDifferenceThatMatters, ratio(1.0, 0.99, 1.01)),
            "no difference that matters from mmap"
        );
    }
}
