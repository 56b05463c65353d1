//! What a run tells its user to do: ranked advice, and the rules of 1997 tested again.
//!
//! Pure functions over the cells of a results document. They go by labels alone, so experiments of a user's own are
//! understood as far as their labels go. `docs/advice.md` says what each line rests on.
#![forbid(unsafe_code)]

mod advisors;
mod candidate;
mod input;
mod ratio;
mod rules;
mod saved_jobs;
mod sweep;
mod words;

use advisors::ADVISORS;
use input::AdviceInput;

use crate::document::{Advice, Cell, Findings, Rule};
use crate::stats::Bootstrap;

pub(crate) use saved_jobs::reads_without_trial;

/// What to do on this machine, what is worth most first.
///
/// `findings` are those made so far: half-power points and choices are named. Cells bound by the meter, cells that
/// their proof contradicts in half of their samples or more, and samples contradicted take no part. An advisor whose cells
/// are missing, or do not differ as far as can be told, says nothing.
pub fn advice(cells: &[Cell], findings: &Findings, bootstrap: &Bootstrap) -> Vec<Advice> {
    let input = AdviceInput::new(cells, findings, bootstrap);
    candidate::ranked(ADVISORS.iter().flat_map(|advisor| advisor(&input)).collect())
}

/// The ten rules of Riedel, van Ingen and Gray (1997, section 6) with what became of them here, in their order.
pub fn rules(cells: &[Cell], findings: &Findings, bootstrap: &Bootstrap) -> Vec<Rule> {
    rules::tested(&AdviceInput::new(cells, findings, bootstrap))
}
