//! The comparison as one self-contained HTML file: a chapter for each document.

use super::change::{Judgement, Measure};
use super::compare::Comparison;
use super::compared_run::ComparedRun;
use super::words::{self, figure, interval, marked_ratio, ratio};
use super::{json, svg};
use crate::report::markup::{escape, json_for_script, set};
use crate::report::{ICON, STYLE};

/// Style for a page without the report's table of contents at the side.
const WIDTH: &str =
    "header, main, footer { max-width: 1240px; margin: 0 auto; padding-left: 24px; padding-right: 24px; }\n";
const SCRIPT: &str = include_str!("../report/script/theme.js");
/// Content security policy: nothing may be loaded; only the page's own script and style run.
const POLICY: &str =
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/// Renders a comparison as a complete HTML page in the style of the report.
///
/// The page contains the comparison as JSON for programs. It requests nothing from anywhere; all text from the documents
/// is escaped.
pub fn html(comparison: &Comparison) -> String {
    let mut page = String::with_capacity(1 << 17);
    page += "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
    page += &format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n");
    page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
    page += "<meta name=\"color-scheme\" content=\"light dark\">\n";
    let title = format!("Comparison with {}", comparison.baseline.name);
    page += &format!("<title>{}</title>\n<link rel=\"icon\" href=\"{ICON}\">\n", escape(&title));
    page += &format!("<style>\n{STYLE}{WIDTH}</style>\n</head>\n<body>\n");
    page += &header(comparison);
    page += "<main>\n";
    page += &conditions(comparison);
    for (number, other) in comparison.others.iter().enumerate() {
        page += &chapter(comparison, other, number + 1);
    }
    page += "</main>\n";
    page += &format!(
        "<footer><p>Ratios of medians with {} bootstrap intervals. Schema {} version {}.</p></footer>\n",
        crate::units::percent(comparison.confidence),
        json::SCHEMA,
        json::VERSION
    );
    page += &format!(
        "<script type=\"application/json\" id=\"comparison\">{}</script>\n",
        json_for_script(&json::comparison_json(comparison))
    );
    page += &format!("<script>\n{SCRIPT}</script>\n</body>\n</html>\n");
    page
}

fn header(comparison: &Comparison) -> String {
    let links: String = comparison
        .others
        .iter()
        .enumerate()
        .map(|(number, other)| format!("<a href=\"#d{}\">{}</a>", number + 1, escape(&other.origin.name)))
        .collect();
    format!(
        "<header>\n<p class=\"kicker\">fullbore · comparison</p>\n<h1>{}</h1>\n<p class=\"where\">baseline {}</p>\n\
         <nav aria-label=\"Documents\">{links}</nav>\n\
         <div class=\"tools\"><button type=\"button\" id=\"theme\">Light or dark</button></div>\n</header>\n",
        escape(&match comparison.others.as_slice() {
            [other] => format!("{} against {}", other.origin.name, comparison.baseline.name),
            others => format!("{} documents against {}", others.len(), comparison.baseline.name),
        }),
        escape(&words::origin(&comparison.baseline))
    )
}

fn conditions(comparison: &Comparison) -> String {
    if comparison.conditions.is_empty() {
        return String::new();
    }
    let lines: String =
        comparison.conditions.iter().map(|met| format!("<li>{}</li>\n", set(&met.to_string()))).collect();
    format!(
        "<section id=\"conditions\">\n<h2>Conditions</h2>\n<ul class=\"sentences\">\n{lines}</ul>\n</section>\n"
    )
}

fn chapter(comparison: &Comparison, other: &ComparedRun, number: usize) -> String {
    let mut html = format!(
        "<section id=\"d{number}\">\n<h2>{}</h2>\n<p class=\"note\">{}</p>\n",
        escape(&other.origin.name),
        escape(&words::origin(&other.origin))
    );
    html += &tiles(other);
    html += &format!("<ul class=\"sentences\">\n<li>{}</li>\n", set(&words::chance(other)));
    for line in words::ignored_differences(other).iter().chain(&other.notes) {
        html += &format!("<li>{}</li>\n", set(line));
    }
    html += "</ul>\n";
    html += &format!("<div class=\"scroll\" tabindex=\"0\">\n{}</div>\n", svg::svg(comparison, other));
    html += &cells(comparison, other);
    html += &format!("<p class=\"note\">{}</p>\n", set(&words::legend(comparison, other)));
    for (head, cells) in
        [("Missing: in the baseline only", &other.missing), ("Added: not in the baseline", &other.added)]
    {
        if !cells.is_empty() {
            let rows: Vec<Vec<String>> =
                cells.iter().map(|cell| vec![cell.name.clone(), cell.reason.clone()]).collect();
            html += &format!("<h3>{head}</h3>\n{}", table(&[("cell", false), ("reason", false)], &rows));
        }
    }
    html + "</section>\n"
}

fn tiles(other: &ComparedRun) -> String {
    let verdict_counts = &other.verdict_counts;
    let mut html = String::from("<dl class=\"tiles\">\n");
    for (what, count, how) in [
        ("slower", verdict_counts.slower, ""),
        ("unclear", verdict_counts.unclear, "the interval is too wide"),
        ("no difference that matters", verdict_counts.same, ""),
        ("faster", verdict_counts.faster, ""),
        ("missing or added", other.missing.len() + other.added.len(), ""),
    ] {
        html += &format!("<div><dt>{what}</dt><dd><b>{count}</b> <small>{how}</small></dd></div>\n");
    }
    html + "</dl>\n"
}

fn cells(comparison: &Comparison, other: &ComparedRun) -> String {
    let columns = [
        ("cell", false),
        ("baseline", true),
        ("this", true),
        ("ratio", true),
        ("interval", true),
        ("samples", true),
        ("cpu", true),
        ("p99", true),
        ("notes", false),
    ];
    let mut rows = Vec::new();
    let mut last: Option<Judgement> = None;
    for cell in &other.cells {
        let judgement = cell.rate.judgement;
        if last != Some(judgement) {
            let count = other.cells.iter().filter(|c| c.rate.judgement == judgement).count();
            rows.push(vec![words::heading(judgement, count)]);
            last = Some(judgement);
        }
        let [before, now] = cell.rate.samples;
        rows.push(vec![
            cell.name.clone(),
            figure(Measure::Rate, cell.rate.baseline),
            figure(Measure::Rate, cell.rate.this),
            ratio(&cell.rate, comparison.confidence),
            interval(&cell.rate.ratio),
            format!("{before} | {now}"),
            marked_ratio(cell.cost.as_ref()),
            marked_ratio(cell.latency.as_ref()),
            cell.notes.join("; "),
        ]);
    }
    table(&columns, &rows)
}

/// A table that scrolls sideways if it is too wide; columns have a head and a flag for figures. A row of one cell heads
/// the rows after it.
fn table(columns: &[(&str, bool)], rows: &[Vec<String>]) -> String {
    let class = |figures: bool| if figures { " class=\"n\"" } else { " class=\"w\"" };
    let mut html = String::from("<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr>");
    for (head, figures) in columns {
        html += &format!("<th scope=\"col\"{}>{}</th>", class(*figures), escape(head));
    }
    html += "</tr></thead>\n<tbody>\n";
    for row in rows {
        if let [group] = row.as_slice() {
            html += &format!(
                "<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"{}\">{}</th></tr>\n",
                columns.len(),
                escape(group)
            );
            continue;
        }
        html += "<tr>";
        for ((_, figures), text) in columns.iter().zip(row) {
            html += &format!("<td{}>{}</td>", class(*figures), set(text));
        }
        html += "</tr>\n";
    }
    html + "</tbody></table></div>\n"
}
