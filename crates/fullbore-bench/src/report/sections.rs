//! The parts of a report around its figures: head, summary, tables, audit, environment, foot.

use super::figures::{anchor, position_text};
use super::markup::{escape, figures, set, table, words};
use super::prose;
use crate::document::{Axis, CacheState, Document, SeriesHalfPower, StopReason, experiments};
use crate::stats::Estimate;
use crate::units;

pub(super) fn header(document: &Document) -> String {
    let run = &document.run;
    let system = &document.environment.file_system;
    let on = [system.kind.as_str(), system.source.as_str()].into_iter().filter(|t| !t.is_empty());
    let on = on.collect::<Vec<_>>().join(" on ");
    let mut links = String::from("<a href=\"#summary\">Summary</a>");
    for experiment in experiments(&document.experiments, &document.cells) {
        if document.cells.iter().any(|c| c.experiment == experiment.name && c.summary.is_some()) {
            let id = anchor(&experiment.name);
            let short = experiment.title.split(',').next().unwrap_or_default();
            links += &format!("<a href=\"#{}\">{}</a>", escape(&id), escape(short));
        }
    }
    links += "<a href=\"#quality\">Self-audit</a><a href=\"#environment\">Environment</a>";
    format!(
        "<header>\n<p class=\"kicker\">fullbore · storage report</p>\n<h1>{}</h1>\n<p class=\"where\">{}</p>\n\
         <nav aria-label=\"Sections\">{links}</nav>\n\
         <div class=\"tools\"><button type=\"button\" id=\"theme\">Light or dark</button>\
         <button type=\"button\" data-save=\"results\">Save JSON</button>\
         <button type=\"button\" data-save=\"samples\">Save CSV</button></div>\n</header>\n",
        escape(&run.directory),
        escape(
            &[on, format!("{} test file", units::size(run.file_bytes)), run.started.clone()]
                .into_iter()
                .filter(|t| !t.is_empty())
                .collect::<Vec<_>>()
                .join(" · ")
        )
    )
}

pub(super) fn summary(document: &Document) -> String {
    let mut html = String::from("<section id=\"summary\">\n<h2>What this storage does</h2>\n");
    html += &tiles(document);
    html += "<ul class=\"sentences\">\n";
    for sentence in prose::sentences(document) {
        html += &format!("<li>{}</li>\n", set(&sentence));
    }
    html + "</ul>\n</section>\n"
}

/// The figures a reader looks for first.
fn tiles(document: &Document) -> String {
    let mut tiles: Vec<(&str, String, String)> = Vec::new();
    let mut add = |what, peak: Option<&crate::document::Peak>| {
        if let Some(peak) = peak {
            tiles.push((what, units::rate(peak.rate.value), prose::manner(document, peak)));
        }
    };
    add("read, in memory", prose::fastest(document, |p| prose::reads(p, CacheState::Warm)));
    add("read, from device", prose::fastest(document, |p| prose::reads(p, CacheState::Cold)));
    add("write", prose::fastest(document, prose::writes));
    if let Some(peak) = prose::fastest(document, prose::random) {
        let summary = document.cell(&peak.cell).and_then(|c| c.summary.as_ref());
        if let Some(requests) = summary.and_then(|s| s.requests_per_s) {
            tiles.push(("random requests", units::requests_rate(requests), prose::manner(document, peak)));
        }
    }
    if let Some(roof) = &document.findings.roof {
        tiles.push(("roof: memory copy", units::rate(roof.rate.value), width(&roof.rate)));
    }
    let mut html = String::from("<dl class=\"tiles\">\n");
    for (what, figure, how) in tiles {
        let (number, unit) = figure.split_once(' ').unwrap_or((&figure, ""));
        html += &format!(
            "<div><dt>{}</dt><dd><b>{}</b> {}<small>{}</small></dd></div>\n",
            escape(what),
            escape(number),
            escape(unit),
            set(&how)
        );
    }
    html + "</dl>\n"
}

fn width(rate: &Estimate) -> String {
    format!("±{}", units::percent(rate.relative_half_width()))
}

pub(super) fn choices(document: &Document) -> String {
    if document.findings.choices.is_empty() {
        return String::new();
    }
    let mut html = String::from(
        "<section id=\"choices\">\n<h2>Strategy chosen for each job</h2>\n<div class=\"choices\">\n",
    );
    for choice in &document.findings.choices {
        html += &format!(
            "<div class=\"choice\"><h3>{}</h3><p><code>{}</code></p><p class=\"evidence\">{}</p></div>\n",
            escape(&choice.job),
            breakable(&choice.strategy),
            set(&choice.evidence)
        );
    }
    html + "</div>\n</section>\n"
}

/// A strategy that may be broken after its commas.
fn breakable(strategy: &str) -> String {
    escape(strategy).replace(',', ",<wbr>")
}

pub(super) fn peaks(document: &Document) -> String {
    let findings = &document.findings;
    if findings.peaks.is_empty() {
        return String::new();
    }
    let columns = [
        words("path"),
        figures("peak"),
        figures("±"),
        figures("of roof"),
        figures("half-power"),
        figures("µs/request"),
        figures("ms/MB"),
        words("reached with"),
    ];
    let mut rows = Vec::new();
    let mut experiment = "";
    for peak in &findings.peaks {
        if peak.series.experiment != experiment {
            experiment = &peak.series.experiment;
            rows.push(vec![experiment.to_owned()]);
        }
        let same = |h: &&SeriesHalfPower| h.series.cells == peak.series.cells;
        let request = findings.half_power_request.iter().find(same).map(|h| half(h, Axis::Request));
        let depth = findings.half_power_depth.iter().find(same).map(|h| half(h, Axis::Depth));
        let summary = document.cell(&peak.cell).and_then(|c| c.summary.as_ref());
        let per_request =
            summary.and_then(|s| s.cpu_per_request).map(|c| units::significant(c.charged.value * 1e6));
        rows.push(vec![
            peak.series.name.clone(),
            units::rate(peak.rate.value),
            width(&peak.rate),
            peak.share_of_roof.map_or("–".into(), units::percent),
            request.or(depth).unwrap_or("–".into()),
            per_request.unwrap_or("–".into()),
            summary.map_or("–".into(), |s| units::ms_per_mb(s.cpu_per_mb.charged.value)),
            prose::manner(document, peak),
        ]);
    }
    format!(
        "<section id=\"peaks\">\n<h2>Peak of each path</h2>\n<p class=\"note\">Half-power: the smallest request, or \
         depth, that reaches half of the path’s peak. ± is half of the 95% interval. Processor time is that charged \
         to the process, at the peak; a megabyte is 10<sup>6</sup> bytes.</p>\n{}</section>\n",
        table("", &columns, &rows)
    )
}

fn half(found: &SeriesHalfPower, axis: Axis) -> String {
    let bound = if found.half_power.at_most { "≤ " } else { "" };
    let word = if axis == Axis::Depth { "depth " } else { "" };
    format!("{bound}{word}{}", axis.text(found.half_power.at))
}

pub(super) fn costs(document: &Document) -> String {
    let findings = &document.findings;
    if findings.costs.is_empty() && findings.half_power_request.is_empty() {
        return String::new();
    }
    let span = |e: Estimate| {
        let [value, low, high] = [e.value, e.low, e.high].map(units::significant);
        (value, format!("{low} to {high}"))
    };
    let mut rows = Vec::new();
    for cost in &findings.costs {
        let (a, a_span) = span(cost.line.per_request.scaled(1e6));
        let (b, b_span) = span(cost.line.per_byte.scaled(1e9));
        let half = findings.half_power_request.iter().find(|h| h.series == cost.series);
        let crossing = half.and_then(|h| h.half_power.crossing).map(|c| {
            let [value, low, high] = [c.value, c.low, c.high].map(|v| position_text(Axis::Request, v));
            format!("{value} ({low} to {high})")
        });
        rows.push(vec![
            cost.series.experiment.clone(),
            cost.series.name.clone(),
            a,
            a_span,
            b,
            b_span,
            format!("{:.3}", cost.line.r_squared),
            units::percent(cost.line.max_relative_residual),
            crossing.unwrap_or("–".into()),
        ]);
    }
    let columns = [
        words("experiment"),
        words("path"),
        figures("a, µs a request"),
        figures("95%"),
        figures("b, ms a MB"),
        figures("95%"),
        figures("R²"),
        figures("worst residual"),
        figures("half-power crossing"),
    ];
    format!(
        "<section id=\"costs\">\n<h2>Fitted costs and crossings</h2>\n<p class=\"note\">Processor time of a request \
         as a + b · bytes, least squares of relative residuals. The crossing is where the curve of rates passes half \
         of its peak, interpolated between the measured sizes.</p>\n{}</section>\n",
        table("", &columns, &rows)
    )
}

pub(super) fn quality(document: &Document) -> String {
    let audit = &document.audit;
    let mut facts: Vec<(String, String)> = Vec::new();
    if let Some(null) = audit.null_request_s {
        let text = format!(
            "{} ({} to {})",
            units::seconds(null.value),
            units::seconds(null.low),
            units::seconds(null.high)
        );
        facts.push(("the meter’s own cost of a request (null engine)".into(), text));
    }
    facts.extend(audit.clock_s.map(|c| ("a reading of the clock".into(), units::seconds(c))));
    facts.push(("cells bound by the meter".into(), audit.tool_bound.len().to_string()));
    let samples = || document.cells.iter().flat_map(|c| &c.samples);
    let proofs = |state: &str| samples().filter(|s| proof_word(&s.proof) == state).count();
    let proved = format!(
        "{} confirmed, {} unproved, {} contradicted and left out",
        proofs("confirmed"),
        proofs("unproved"),
        proofs("contradicted")
    );
    facts.push(("proof of cache state, samples".into(), proved));
    let mut html = String::from("<section id=\"quality\">\n<h2>Self-audit</h2>\n");
    html += &list(&facts);
    html += &bullets(audit.findings.iter().chain(&document.run.notes));
    let names = document.cell_names();
    let mut flagged = Vec::new();
    let mut skipped = Vec::new();
    for cell in &document.cells {
        let name = names.get(&cell.id).unwrap_or(&cell.id);
        match (&cell.summary, &cell.skipped) {
            (_, Some(reason)) => skipped.push(vec![name.clone(), reason.clone()]),
            (None, None) if cell.samples.is_empty() => {
                skipped.push(vec![name.clone(), "not reached in time".into()])
            }
            (None, None) => {
                flagged.push(vec![name.clone(), "no usable sample".into(), String::new(), String::new()])
            }
            (Some(s), _) if !s.flags.is_empty() || !s.outliers.is_empty() => flagged.push(vec![
                name.clone(),
                s.flags.join("; "),
                s.outliers.len().to_string(),
                stop_word(s.stop).into(),
            ]),
            _ => {}
        }
    }
    if !flagged.is_empty() {
        html += "<h3>Cells to read with care</h3>\n<p class=\"note\">Outliers are labelled and kept; the median \
                 hardly feels them.</p>\n";
        html += &table(
            "",
            &[words("cell"), words("what was seen"), figures("outliers"), words("ended")],
            &flagged,
        );
    }
    if !skipped.is_empty() {
        html += "<h3>Skipped, and why</h3>\n";
        html += &table("", &[words("cell"), words("reason")], &skipped);
    }
    html + "</section>\n"
}

fn proof_word(proof: &crate::document::Proof) -> &'static str {
    match proof {
        crate::document::Proof::Confirmed => "confirmed",
        crate::document::Proof::Contradicted { .. } => "contradicted",
        crate::document::Proof::Unproved { .. } => "unproved",
    }
}

fn stop_word(stop: StopReason) -> &'static str {
    match stop {
        StopReason::Precise => "precise",
        StopReason::TimeUp => "time up",
        StopReason::Interrupted => "interrupted",
    }
}

pub(super) fn environment(document: &Document) -> String {
    let (env, run) = (&document.environment, &document.run);
    let mut facts: Vec<(String, String)> = vec![
        ("kernel".into(), env.kernel.clone()),
        ("processor".into(), env.cpu_model.clone()),
        ("logical processors".into(), env.logical_cpus.to_string()),
    ];
    facts.extend(env.cpu_quota.map(|q| ("processor quota".into(), units::significant(q))));
    facts.extend(env.memory_bytes.map(|m| ("memory".into(), units::size(m))));
    let system = &env.file_system;
    facts.push((
        "file system".into(),
        format!("{} at {} ({})", system.kind, system.mount_point, system.source),
    ));
    facts.push(("mount options".into(), system.options.replace(',', ", ")));
    for device in &env.devices {
        let model = device.model.as_ref().map_or_else(String::new, |m| format!("{m}; "));
        let turning = match device.rotational {
            Some(true) => "rotational; ",
            Some(false) => "not rotational; ",
            None => "",
        };
        let queue: Vec<String> = device.queue.iter().map(|(k, v)| format!("{k} {v}")).collect();
        facts.push((format!("device {}", device.name), format!("{model}{turning}{}", queue.join("; "))));
    }
    let available: Vec<&str> = env.engines.iter().filter(|e| e.available).map(|e| e.name.as_str()).collect();
    facts.push(("engines that run here".into(), available.join(", ")));
    for engine in env.engines.iter().filter(|e| !e.available) {
        let reason = engine.reason.clone().unwrap_or_else(|| "no reason recorded".into());
        facts.push((format!("engine {}: not here", engine.name), reason));
    }
    facts.push(("command".into(), run.command.join(" ")));
    facts.push(("seed".into(), run.seed.to_string()));
    facts.push(("length of the run".into(), units::seconds(run.duration_s)));
    facts.push(("fullbore".into(), run.fullbore_version.clone()));
    facts.retain(|f| !f.1.trim().is_empty());
    let mut html = format!("<section id=\"environment\">\n<h2>Environment</h2>\n{}", list(&facts));
    if !env.facts.is_null() {
        let json = serde_json::to_string_pretty(&env.facts).unwrap_or_default();
        html +=
            &super::markup::folded("Everything the probe found", &format!("<pre>{}</pre>\n", escape(&json)));
    }
    html + "</section>\n"
}

fn list(facts: &[(String, String)]) -> String {
    let mut html = String::from("<dl class=\"facts\">\n");
    for (what, value) in facts {
        html += &format!("<div><dt>{}</dt><dd>{}</dd></div>\n", escape(what), escape(value));
    }
    html + "</dl>\n"
}

fn bullets<'a>(lines: impl Iterator<Item = &'a String>) -> String {
    let items: String = lines.map(|line| format!("<li>{}</li>\n", escape(line))).collect();
    if items.is_empty() { items } else { format!("<ul>\n{items}</ul>\n") }
}

pub(super) fn footer(document: &Document) -> String {
    format!(
        "<footer><p>Medians with 95% bootstrap intervals. Every raw sample is in this file. \
         Schema {} version {}.</p></footer>\n",
        escape(&document.schema),
        document.version
    )
}
