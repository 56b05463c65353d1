//! The regret of `auto`: a chart, a table and a sentence for each job.

use super::bar_chart::{Bar, BarChart};
use super::figures::ChartBuilder;
use crate::block::{Table, Titled, figures, words};
use crate::document::{Document, Experiment, Regret};
use crate::stats::Estimate;
use crate::units;

fn of<'a>(document: &'a Document, experiment: &Experiment) -> Vec<&'a Regret> {
    let here =
        |found: &&Regret| document.cell(&found.cell).is_some_and(|cell| cell.experiment == experiment.name);
    document.findings.regrets.iter().filter(here).collect()
}

/// The times of a regret: `auto` ÷ best.
fn times(regret: &Regret) -> Estimate {
    let Estimate { value, low, high } = regret.regret;
    Estimate { value: 1.0 + value, low: 1.0 + low, high: 1.0 + high }
}

fn rate(document: &Document, cell: &str) -> String {
    let summary = document.cell(cell).and_then(|cell| cell.summary.as_ref());
    summary.map_or_else(String::new, |summary| units::rate(summary.rate.value))
}

/// The regrets of a chapter, one row per job.
pub(super) fn table(document: &Document, experiment: &Experiment) -> Titled {
    let columns = [
        words("job"),
        figures("regret"),
        figures("95% interval"),
        figures("auto"),
        figures("best"),
        figures("strategies"),
        words("best strategy"),
    ];
    let row = |found: &&Regret| {
        vec![
            found.job.clone(),
            units::percent(found.regret.value),
            format!("{} to {}", units::percent(found.regret.low), units::percent(found.regret.high)),
            rate(document, &found.cell),
            rate(document, &found.best),
            found.strategies.to_string(),
            found.strategy.clone(),
        ]
    };
    let rows = of(document, experiment).iter().map(row).collect();
    ("Regret: auto ÷ best strategy − 1", Table::new(columns, rows))
}

/// A sentence per job.
pub(super) fn sentences(document: &Document, experiment: &Experiment) -> Vec<String> {
    of(document, experiment).into_iter().map(|found| found.text() + ".").collect()
}

impl ChartBuilder<'_> {
    /// A bar per job, in the order of the cells, with a line where `auto` takes as long as the best strategy.
    pub(super) fn regret(&mut self) {
        let found = of(self.document, self.experiment);
        if found.is_empty() {
            return;
        }
        let bar = |found: &&Regret| Bar {
            name: found.job.clone(),
            colour: 0,
            value: times(found),
            text: units::percent(found.regret.value),
            tip: found.text(),
        };
        let chart = BarChart {
            x_title: "time of auto ÷ time of the best strategy".into(),
            bars: found.iter().map(bar).collect(),
            rule: Some((1.0, "best strategy".into())),
        };
        let spoken: Vec<String> = found.iter().map(|found| found.text()).collect();
        self.add(
            "regret",
            "Regret of auto, by job".into(),
            " Figures: time beyond that of the best strategy fixed for the whole run.".into(),
            &(spoken.join("; ") + "."),
            chart.picture(),
        );
    }
}
