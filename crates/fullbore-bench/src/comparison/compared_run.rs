//! One document compared with the baseline.

use serde::Serialize;

use super::cell::CellChange;
use super::difference::Difference;
use super::options::Source;
use super::text::shown;
use crate::units;

/// The properties of a document that a comparison shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Origin {
    /// The name given by the caller.
    pub name: String,
    /// Start of the run.
    pub started: String,
    /// Version of fullbore.
    pub fullbore_version: String,
    /// Directory measured.
    pub directory: String,
    /// Kind of its file system.
    pub file_system: String,
    /// Size of the test file in bytes.
    pub file_bytes: u64,
}

impl Origin {
    pub(super) fn of(source: &Source<'_>) -> Self {
        let run = &source.document.run;
        Self {
            name: shown(source.name),
            started: run.started.clone(),
            fullbore_version: run.fullbore_version.clone(),
            directory: shown(&run.directory),
            file_system: source.document.environment.file_system.kind.clone(),
            file_bytes: run.file_bytes,
        }
    }
}

/// A cell measured in one of two documents only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unmatched {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The reason why the other has no figure for it.
    pub reason: String,
}

/// Numbers of cells by verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct VerdictCounts {
    /// Cells compared.
    pub compared: usize,
    /// Of these by their rate: slower.
    pub slower: usize,
    /// Unclear.
    pub unclear: usize,
    /// The same within the margin.
    #[serde(rename = "no_difference_that_matters")]
    pub same: usize,
    /// Faster.
    pub faster: usize,
    /// Slower or faster among all comparisons made (Holm).
    pub standing: usize,
    /// Largest expected number of verdicts of slower or faster if nothing changed: the share that intervals miss, times
    /// the cells with enough samples for a verdict.
    #[serde(rename = "by_chance_at_most")]
    pub by_chance: f64,
}

impl VerdictCounts {
    /// The verdicts in a line: `3 slower, 2 unclear, 60 same, 10 faster of 75 cells`.
    pub fn line(&self) -> String {
        format!(
            "{} slower, {} unclear, {} same, {} faster of {}",
            self.slower,
            self.unclear,
            self.same,
            self.faster,
            units::count(self.compared, "cell")
        )
    }
}

/// One document compared with the baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedRun {
    /// The document.
    pub origin: Origin,
    /// Differences of its environment; all of them are of an allowed aspect.
    pub differences: Vec<Difference>,
    /// Notes for the reader, a phrase each.
    pub notes: Vec<String>,
    /// The cells compared, the worst first.
    pub cells: Vec<CellChange>,
    /// Cells of the baseline without a figure here.
    pub missing: Vec<Unmatched>,
    /// Cells without a figure in the baseline.
    pub added: Vec<Unmatched>,
    /// Numbers of cells by verdict.
    pub verdict_counts: VerdictCounts,
}
