//! Burst and sustained throughput: a chart of each cell over time, a table and sentences.

use super::course_chart::CourseChart;
use super::figures::ChartBuilder;
use super::phrases::{capital, spanned};
use crate::block::{NOTHING, Table, Titled, figures, words};
use crate::document::{DeviceCredit, Document, Experiment};
use crate::units;

fn of<'a>(document: &'a Document, experiment: &Experiment) -> Vec<&'a DeviceCredit> {
    let here = |found: &&DeviceCredit| {
        document.cell(&found.cell).is_some_and(|cell| cell.experiment == experiment.name)
    };
    document.findings.credit.iter().filter(here).collect()
}

/// The name of a credit in a chapter: `write, bytes`.
fn name(credit: &DeviceCredit) -> String {
    format!("{}, {}", credit.operation, credit.unit.word())
}

/// The parameters of a chapter's cells with their intervals, one row per cell.
pub(super) fn table(document: &Document, experiment: &Experiment) -> Titled {
    let columns = [
        words("limit of"),
        figures("burst"),
        figures("credit"),
        words("full"),
        figures("sustained"),
        figures("refill while idle"),
        figures("transferred without a pause"),
        words("steady"),
    ];
    let yes = |holds: bool| if holds { "yes".to_owned() } else { "no".into() };
    let row = |found: &&DeviceCredit| {
        let (unit, fit) = (found.unit, &found.fit);
        let burst = fit.burst.as_ref();
        let refill = burst.and_then(|burst| burst.refill.as_ref());
        vec![
            name(found),
            burst.map_or_else(|| "none".into(), |burst| spanned(burst.rate, |rate| unit.rate(rate))),
            burst.map_or_else(|| NOTHING.into(), |burst| spanned(burst.credit, |count| unit.quantity(count))),
            burst.map_or_else(|| NOTHING.into(), |burst| yes(burst.full)),
            spanned(fit.sustained, |rate| unit.rate(rate)),
            refill.map_or_else(
                || NOTHING.into(),
                |refill| {
                    let bound = if refill.at_least { "at least " } else { "" };
                    format!("{bound}{}", spanned(refill.rate, |rate| unit.rate(rate)))
                },
            ),
            unit.quantity(fit.moved),
            yes(fit.steady),
        ]
    };
    let rows = of(document, experiment).iter().map(row).collect();
    ("Burst, credit, sustained rate and refill", Table::new(columns, rows))
}

/// A sentence per cell.
pub(super) fn sentences(document: &Document, experiment: &Experiment) -> Vec<String> {
    let sentence = |found: &DeviceCredit| format!("{}: {}.", capital(&name(found)), found.text());
    of(document, experiment).into_iter().map(sentence).collect()
}

impl ChartBuilder<'_> {
    /// A chart per cell: throughput over time with the fitted steps.
    pub(super) fn course(&mut self) {
        for found in of(self.document, self.experiment) {
            let cell = self.document.cell(&found.cell);
            let Some(course) = cell.and_then(|c| c.samples.iter().find_map(|s| s.course.as_ref())) else {
                continue;
            };
            let request = cell.and_then(|cell| cell.labels.request_bytes).unwrap_or(1);
            let chart = CourseChart::new(course, found, request as f64);
            let described = format!(
                " Thin: {} slices of {}; thick: fitted. Gaps are idle periods.",
                course.stretches.iter().map(|stretch| stretch.bytes.len()).sum::<usize>(),
                units::seconds(course.slice_s)
            );
            let caption = format!("Throughput over time, {}", name(found));
            self.add("course", caption, described, &(found.text() + "."), chart.picture());
        }
    }
}
