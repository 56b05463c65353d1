//! What a storage does, in plain sentences: the summary for those who read no further.

use crate::document::{CacheState, Document, Labels, Peak, StopReason};
use crate::units;

/// Four to six sentences, each with its figures; fewer when less was measured.
pub(super) fn sentences(document: &Document) -> Vec<String> {
    let told = [reading(document), writing(document), half_power(document), depth(document), cost(document)];
    let mut sentences: Vec<String> = told.into_iter().flatten().collect();
    sentences.push(quality(document));
    sentences
}

/// The fastest path among those that fit.
pub(super) fn fastest(document: &Document, fits: impl Fn(&Peak) -> bool) -> Option<&Peak> {
    let peaks = document.findings.peaks.iter().filter(|p| fits(p));
    peaks.max_by(|a, b| a.rate.value.total_cmp(&b.rate.value))
}

/// Whether a path reads from start to end with the cache in this state.
pub(super) fn reads(peak: &Peak, cache: CacheState) -> bool {
    let labels = &peak.series.labels;
    labels.operation == "read" && labels.cache == Some(cache) && labels.order.as_deref() != Some("random")
}

/// Whether a path writes.
pub(super) fn writes(peak: &Peak) -> bool {
    peak.series.labels.operation == "write"
}

/// Whether a path requests small pieces at random.
pub(super) fn random(peak: &Peak) -> bool {
    peak.series.labels.order.as_deref() == Some("random")
}

/// How the fastest cell of a path did it: `direct, 4 MiB requests, depth 8`.
pub(super) fn manner(document: &Document, peak: &Peak) -> String {
    let labels = document.cell(&peak.cell).map_or(&peak.series.labels, |c| &c.labels);
    let mut parts = vec![labels.method.clone()];
    parts.extend(labels.request_bytes.map(|r| format!("{} requests", units::size(r))));
    parts.extend(labels.depth.filter(|d| *d > 1).map(|d| format!("depth {d}")));
    parts.extend(labels.workers.filter(|w| *w > 1).map(|w| units::count(w as usize, "worker")));
    parts.join(", ")
}

fn reading(document: &Document) -> Option<String> {
    let warm = fastest(document, |p| reads(p, CacheState::Warm));
    let cold = fastest(document, |p| reads(p, CacheState::Cold));
    let of_roof = |p: &Peak| {
        let share =
            p.share_of_roof.map(|s| format!(", {} of what copying within memory reaches", units::percent(s)));
        share.unwrap_or_default()
    };
    match (warm, cold) {
        (Some(warm), Some(cold)) => Some(format!(
            "A file that is already in memory is read at up to {} ({}){}; one that must come from the device at up \
             to {} ({}).",
            units::rate(warm.rate.value),
            manner(document, warm),
            of_roof(warm),
            units::rate(cold.rate.value),
            manner(document, cold)
        )),
        (Some(warm), None) => Some(format!(
            "A file that is already in memory is read at up to {} ({}){}.",
            units::rate(warm.rate.value),
            manner(document, warm),
            of_roof(warm)
        )),
        (None, Some(cold)) => Some(format!(
            "A file that must come from the device is read at up to {} ({}).",
            units::rate(cold.rate.value),
            manner(document, cold)
        )),
        (None, None) => None,
    }
}

fn writing(document: &Document) -> Option<String> {
    let told = |direct: bool, where_to: &str| {
        let fits = |peak: &Peak| {
            writes(peak) && (peak.series.labels.cache_policy.as_deref() == Some("direct")) == direct
        };
        let peak = fastest(document, fits)?;
        Some(format!("{} {where_to} ({})", units::rate(peak.rate.value), manner(document, peak)))
    };
    let parts: Vec<_> =
        [told(false, "into the page cache"), told(true, "onto the device")].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("Writing reaches {}.", parts.join(" and ")))
}

fn half_power(document: &Document) -> Option<String> {
    let told = |fits: &dyn Fn(&Labels) -> bool, what: &str| {
        let found = document.findings.half_power_request.iter().filter(|h| fits(&h.series.labels));
        let best = found.max_by(|a, b| a.half_power.peak.total_cmp(&b.half_power.peak))?;
        let size = units::size(best.half_power.at);
        let bound = if best.half_power.at_most { " or less" } else { "" };
        Some(format!("{size}{bound} for {what} ({})", best.series.labels.method))
    };
    let cached = |labels: &Labels, state| labels.operation == "read" && labels.cache == Some(state);
    let parts: Vec<String> = [
        told(&|l| cached(l, CacheState::Warm), "warm reads"),
        told(&|l| cached(l, CacheState::Cold), "cold reads"),
        told(&|l| l.operation == "write", "writes"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let (last, first) = parts.split_last()?;
    let list = if first.is_empty() { last.clone() } else { format!("{} and {last}", first.join(", ")) };
    Some(format!(
        "The half-power request, the smallest that reaches half of the peak of the fastest path, is {list}."
    ))
}

fn depth(document: &Document) -> Option<String> {
    let best = |wanted: bool| {
        let found = document.findings.half_power_depth.iter();
        let fits = found.filter(|h| (h.series.labels.order.as_deref() == Some("random")) == wanted);
        fits.max_by(|a, b| a.half_power.peak.total_cmp(&b.half_power.peak))
    };
    let gain = |h: &crate::document::SeriesHalfPower| {
        let rate = |id: &String| document.cell(id).and_then(|c| c.summary.as_ref()).map(|s| s.rate.value);
        let shallow = h.series.cells.first().and_then(rate).filter(|r| *r > 0.0)?;
        let first = h.series.cells.first().and_then(|id| document.cell(id)).and_then(|c| c.labels.depth)?;
        Some((h.half_power.peak / shallow, first))
    };
    let mut parts = Vec::new();
    if let Some(found) = best(false) {
        let request =
            found.series.labels.request_bytes.map_or_else(String::new, |r| format!(" of {}", units::size(r)));
        let (times, first) = gain(found)?;
        parts.push(format!(
            "{}{request} in flight bring {times:.1} times the rate of {first} (half of the peak from depth {})",
            units::count(found.half_power.peak_at as usize, "request"),
            found.half_power.at
        ));
    }
    if let Some(found) = fastest(document, random) {
        let requests = document.cell(&found.cell)?.summary.as_ref()?.requests_per_s?;
        parts.push(format!(
            "random requests reach {} ({})",
            units::requests_rate(requests),
            manner(document, found)
        ));
    }
    let mut text = parts.join("; ") + ".";
    if parts.is_empty() {
        return None;
    }
    text[..1].make_ascii_uppercase();
    Some(text)
}

fn cost(document: &Document) -> Option<String> {
    let reads = |c: &&crate::document::SeriesCost| c.series.labels.operation == "read";
    let per_byte = |c: &crate::document::SeriesCost| c.line.per_byte.value;
    let costs: Vec<_> = document.findings.costs.iter().filter(reads).collect();
    let dearest = costs.iter().max_by(|a, b| per_byte(a).total_cmp(&per_byte(b)))?;
    let cheapest = costs.iter().min_by(|a, b| per_byte(a).total_cmp(&per_byte(b)))?;
    let line = |c: &crate::document::SeriesCost| {
        format!(
            "{} a request and {} ms a megabyte ({})",
            units::seconds(c.line.per_request.value.max(0.0)),
            units::significant(c.line.per_byte.value.max(0.0) * 1e9),
            c.series.name
        )
    };
    if dearest.series == cheapest.series {
        return Some(format!("In processor time a read costs {}.", line(cheapest)));
    }
    Some(format!(
        "In processor time a read costs least a byte at {}, and most at {}.",
        line(cheapest),
        line(dearest)
    ))
}

fn quality(document: &Document) -> String {
    let summaries = || document.cells.iter().filter_map(|c| c.summary.as_ref());
    let measured = summaries().count();
    let precise = summaries().filter(|s| s.stop == StopReason::Precise).count();
    let contradicted: usize = summaries().map(|s| s.contradicted).sum();
    let skipped = document.cells.iter().filter(|c| c.skipped.is_some()).count();
    let mut text =
        format!("Of {} measured, {precise} reached the precision wanted", units::count(measured, "cell"));
    if contradicted > 0 {
        text += &format!(
            "; {} contradicted by proof and left out",
            units::count(contradicted, "sample") + if contradicted == 1 { " was" } else { " were" }
        );
    }
    if skipped > 0 {
        text += &format!("; {} skipped, with the reason below", units::count(skipped, "cell"));
    }
    if document.run.interrupted {
        text += ". The run was interrupted: what is missing was not measured";
    } else if !document.run.complete {
        text += ". The run is incomplete";
    }
    text + "."
}
