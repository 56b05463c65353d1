//! Comparison of a document with the truth.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Child;

use fullbore_bench::document::{Cell, Document};

use super::lab::{Meter, MeterOptions, measures_here};
use super::latent::served_here;

/// Greatest relative error of a figure.
const TOLERANCE: f64 = 0.03;

/// Collects errors, and prints the ratio of every figure to the truth.
pub(crate) struct Judge {
    name: String,
    pub(crate) tolerance: f64,
    wrong: Vec<String>,
}

impl Judge {
    fn of(name: String) -> Self {
        Self { name, tolerance: TOLERANCE, wrong: Vec::new() }
    }

    pub(crate) fn near(&mut self, what: &str, found: f64, truth: f64) {
        self.between(what, found, truth, truth);
    }

    /// Checks that a figure is within the tolerance of a truth known to lie between two values.
    pub(crate) fn between(&mut self, what: &str, found: f64, least: f64, most: f64) {
        let ratio = found / most;
        println!("{}: {what}: {ratio:.4} of the truth", self.name);
        let near = found >= least * (1.0 - self.tolerance) && found <= most * (1.0 + self.tolerance); // false for NaN
        if !near {
            self.wrong.push(format!("{}: {what}: {ratio:.3} of the truth", self.name));
        }
    }

    pub(crate) fn holds(&mut self, what: &str, it: bool) {
        if !it {
            self.wrong.push(format!("{}: {what} does not hold", self.name));
        }
    }
}

pub(crate) fn rate(cell: &Cell) -> f64 {
    cell.summary
        .as_ref()
        .unwrap_or_else(|| panic!("{}: {:?} {:?}", cell.id, cell.skipped, cell.samples))
        .rate
        .value
}

/// The only cell that satisfies a condition.
pub(crate) fn cell(document: &Document, is: impl Fn(&Cell) -> bool) -> &Cell {
    let mut found = document.cells.iter().filter(|cell| is(cell));
    let cell = found.next().expect("such a cell");
    assert!(found.next().is_none(), "{} is not the only one", cell.id);
    cell
}

/// Attempts per laboratory before it counts as measured wrongly, each with more time: the machine may have other work,
/// which the limits do not cover.
const ATTEMPTS: u32 = 3;

/// Measures all laboratories at once, since they mostly wait, and repeats those measured wrongly. A setting has a name, a
/// laboratory and experiments; `judge` compares its document with the truth. In a process started by the test, serves a
/// disk or measures instead.
pub(crate) fn prove<S, L: AsRef<Meter>>(
    task: MeterOptions,
    settings: &[S],
    name: impl Fn(&S) -> String,
    make: impl Fn(&S) -> Result<L, String>,
    experiments: impl Fn(&S) -> String,
    judge: impl Fn(&S, &Document, &mut Judge),
) {
    if served_here() || measures_here() || !fullbore_testkit::runs_all("disks of known limits") {
        return;
    }
    let mut labs = Vec::new();
    for setting in settings {
        let Some(lab) = fullbore_testkit::or_skip("disks of known limits", make(setting)) else { return };
        labs.push((setting, lab));
    }
    for attempt in 1..=ATTEMPTS {
        let seconds = task.seconds * u64::from(attempt);
        let start = |(setting, lab): &(&S, L)| {
            lab.as_ref().start(MeterOptions { seconds, ..task }, &experiments(setting))
        };
        let children: Vec<Child> = labs.iter().map(start).collect();
        let documents: Vec<Document> =
            labs.iter().zip(children).map(|((_, lab), child)| lab.as_ref().finish(child)).collect();
        let mut wrong = Vec::new();
        for ((setting, lab), document) in labs.into_iter().zip(documents) {
            let mut judging = Judge::of(name(setting));
            // On a machine busy with other work, cells may lack the samples that are judged.
            let judged = catch_unwind(AssertUnwindSafe(|| judge(setting, &document, &mut judging)));
            if judged.is_err() {
                judging.wrong.push("cells without samples".into());
            }
            if !judging.wrong.is_empty() {
                println!("attempt {attempt}: {:#?}", judging.wrong);
                for cell in document.cells.iter().filter(|cell| cell.summary.is_none()) {
                    println!("{}: no result: {:?}, {} samples", cell.id, cell.skipped, cell.samples.len());
                }
                wrong.push((setting, lab));
            }
        }
        labs = wrong;
        if labs.is_empty() {
            return;
        }
    }
    panic!("{} of {} laboratories were measured wrongly, {ATTEMPTS} times", labs.len(), settings.len());
}
