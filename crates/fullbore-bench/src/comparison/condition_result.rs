//! Conditions tested on compared documents.

use std::fmt;

use serde::Serialize;

use super::cell::CellChange;
use super::change::{Change, Judgement};
use super::compared_run::ComparedRun;
use super::condition::{ChangeKind, Condition};
use super::family::holm;
use crate::units;

/// A cell that meets a condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MatchingCell {
    /// Name of the document.
    pub document: String,
    /// Id of the cell, in the baseline if it is missing here.
    pub id: String,
    /// Its name.
    pub name: String,
}

/// A condition and the cells that meet it.
#[derive(Debug, Clone, PartialEq)]
pub struct ConditionResult {
    /// The condition.
    pub condition: Condition,
    /// The cells that meet it.
    pub cells: Vec<MatchingCell>,
    /// Number of cells that meet it by their own interval, but not among all cells compared.
    pub alone: usize,
    /// Number of cells tested for it.
    pub tested: usize,
}

impl fmt::Display for ConditionResult {
    /// Writes the number of cells that meet the condition, and the first of them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cells = units::count(self.tested, "cell");
        let alone = match self.alone {
            0 => String::new(),
            n => format!("; {n} more by the cell's own interval, but not among {cells} (Holm)"),
        };
        match self.cells.len() {
            0 => write!(f, "--fail-on {}: not met by any of {cells}{alone}", self.condition),
            n => {
                let names: Vec<&str> = self.cells.iter().take(3).map(|cell| cell.name.as_str()).collect();
                let more =
                    if n > names.len() { format!("; and {} more", n - names.len()) } else { String::new() };
                write!(
                    f,
                    "--fail-on {}: met by {n} of {cells}: {}{more}{alone}",
                    self.condition,
                    names.join("; ")
                )
            }
        }
    }
}

impl ConditionResult {
    /// Determines the cells that meet `condition`.
    ///
    /// A change counts if the whole interval lies beyond the share, and if it still does among all comparisons: Holm's
    /// correction over the tests of "by no more than the share", one-sided, at half of what the intervals miss. So
    /// whatever the number of cells, a comparison in which nothing changed by more fails in at most 2.5% of cases.
    pub(super) fn of(condition: &Condition, others: &[ComparedRun], confidence: f64) -> Self {
        let mut met = Self { condition: *condition, cells: Vec::new(), alone: 0, tested: 0 };
        let cell = |other: &ComparedRun, id: &str, name: &str| MatchingCell {
            document: other.origin.name.clone(),
            id: id.to_owned(),
            name: name.to_owned(),
        };
        match condition {
            Condition::Missing => {
                for other in others {
                    met.cells.extend(other.missing.iter().map(|alone| cell(other, &alone.id, &alone.name)));
                    met.tested += other.missing.len() + other.cells.len();
                }
            }
            Condition::Unclear => {
                for other in others {
                    let unclear = other.cells.iter().filter(|c| c.rate.judgement == Judgement::Unclear);
                    met.cells.extend(unclear.map(|c| cell(other, &c.id, &c.name)));
                    met.tested += other.cells.len();
                }
            }
            Condition::Changed { kind, share } => met.changed(*kind, *share, others, confidence, cell),
        }
        met
    }

    fn changed(
        &mut self,
        kind: ChangeKind,
        share: f64,
        others: &[ComparedRun],
        confidence: f64,
        cell: impl Fn(&ComparedRun, &str, &str) -> MatchingCell,
    ) {
        let of = |c: &CellChange| -> Option<Change> {
            match kind {
                ChangeKind::Slower | ChangeKind::Faster => Some(c.rate.clone()),
                ChangeKind::CpuHigher | ChangeKind::LowerCpu => c.cost.clone(),
                ChangeKind::Longer | ChangeKind::Shorter => c.latency.clone(),
            }
        };
        let candidates: Vec<_> = others
            .iter()
            .flat_map(|other| other.cells.iter().map(move |c| (other, c)))
            .filter_map(|(other, c)| {
                let change = of(c)?;
                let test = change.test?;
                let p = match kind.falls() {
                    true => test.p_of_at_least(1.0 - share),
                    false => test.p_of_at_most(1.0 + share),
                };
                Some((other, c, change, p))
            })
            .collect();
        self.tested = candidates.len();
        let adjusted = holm(&candidates.iter().map(|candidate| candidate.3).collect::<Vec<_>>());
        for ((other, c, change, _), p) in candidates.iter().zip(adjusted) {
            let beyond = match kind.judgement() {
                Judgement::Worse => change.worse_by(share),
                _ => change.better_by(share),
            };
            if beyond && p <= (1.0 - confidence) / 2.0 {
                self.cells.push(cell(other, &c.id, &c.name));
            } else if beyond {
                self.alone += 1;
            }
        }
    }
}
