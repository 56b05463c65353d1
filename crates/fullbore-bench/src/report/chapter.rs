//! A chapter of the report: one experiment with its question, earlier and present findings, charts and tables.

use super::data_table::tables;
use super::figures::ChartBuilder;
use super::palette::Palette;
use super::picture::Chart;
use super::verdict::verdict;
use crate::block::{Block, Fold, Section, Titled};
use crate::document::{Axis, Document, Experiment, Figure, StopReason, experiments, series};
use crate::units;

/// The content of a chapter, independent of HTML and Markdown.
pub(super) struct Chapter {
    pub(super) experiment: Experiment,
    /// Id of its section, unique in the report.
    pub(super) anchor: String,
    pub(super) here: Vec<String>,
    pub(super) charts: Vec<Chart>,
    pub(super) tables: Vec<Titled>,
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
            here: [
                verdict(document, &experiment, &lines),
                super::chapter_findings::regret_sentences(document, &experiment),
            ]
            .concat(),
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

fn anchor(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    format!("experiment-{}", name.chars().map(safe).collect::<String>())
}

/// The numbers of cells that are imprecise, two-humped, drifting and so on, in a sentence; `None` if there are none.
fn care(document: &Document, experiment: &str) -> Option<String> {
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

impl Chapter {
    pub(super) fn measured(&self) -> bool {
        !self.charts.is_empty() || !self.tables.is_empty()
    }

    /// The chapter as a section; the `first` of all is marked so.
    pub(super) fn section(&self, first: bool) -> Section {
        let experiment = &self.experiment;
        let mut blocks = Vec::new();
        if !experiment.question.is_empty() {
            blocks.push(Block::Question(experiment.question.clone()));
        }
        if !experiment.note.is_empty() {
            blocks.push(Block::Paragraph(experiment.note.clone()));
        }
        let here = match (self.here.is_empty(), self.measured()) {
            (false, _) => self.here.clone(),
            (true, true) => vec!["Measured, without a verdict.".into()],
            (true, false) => vec!["Nothing was measured here.".into()],
        };
        blocks.push(Block::Findings { then: experiment.then.clone(), here });
        blocks.push(Block::Figures(self.charts.iter().map(Chart::figure).collect()));
        blocks.extend(self.care.iter().map(|care| Block::Labelled("Warnings", care.clone())));
        blocks.extend(self.skipped.iter().map(|(reason, count)| {
            Block::Labelled("Not measured", format!("{}: {reason}", units::count(*count, "cell")))
        }));
        for (i, (title, table)) in self.tables.iter().enumerate() {
            let fold = if i == 0 && self.tables.len() > 1 { Fold::Screen } else { Fold::Page };
            let label = format!("{}: {}", experiment.title, title.to_lowercase());
            let table = Block::Table { label, table: table.clone() };
            blocks.push(Block::Folded { title: (*title).into(), fold, blocks: vec![table] });
        }
        let class = match (self.measured(), first) {
            (false, _) => "unmeasured",
            (true, true) => "first",
            (true, false) => "",
        };
        Section { class, ..Section::new(&self.anchor, &experiment.title, blocks) }
    }
}
