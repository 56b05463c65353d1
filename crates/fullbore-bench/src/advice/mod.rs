//! Advice of a run: ranked recommendations, and the rules of 1997 tested again.
//!
//! Pure functions over the cells of a results document. They use labels only, so a user's own experiments count as far
//! as their labels allow. `docs/advice.md` lists the evidence behind each line.
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

/// Recommendations for this machine, largest gain first.
///
/// `findings` are those made so far: half-power points and choices. Cells limited by the meter, cells whose proof
/// contradicts half of their samples or more, and contradicted samples are ignored. An advisor whose cells are missing,
/// or do not differ significantly, gives no advice.
pub fn advice(cells: &[Cell], findings: &Findings, bootstrap: &Bootstrap) -> Vec<Advice> {
    let input = AdviceInput::new(cells, findings, bootstrap);
    candidate::ranked(ADVISORS.iter().flat_map(|advisor| advisor(&input)).collect())
}

/// The ten rules of Riedel, van Ingen and Gray (1997, section 6) with their verdicts here, in the order of the paper.
pub fn rules(cells: &[Cell], findings: &Findings, bootstrap: &Bootstrap) -> Vec<Rule> {
    rules::tested(&AdviceInput::new(cells, findings, bootstrap))
}
