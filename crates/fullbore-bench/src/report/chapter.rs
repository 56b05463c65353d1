//! A chapter of the report: one experiment with its question, earlier and present findings, charts and tables.

use super::data_table::tables;
use super::figures::ChartBuilder;
use super::markup::Titled;
use super::markup::{escape, folded, set};
use super::palette::Palette;
use super::picture::Chart;
use super::verdict::verdict;
use crate::document::{Axis, Document, Experiment, Figure, StopReason, experiments, series};
use crate::units;

/// The content of a chapter, independent of HTML and Markdown.
pub(super) struct Chapter {
    pub(super) experiment: Experiment,
    /// Id of its section, unique in the report.
    pub(super) anchor: String,
    /// Present findings, in sentences.
    pub(super) here: Vec<String>,
    pub(super) charts: Vec<Chart>,
    pub(super) tables: Vec<Titled>,
    /// Warnings about its cells, in a sentence.
    pub(super) care: Option<String>,
    /// Reasons why cells were not measured, each with the number of cells.
    pub(super) skipped: Vec<(String, usize)>,
}

/// The chapters of a report: every experiment described or measured, in order.
pub(super) fn chapters(document: &Document) -> Vec<Chapter> {
    let palette = Palette::of(document);
    let mut all = experiments(&document.experiments, &document.cells);
    let shown = all.iter().any(|e| e.figures.contains(&Figure::Pipeline));
    if document.findings.pipeline.is_some() && !shown {
        all.push(Experiment {
            name: "pipeline".into(),
            title: "The storage pipeline".into(),
            note: String::new(),
            axis: Axis::None,
            question:
                "What is each stage between memory and device advertised to do, and what does it really do?"
                    .into(),
            then: Vec::new(),
            figures: vec![Figure::Pipeline],
        });
    }
    let mut chapters: Vec<Chapter> = Vec::new();
    let mut number = 0;
    for experiment in all {
        let lines = series(&document.cells, &experiment);
        let mut drawer =
            ChartBuilder { document, palette: &palette, experiment: &experiment, charts: Vec::new() };
        drawer.draw(&lines);
        let mut charts = drawer.charts;
        let mut anchor = anchor(&experiment.name);
        while chapters.iter().any(|c| c.anchor == anchor) {
            anchor.push('-');
        }
        let slug = anchor.trim_start_matches("experiment-").to_owned();
        for (i, chart) in charts.iter_mut().enumerate() {
            number += 1;
            chart.number = number;
            chart.stem = format!("{slug}-{}-{}", i + 1, chart.stem);
        }
        chapters.push(Chapter {
            here: verdict(document, &experiment, &lines),
            tables: tables(document, &experiment, &lines),
            care: care(document, &experiment.name),
            skipped: skipped(document, &experiment.name),
            charts,
            anchor,
            experiment,
        });
    }
    chapters
}

/// Id of an experiment's section.
fn anchor(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    format!("experiment-{}", name.chars().map(safe).collect::<String>())
}

/// The numbers of cells that are imprecise, two-humped, drifting and so on, in a sentence; `None` if there are none.
pub(crate) fn care(document: &Document, experiment: &str) -> Option<String> {
    let summaries = || {
        let cells = document.cells.iter().filter(|c| c.experiment == experiment);
        cells.filter_map(|c| c.summary.as_ref())
    };
    let measured = summaries().count();
    let kinds: [(&str, usize); 7] = [
        ("missed the target precision", summaries().filter(|s| s.stop != StopReason::Precise).count()),
        ("two-humped", summaries().filter(|s| s.modes.is_some()).count()),
        ("drifting", summaries().filter(|s| s.drift.as_ref().is_some_and(|d| d.matters())).count()),
        ("with contradicted samples", summaries().filter(|s| s.contradicted > 0).count()),
        ("with unproved cache state", summaries().filter(|s| s.unproved > 0).count()),
        ("with outliers", summaries().filter(|s| !s.outliers.is_empty()).count()),
        ("limited by the meter", summaries().filter(|s| s.tool_bound).count()),
    ];
    let text: Vec<String> =
        kinds.iter().filter(|k| k.1 > 0).map(|(what, count)| format!("{count} {what}")).collect();
    (!text.is_empty()).then(|| format!("Of {}: {}.", units::count(measured, "cell"), text.join(", ")))
}

/// Reasons why cells of an experiment were not measured, each with the number of cells.
pub(super) fn skipped(document: &Document, experiment: &str) -> Vec<(String, usize)> {
    let mut reasons: Vec<(String, usize)> = Vec::new();
    for cell in document.cells.iter().filter(|c| c.experiment == experiment && c.summary.is_none()) {
        let reason = match &cell.skipped {
            Some(reason) => reason.as_str(),
            None if cell.samples.is_empty() => "not reached in time",
            None => "no usable sample",
        };
        match reasons.iter_mut().find(|(known, _)| known == reason) {
            Some((_, count)) => *count += 1,
            None => reasons.push((reason.to_owned(), 1)),
        }
    }
    reasons
}

/// The title up to its first comma, for lists.
pub(super) fn short(title: &str) -> &str {
    title.split(',').next().unwrap_or(title)
}

impl Chapter {
    /// True if anything was measured.
    pub(super) fn measured(&self) -> bool {
        !self.charts.is_empty() || !self.tables.is_empty()
    }

    /// Text shown in place of a verdict.
    pub(super) fn without(&self) -> &'static str {
        if self.measured() { "Measured, without a verdict." } else { "Nothing was measured here." }
    }

    /// The chapter as a `section`.
    pub(super) fn html(&self) -> String {
        let experiment = &self.experiment;
        let mut html =
            format!("<section id=\"{}\">\n<h2>{}</h2>\n", escape(&self.anchor), escape(&experiment.title));
        if !experiment.question.is_empty() {
            html += &format!("<p class=\"question\">{}</p>\n", set(&experiment.question));
        }
        if !experiment.note.is_empty() {
            html += &format!("<p class=\"note\">{}</p>\n", set(&experiment.note));
        }
        html += &self.then_and_here();
        if !self.charts.is_empty() {
            html += "<div class=\"figures\">\n";
            html.extend(self.charts.iter().map(Chart::html));
            html += "</div>\n";
        }
        if let Some(care) = &self.care {
            html += &format!("<p class=\"care\"><b>Warnings:</b> {}</p>\n", set(care));
        }
        for (reason, count) in &self.skipped {
            html += &format!(
                "<p class=\"care\"><b>Not measured:</b> {}: {}</p>\n",
                units::count(*count, "cell"),
                set(reason)
            );
        }
        for (i, (title, table)) in self.tables.iter().enumerate() {
            let label = format!("{}: {}", experiment.title, title.to_lowercase());
            html += &folded(title, &table.html(&label), i == 0 && self.tables.len() > 1);
        }
        html + "</section>\n"
    }

    fn then_and_here(&self) -> String {
        let mut html = String::from("<div class=\"findings\">\n");
        if !self.experiment.then.is_empty() {
            html += "<div class=\"then\"><h3>Then</h3>\n";
            for then in &self.experiment.then {
                html += &format!(
                    "<p><b>{}</b> {} <cite>{}</cite></p>\n",
                    then.year,
                    set(&then.found),
                    escape(&then.source)
                );
            }
            html += "</div>\n";
        }
        html += "<div class=\"here\"><h3>Here</h3>\n";
        if self.here.is_empty() {
            html += &format!("<p>{}</p>\n", self.without());
        }
        for sentence in &self.here {
            html += &format!("<p>{}</p>\n", set(sentence));
        }
        html + "</div>\n</div>\n"
    }
}
