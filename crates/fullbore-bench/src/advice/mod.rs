//! Advice of a run: ranked recommendations, and the rules of 1997 tested again.
//!
//! Pure functions over the cells of a results document. They use only labels, so a user's own experiments are
//! considered as far as their labels permit. `docs/advice.md` lists the evidence behind each line.
#![forbid(unsafe_code)]

mod advisors;
mod candidate;
mod input;
mod jobs;
mod rules;
mod sweep;
mod words;

use input::AdviceInput;

use crate::document::{Advice, Cell, Findings, Recommendation, Rule};

pub(crate) use advisors::is_common_default;
pub(crate) use input::reads_without_trial;
pub(crate) use words::CHEAPER;

/// Returns advice for this machine: at most seven entries that lead, then the rest; each part by descending gain.
///
/// `findings` are those made so far: half-power points and choices. Cells limited by the meter, cells whose proof
/// contradicts half of their samples or more, and contradicted samples are ignored. An advisor whose cells are missing,
/// or do not differ significantly, gives no advice.
pub fn advice(cells: &[Cell], findings: &Findings) -> Vec<Advice> {
    candidate::ranked(advisors::candidates(&AdviceInput::new(cells, findings)))
}

/// The strategy to use for each kind of job that the cells measured, in the order of [`JobKind::ALL`](crate::document::JobKind::ALL).
///
/// If two strategies are within 5%, the simpler is chosen: fewer workers, then the simpler access method, then the smaller depth.
pub fn recommendations(cells: &[Cell]) -> Vec<Recommendation> {
    jobs::recommendations(&AdviceInput::new(cells, &Findings::default()))
}

/// The ten rules of Riedel, van Ingen and Gray (1997, section 6) with their verdicts here, in the order of the paper.
pub fn rules(cells: &[Cell], findings: &Findings) -> Vec<Rule> {
    rules::tested(&AdviceInput::new(cells, findings))
}
