//! The report: one self-contained HTML file that opens without a network and is legible without scripting.

mod bar_chart;
mod data_table;
mod figures;
mod line_chart;
pub(crate) mod markup;
mod palette;
mod prose;
mod scale;
mod sections;

use crate::document::Document;
use markup::{escape, json_for_script};

pub(crate) const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
/// A half-filled bar. Percent-encoded throughout, so that no address of any host stands in the file.
pub(crate) const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http%3A%2F%2Fwww.w3.org%2F2000%2Fsvg' viewBox='0 0 16 16'%3E\
                    %3Crect width='16' height='16' rx='3' fill='%230a5a94'/%3E%3Cpath d='M3 12L7 6L13 4' \
                    stroke='white' stroke-width='2' fill='none'/%3E%3C/svg%3E";

/// Sets a document as a complete HTML page.
///
/// The page holds the document itself (as JSON) and its samples (as CSV) and offers both for download. Nothing in
/// it is requested from anywhere; all text from the document is escaped.
pub fn html(document: &Document) -> String {
    let mut page = String::with_capacity(1 << 20);
    let title = format!("Storage report: {}", document.run.directory);
    page += "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
    page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
    page += "<meta name=\"color-scheme\" content=\"light dark\">\n";
    page += &format!("<title>{}</title>\n<link rel=\"icon\" href=\"{ICON}\">\n", escape(&title));
    page += &format!("<style>\n{STYLE}</style>\n</head>\n<body>\n");
    page += &sections::header(document);
    page += "<main>\n";
    page += &sections::summary(document);
    page += &sections::choices(document);
    page += &sections::peaks(document);
    page += &figures::all(document);
    page += &sections::costs(document);
    page += &sections::quality(document);
    page += &sections::environment(document);
    page += "</main>\n";
    page += &sections::footer(document);
    page += "<div id=\"tip\" role=\"status\" hidden></div>\n";
    page += &embedded(document);
    page += &format!("<script>\n{SCRIPT}</script>\n</body>\n</html>\n");
    page
}

/// The document and its samples, for the download buttons and for anyone who reads the file by program.
fn embedded(document: &Document) -> String {
    let results = json_for_script(document);
    let mut csv = Vec::new();
    let csv = match crate::csv::write(document, &mut csv) {
        Ok(()) => String::from_utf8_lossy(&csv).into_owned(),
        // Writing to memory does not fail; were it to, the JSON above still holds every sample.
        Err(error) => format!("could not be written: {error}\n"),
    };
    let samples = json_for_script(&csv);
    format!(
        "<script type=\"application/json\" id=\"results\">{results}</script>\n\
         <script type=\"application/json\" id=\"samples\">{samples}</script>\n"
    )
}
