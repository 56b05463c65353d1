//! The frame of a report: head, table of contents, environment, the self-audit with cells that have warnings or that the
//! model predicts wrongly, foot.

use super::chapter::skipped;
use super::prose::spanned;
use crate::block::html::{escape, set};
use crate::block::{Block, Fold, Section, Table, TableOf, short};
use crate::document::{Cell, CellPrediction, Document, Proof, Summary, experiments, word};
use crate::units;

/// Machine, test file and time of the run, in a line.
pub(super) fn place(document: &Document) -> String {
    let (run, system) = (&document.run, &document.environment.file_system);
    let on = [system.kind.as_str(), system.source.as_str()].into_iter().filter(|t| !t.is_empty());
    let on = on.collect::<Vec<_>>().join(" on ");
    let file = format!("{} test file", units::size(run.file_bytes));
    let parts = [on, file, run.started.clone()].into_iter().filter(|t| !t.is_empty());
    parts.collect::<Vec<_>>().join(" · ")
}

pub(super) fn head(document: &Document) -> String {
    format!(
        "<header>\n<p class=\"kicker\">fullbore · storage report</p>\n<h1>{}</h1>\n<p class=\"where\">{}</p>\n\
         <div class=\"tools\"><button type=\"button\" id=\"theme\">Light or dark</button>\
         <button type=\"button\" data-save=\"json\">Save JSON</button>\
         <button type=\"button\" data-save=\"csv\">Save CSV</button></div>\n</header>\n",
        escape(&document.run.directory),
        set(&place(document))
    )
}

pub(super) fn contents(sections: &[Section]) -> String {
    let link = |Section { id, title, class, .. }: &Section| {
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        format!("<li{class}><a href=\"#{}\">{}</a></li>\n", escape(id), escape(short(title)))
    };
    format!(
        "<nav aria-label=\"Contents\"><details open id=\"contents\"><summary>Contents</summary>\n<ol>\n{}</ol></details>\
         </nav>\n",
        sections.iter().map(link).collect::<String>()
    )
}

fn environment_facts(document: &Document) -> Vec<(String, String)> {
    let (env, run) = (&document.environment, &document.run);
    let mut facts: Vec<(String, String)> = vec![
        ("kernel".into(), env.kernel.clone()),
        ("processor".into(), env.cpu_model.clone()),
        ("logical processors".into(), env.logical_cpus.to_string()),
    ];
    facts.extend(env.cpu_quota.map(|q| ("CPU quota".into(), units::significant(q))));
    facts.extend(env.memory_bytes.map(|m| ("memory".into(), units::size(m))));
    let system = &env.file_system;
    if !system.kind.is_empty() {
        let text = format!("{} at {} ({})", system.kind, system.mount_point, system.source);
        facts.push(("file system".into(), text));
    }
    facts.push(("mount options".into(), system.options.replace(',', ", ")));
    if run.directories.len() > 1 {
        facts.push(("directories".into(), run.directories.join(", ")));
    }
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
    for limit in &document.findings.limits {
        let directory =
            if run.directories.len() > 1 { format!("{}: ", limit.directory) } else { String::new() };
        facts.push(("device limits".into(), directory + &limit.words()));
    }
    for found in &document.findings.variation {
        facts.push(("storage during the run".into(), found.words()));
    }
    let available: Vec<&str> = env.engines.iter().filter(|e| e.available).map(|e| e.name.as_str()).collect();
    facts.push(("available engines".into(), available.join(", ")));
    for engine in env.engines.iter().filter(|e| !e.available) {
        let reason = engine.reason.clone().unwrap_or_else(|| "no reason recorded".into());
        facts.push((format!("engine {}: unavailable", engine.name), reason));
    }
    facts.push(("command".into(), run.command.join(" ")));
    facts.push(("seed".into(), run.seed.to_string()));
    facts.push(("duration".into(), units::seconds(run.duration_s)));
    facts.push(("fullbore".into(), run.fullbore_version.clone()));
    facts.retain(|f| !f.1.trim().is_empty());
    facts
}

pub(super) fn environment(document: &Document) -> Section {
    let mut blocks = vec![Block::Facts(environment_facts(document))];
    let probe = &document.environment.facts;
    if !probe.is_null() {
        let json = serde_json::to_string_pretty(probe).unwrap_or_default();
        let (title, code) = ("Complete output of the probe".into(), vec![Block::Code(json)]);
        blocks.push(Block::PageOnly(vec![Block::Folded { title, fold: Fold::Page, blocks: code }]));
    }
    Section::new("environment", "Environment", blocks)
}

pub(super) fn foot(document: &Document) -> String {
    format!(
        "<footer><p>Medians with 95% bootstrap intervals; a megabyte is 10<sup>6</sup> bytes. This file contains every \
         raw sample. Schema {} version {}.{}.</p></footer>\n",
        escape(&document.schema),
        document.version,
        document.minor
    )
}

fn facts(document: &Document) -> Vec<(String, String)> {
    let audit = &document.audit;
    let mut facts: Vec<(String, String)> = Vec::new();
    let null = audit.null_request_s.map(|null| spanned(null, units::seconds));
    facts.extend(null.map(|null| ("meter’s own cost per request (null engine)".into(), null)));
    facts.extend(audit.clock_s.map(|c| ("one clock reading".into(), units::seconds(c))));
    facts.push(("cells limited by the meter".into(), audit.tool_bound.len().to_string()));
    let samples = || document.cells.iter().flat_map(|c| &c.samples);
    let proofs = |is: fn(&Proof) -> bool| samples().filter(|s| is(&s.proof)).count();
    let proved = format!(
        "{} confirmed, {} unproved, {} contradicted and excluded",
        proofs(|proof| matches!(proof, Proof::Confirmed)),
        proofs(|proof| matches!(proof, Proof::Unproved { .. })),
        proofs(|proof| matches!(proof, Proof::Contradicted { .. }))
    );
    facts.push(("proof of cache state, samples".into(), proved));
    facts
}

pub(super) fn audit(document: &Document) -> Section {
    let notes = document.audit.findings.iter().chain(&document.run.notes).cloned().collect();
    let folded = |(title, note, table): (&str, &str, Table)| Block::Folded {
        title: format!("{title}: {}", table.rows.len()),
        fold: Fold::Page,
        blocks: vec![Block::Paragraph(note.into()), Block::Table { label: title.into(), table }],
    };
    let tables = tables(document).into_iter().map(folded).collect();
    let blocks = vec![Block::Facts(facts(document)), Block::List(notes), Block::PageOnly(tables)];
    Section { class: "first", ..Section::new("quality", "Self-audit", blocks) }
}

fn tables(document: &Document) -> Vec<(&'static str, &'static str, Table)> {
    let names = document.cell_names();
    let name = |cell: &&Cell| names.get(&cell.id).unwrap_or(&cell.id).clone();
    let flags =
        |summary: &Summary| summary.warnings_of_samples().map(ToString::to_string).collect::<Vec<_>>();
    let measured = document.cells.iter().filter_map(|cell| Some((cell, cell.summary.as_ref()?)));
    let flagged = measured.filter(|(_, summary)| !flags(summary).is_empty() || !summary.outliers.is_empty());
    let flagged = TableOf::new(flagged)
        .words("cell", |(cell, _)| name(cell))
        .words("warnings", |(_, summary)| flags(summary).join("; "))
        .figures("outliers", |(_, summary)| summary.outliers.len().to_string())
        // The warnings do not repeat the reason.
        .words("stopped", |(_, summary)| word(summary.stop).replace('-', " "))
        .table();
    let skipped = experiments(&document.experiments, &document.cells).into_iter().flat_map(|experiment| {
        let reasons = skipped(document, &experiment.name).into_iter();
        reasons.map(move |(reason, cells)| (experiment.name.clone(), reason, cells))
    });
    let skipped = TableOf::new(skipped)
        .words("experiment", |(experiment, ..)| experiment.clone())
        .figures("cells", |(.., cells)| cells.len().to_string())
        .words("reason", |(_, reason, _)| reason.clone())
        .words("names", |(.., cells)| cells.iter().map(name).collect::<Vec<_>>().join(", "))
        .table();
    let described = "Outliers are labelled and kept; they hardly affect the median.";
    [
        ("Cells with warnings", described, flagged),
        ("Cells not measured", "Each reason once per experiment.", skipped),
    ]
    .into_iter()
    .filter(|(_, _, table)| !table.rows.is_empty())
    .collect()
}

const MOST_ROWS: usize = 15;

/// The wrong predictions, the worst first.
pub(crate) fn wrong_predictions(document: &Document) -> Vec<&CellPrediction> {
    let mut wrong: Vec<_> = document.findings.predictions.iter().filter(|one| one.wrong).collect();
    wrong.sort_by(|a, b| b.ratio.ln().abs().total_cmp(&a.ratio.ln().abs()));
    wrong
}

/// The measured rate of a cell with its interval; empty if there is none.
pub(crate) fn measured_rate(document: &Document, cell: &str) -> String {
    document.summary(cell).map_or_else(String::new, |summary| spanned(summary.rate, units::rate))
}

pub(super) fn predictions(document: &Document) -> Option<Section> {
    let found = &document.findings.predictions;
    let surrounded = found.iter().filter(|one| !one.extrapolated).count();
    let wrong = wrong_predictions(document);
    let missed = wrong.iter().filter(|one| !one.extrapolated).count();
    if found.is_empty() {
        return None;
    }
    let summary = format!(
        "Each of {} is predicted from the other cells of its path by one model of the machine. Predictions are \
         wrong for {} of {surrounded} cells that other cells surround, and for {} of {} that are extrapolated: the \
         measured and predicted intervals do not overlap, and the rates differ by more than 15%. Examine the cells \
         whose rate the cells around them do not explain.",
        units::count(found.len(), "cell"),
        missed,
        wrong.len() - missed,
        found.len() - surrounded,
    );
    let mut blocks = vec![Block::Paragraph(summary)];
    if !wrong.is_empty() {
        let names = document.cell_names();
        let measured = |one: &CellPrediction| measured_rate(document, &one.cell);
        let table = TableOf::new(wrong.into_iter().take(MOST_ROWS))
            .words("cell", |one| names.get(&one.cell).unwrap_or(&one.cell).clone())
            .figures("measured", |one| measured(one))
            .figures("predicted", |one| spanned(one.rate, units::rate))
            .figures("measured ÷ predicted", |one| units::significant(one.ratio))
            .words("limit by the model", |one| one.limit.words().into())
            .words("", |one| if one.extrapolated { "extrapolated".into() } else { String::new() })
            .table();
        blocks.push(Block::Table { label: "Wrong predictions".into(), table });
    }
    Some(Section::new("model", "Wrong predictions of the model", blocks))
}
