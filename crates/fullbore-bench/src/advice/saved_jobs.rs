//! Entries of the profile for jobs that were not tried under their own name.

use fullbore::strategy::{CacheState, Job};

use super::input::{EligibleCell, End, end, is_sequential, is_usual};
use crate::document::Cell;

/// Cells without a job that did exactly the work of the job “read”, by cache state: whole requests of the file from front
/// to back into memory. Nothing is inferred from one cache state, size or method to another.
///
/// They are used if no cell was tried under the job's own name; transformations have no such cells.
pub(crate) fn reads_without_trial(cells: &[Cell]) -> Vec<(Job, Vec<&Cell>)> {
    let end_of = |cell: &Cell| EligibleCell::of(cell).filter(reads).map(|w| end(w.labels));
    [(CacheState::Warm, End::Cache), (CacheState::Cold, End::Device)]
        .into_iter()
        .map(|(cache_state, wanted)| {
            let here = cells.iter().filter(|cell| end_of(cell) == Some(wanted)).collect();
            (Job::Read(cache_state), here)
        })
        .filter(|(_, cells): &(Job, Vec<&Cell>)| !cells.is_empty())
        .collect()
}

fn reads(eligible: &EligibleCell<'_>) -> bool {
    let labels = eligible.labels;
    is_usual(labels)
        && labels.variant.is_none()
        && labels.operation == "read"
        && labels.job.is_empty()
        && is_sequential(labels)
        && labels.file_bytes.is_none()
        && labels.strategy.is_some()
}
