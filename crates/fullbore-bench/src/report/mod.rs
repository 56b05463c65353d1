//! The report: one self-contained HTML file that opens without a network and is legible without scripting; the same
//! as Markdown; its charts as SVG.

mod advice_html;
mod audit;
mod bar_chart;
mod chapter;
mod cluster_chart;
mod data_table;
mod embedded;
mod figures;
mod frame;
mod heading;
mod limits;
mod line_chart;
mod markdown;
pub(crate) mod markup;
mod measure;
mod palette;
mod panels;
mod peers;
mod phrases;
mod picture;
mod pipeline_chart;
mod prose;
mod range_chart;
mod request_figures;
mod scale;
mod stack_chart;
mod standalone;
mod streams;
mod verdict;
mod verdict_along;
mod verdict_requests;

pub(crate) use advice_html::advice;
pub(crate) use chapter::care;
pub(crate) use verdict::verdict;

use crate::document::Document;
use chapter::{Chapter, chapters};
use markup::escape;

pub(crate) const STYLE: &str = concat!(
    include_str!("style/colours.css"),
    include_str!("style/page.css"),
    include_str!("style/chart.css"),
    include_str!("style/media.css")
);
const SCRIPT: &str = concat!(
    include_str!("script/theme.js"),
    include_str!("script/page.js"),
    include_str!("script/chart.js"),
    include_str!("script/data.js")
);
/// Content security policy: nothing may be loaded; only the page's own script and style run.
const POLICY: &str = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      base-uri 'none'; form-action 'none'";
/// A rising line. Percent-encoded throughout, so that the file contains no host address.
pub(crate) const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http%3A%2F%2Fwww.w3.org%2F2000%2Fsvg' viewBox='0 0 16 16'%3E\
                    %3Crect width='16' height='16' rx='3' fill='%230a5a94'/%3E%3Cpath d='M3 12L7 6L13 4' \
                    stroke='white' stroke-width='2' fill='none'/%3E%3C/svg%3E";

/// Renders a document as a complete HTML page.
///
/// The page contains the document itself, measured values to seven digits and computed ones to five, and offers it for
/// download as JSON and its samples as CSV. It requests nothing from anywhere; all text from the document is escaped.
pub fn html(document: &Document) -> String {
    let chapters = chapters(document);
    let advice = advice_html::advice_html(document, &chapters);
    let rules = advice_html::rules_html(document, &chapters);
    let choices = advice_html::choices_html(document);
    let mut parts = vec![("summary", "Summary")];
    let sections = [("advice", "Advice", &advice), ("rules", "The rules of 1997", &rules)];
    let sections = sections.into_iter().chain([("choices", "Strategies chosen", &choices)]);
    parts.extend(sections.filter(|s| !s.2.is_empty()).map(|(id, title, _)| (id, title)));

    let mut page = String::with_capacity(1 << 21);
    let title = format!("Storage report: {}", document.run.directory);
    page += "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
    page += &format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n");
    page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
    page += "<meta name=\"color-scheme\" content=\"light dark\">\n";
    page += &format!("<title>{}</title>\n<link rel=\"icon\" href=\"{ICON}\">\n", escape(&title));
    page += &format!("<style>\n{STYLE}</style>\n</head>\n<body>\n");
    page += "<a class=\"skip\" href=\"#summary\">To the summary</a>\n";
    page += &heading::head(document);
    page += "<div class=\"page\">\n";
    page += &heading::contents(&parts, &chapters);
    page += "<main>\n";
    page += &prose::html(document);
    page += &advice;
    page += &rules;
    page += &choices;
    page.extend(chapters.iter().map(Chapter::html));
    page += &audit::html(document);
    page += &heading::environment_html(document);
    page += "</main>\n</div>\n";
    page += &heading::foot(document);
    page += "<div id=\"tip\" role=\"status\" hidden></div>\n";
    page += &embedded::element(document);
    page += &format!("<script>\n{SCRIPT}</script>\n</body>\n</html>\n");
    page
}

/// Renders a document as Markdown for GitHub: the same chapters in text and tables. It contains no links; all text from
/// the document is escaped.
pub fn markdown(document: &Document) -> String {
    markdown::report(document, &chapters(document))
}

/// Renders every chart of the report as a file of its own: a name without suffix, unique among them, and a complete SVG
/// document on white with title and legend, fit for a paper.
pub fn charts(document: &Document) -> Vec<(String, String)> {
    let chapters = chapters(document);
    let charts = chapters.iter().flat_map(|chapter| &chapter.charts);
    charts.map(|chart| (chart.stem.clone(), standalone::svg(chart))).collect()
}
