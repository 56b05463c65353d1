//! Head, table of contents, environment and foot of a report.

use crate::block::html::{escape, set};
use crate::block::{Block, Fold, Section, short};
use crate::document::Document;
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

fn facts(document: &Document) -> Vec<(String, String)> {
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
        facts.push(("device limits".into(), limit.words()));
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
    let mut blocks = vec![Block::Facts(facts(document))];
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
         raw sample, measured values to seven digits, computed ones to five. Schema {} version {}.{}.</p></footer>\n",
        escape(&document.schema),
        document.version,
        document.minor
    )
}
