//! The report: one self-contained HTML file, legible without network and scripting; Markdown; its charts as SVG.

mod advice;
mod chapter;
mod chapter_findings;
mod embedded;
mod figures;
mod frame;
mod measure;
mod panels;
mod picture;
mod pipeline_chart;
mod plot_charts;
mod prose;
mod request_figures;
mod row_charts;
mod scale;
mod verdict;

pub(crate) use advice::{NO_DEFAULT, advice};
pub(crate) use frame::{measured_rate, wrong_predictions};
pub(crate) use prose::{capital, device_facts, headline_figures, spanned, tiles};
pub(crate) use verdict::{SUSTAINED_SHARE, verdict};

use crate::block::{Section, html, markdown};
use crate::document::Document;
use chapter::chapters;

const SCRIPT: &str = concat!(
    include_str!("script/theme.js"),
    include_str!("script/page.js"),
    include_str!("script/chart.js"),
    include_str!("script/data.js")
);
/// Renders a document as a complete HTML page.
///
/// The page contains the document itself, and offers it for download as JSON and its samples as CSV. It requests nothing from
/// anywhere; all text from the document is escaped.
pub fn html(document: &Document) -> String {
    let sections = sections(document);
    let body = [
        "<a class=\"skip\" href=\"#summary\">To the summary</a>\n",
        &frame::head(document),
        "<div class=\"page\">\n",
        &frame::contents(&sections),
        "<main>\n",
        &sections.iter().map(html::section).collect::<String>(),
        "</main>\n</div>\n",
        &frame::foot(document),
        "<div id=\"tip\" role=\"status\" hidden></div>\n",
        &html::data("results", &embedded::files(document)),
    ];
    html::page(&format!("Storage report: {}", document.run.directory), "", &body.concat(), SCRIPT)
}

fn sections(document: &Document) -> Vec<Section> {
    let chapters = chapters(document);
    let mut sections: Vec<Section> = advice::use_this(document).into_iter().collect();
    sections.push(prose::section(document));
    sections.extend(advice::sections(document, &chapters));
    sections.extend(chapters.iter().enumerate().map(|(i, chapter)| chapter.section(i == 0)));
    sections.extend(frame::predictions(document));
    sections.extend([frame::audit(document), frame::environment(document)]);
    sections
}

/// Renders a document as Markdown for GitHub: the same sections in text and tables. It contains no links; all text from
/// the document is escaped.
pub fn markdown(document: &Document) -> String {
    let head = [format!("Storage report: {}", document.run.directory), frame::place(document)];
    let [title, place] = head.map(|text| markdown::escape(&text));
    let sections: String = sections(document).iter().map(markdown::section).collect();
    format!(
        "# {title}\n\n{place}\n\n{sections}Medians with 95% bootstrap intervals; times in seconds unless stated otherwise; \
         a megabyte is 10⁶ bytes.\n"
    )
}

/// Renders every chart of the report as a file of its own: a name without suffix, unique among them, and a complete SVG
/// document on white with title and legend, fit for a paper.
pub fn charts(document: &Document) -> Vec<(String, String)> {
    let chapters = chapters(document);
    let charts = chapters.iter().flat_map(|chapter| &chapter.charts);
    charts.map(|chart| (chart.stem.clone(), picture::standalone(chart))).collect()
}
