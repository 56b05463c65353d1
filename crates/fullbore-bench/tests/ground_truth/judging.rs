//! Comparison of a document with the truth.

use fullbore_bench::document::{Cell, Document};

/// Greatest relative error of a figure.
pub(crate) const TOLERANCE: f64 = 0.03;

/// Collects errors, and prints the ratio of every figure to the truth.
pub(crate) struct Judge {
    name: String,
    tolerance: f64,
    pub(crate) wrong: Vec<String>,
}

impl Judge {
    pub(crate) fn of(name: String) -> Self {
        Self::within(name, TOLERANCE)
    }

    /// A judge with another greatest relative error.
    pub(crate) fn within(name: String, tolerance: f64) -> Self {
        Self { name, tolerance, wrong: Vec::new() }
    }

    /// Checks that a figure is within the tolerance of the truth.
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
