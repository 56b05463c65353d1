//! The rounds of the headline figures: the cell of each figure that takes the next sample, and the time between two
//! samples.
//!
//! Storage alternates between levels for seconds. Samples less than the correlation time apart repeat one another, so the
//! time between two samples of a cell goes to the other figures.

use std::collections::BTreeMap;

use crate::simplicity::fastest_known;
use crate::stats::correlation_time;

/// Share of the time for the headline figures.
pub(super) const HEADLINES: f64 = 0.4;

/// The same while cells have no sample yet: slow storage must measure each.
const EARLY: f64 = 0.2;

/// Maximum number of cells that alternate until the fastest is known.
const CANDIDATES: usize = 3;

/// Share of the fastest rate from which a cell may be the fastest.
const NEAR: f64 = 0.8;

/// Samples of each candidate before the fastest is chosen.
const KNOWN: usize = 4;

/// Maximum time between two samples of a cell, as a share of the time of all.
const APART: f64 = 0.1;

/// Fewest samples that keep the next ones apart: the correlation of fewer is mostly chance.
const SHOWN: usize = 20;

/// Duration of a sample in seconds below which it saves nothing to keep samples apart.
const CHEAP: f64 = 0.05;

/// State of the rounds; times in seconds.
#[derive(Debug)]
pub(super) struct Headlines {
    /// Time that was left before the first.
    since: f64,
    spent: f64,
    /// Time that was left at the last sample of each cell.
    last: BTreeMap<usize, f64>,
}

/// A cell of a figure.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) index: usize,
    /// Its throughput: the median, or that of the pilot.
    pub(super) rate: f64,
    /// Start and rate of its samples.
    pub(super) samples: Vec<(f64, f64)>,
    /// Duration of a sample with its preparation.
    pub(super) cost: f64,
    pub(super) unfinished: bool,
}

impl Candidate {
    /// Returns the time after which a sample no longer repeats the last one.
    fn apart(&self) -> f64 {
        let is_shown = self.samples.len() >= SHOWN && self.cost >= CHEAP;
        correlation_time(&self.samples).filter(|_| is_shown).unwrap_or(0.0)
    }
}

impl Headlines {
    /// Starts the rounds of the figures with `left` seconds.
    pub(super) fn new(left: f64) -> Self {
        Self { since: left, spent: 0.0, last: BTreeMap::new() }
    }

    /// True if the figures have had less than their share of the time; `early` while cells have no sample yet.
    pub(super) fn is_due(&self, left: f64, early: bool) -> bool {
        self.spent == 0.0 || self.spent < if early { EARLY } else { HEADLINES } * (self.since - left)
    }

    /// Selects the cell of each figure's next sample, if its last one is long enough ago.
    pub(super) fn select(
        &mut self,
        figures: impl IntoIterator<Item = Vec<Candidate>>,
        left: f64,
    ) -> Vec<usize> {
        let mut selected = Vec::new();
        for candidates in figures {
            let Some(candidate) = next(&candidates) else { continue };
            let apart = candidate.apart().min(APART * self.since);
            if self.last.get(&candidate.index).is_none_or(|last| last - left >= apart) {
                self.last.insert(candidate.index, left);
                selected.push(candidate.index);
            }
        }
        selected
    }

    pub(super) fn record(&mut self, seconds: f64) {
        self.spent += seconds;
    }
}

/// Returns the cell of a figure that takes the next sample: of those that may be the fastest the one with the fewest, until
/// each has some; then the fastest. `None` if it is precise.
fn next(cells: &[Candidate]) -> Option<&Candidate> {
    let mut order: Vec<&Candidate> = cells.iter().collect();
    order.sort_by(|a, b| b.rate.total_cmp(&a.rate));
    let top = order.first()?.rate;
    let near = order.into_iter().take(CANDIDATES).filter(|one| one.rate >= NEAR * top);
    let unknown = near.filter(|one| one.unfinished && one.samples.len() < KNOWN);
    let fastest = || fastest_known(cells.iter().map(|one| (one, one.rate, one.samples.len())));
    unknown.min_by_key(|one| one.samples.len()).or_else(fastest).filter(|one| one.unfinished)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(cells: &[(f64, usize)]) -> Vec<Candidate> {
        let one = |(index, &(rate, samples)): (usize, &(f64, usize))| Candidate {
            index,
            rate,
            samples: vec![(0.0, rate); samples],
            cost: 0.25,
            unfinished: true,
        };
        cells.iter().enumerate().map(one).collect()
    }

    #[test]
    fn close_cells_alternate_until_each_is_known() {
        let next = |cells: &[(f64, usize)]| next(&candidates(cells)).map(|one| one.index);
        assert_eq!(next(&[(1.0, 0), (0.9, 0), (0.85, 0), (0.82, 0), (0.5, 0)]), Some(0));
        assert_eq!(next(&[(1.0, 1), (0.9, 0), (0.85, 0), (0.82, 0), (0.5, 0)]), Some(1));
        assert_eq!(next(&[(1.0, 4), (0.9, 4), (0.85, 3), (0.82, 0), (0.5, 0)]), Some(2));
        // Then the fastest alone; of equal ones that with the most samples.
        assert_eq!(next(&[(1.0, 4), (0.9, 4), (0.85, 4), (0.82, 0), (0.5, 0)]), Some(0));
        assert_eq!(next(&[(1.0, 4), (0.97, 9)]), Some(1));
        assert_eq!(next(&[]), None);
        let mut precise = candidates(&[(1.0, 9), (0.7, 1)]);
        precise[0].unfinished = false;
        assert!(super::next(&precise).is_none());
    }

    #[test]
    fn the_share_of_the_time_is_smaller_while_cells_have_no_sample() {
        let mut rounds = Headlines::new(100.0);
        assert!(rounds.is_due(100.0, true));
        rounds.record(3.0);
        assert!(!rounds.is_due(90.0, true) && rounds.is_due(90.0, false));
    }

    /// Levels of ten seconds each, sampled every second.
    #[test]
    fn correlated_samples_of_a_cell_are_kept_apart() {
        let level = |at: u32| if (at / 10).is_multiple_of(2) { 1.0 } else { 1.5 };
        let cell = |samples: u32, rate: fn(u32) -> f64| {
            let samples = (0..samples).map(|at| (f64::from(at), rate(at) + 0.001 * f64::from(at * 7 % 5)));
            Candidate { index: 0, rate: 1.2, samples: samples.collect(), cost: 0.25, unfinished: true }
        };
        let selected = |cells: [Candidate; 3]| {
            let mut rounds = Headlines::new(85.0);
            let lefts = [60.0, 57.0, 50.0];
            let selects = cells.into_iter().zip(lefts).map(|(cell, left)| rounds.select([vec![cell]], left));
            selects.map(|selected| selected.len()).collect::<Vec<_>>()
        };
        let same = |cell: Candidate| [cell.clone(), cell.clone(), cell];
        assert_eq!(selected(same(cell(40, level))), [1, 0, 1]);
        assert_eq!(selected(same(cell(40, |_| 1.0))), [1, 1, 1], "independent");
        assert_eq!(selected(same(cell(19, level))), [1, 1, 1], "too few");
        assert_eq!(selected(same(Candidate { cost: 0.04, ..cell(40, level) })), [1, 1, 1], "cheap");
        let other = Candidate { index: 1, ..cell(40, level) };
        assert_eq!(selected([cell(40, level), other, cell(40, level)]), [1, 1, 1], "another cell");
        let no_longer = [cell(40, level), cell(40, |_| 1.0), cell(40, level)];
        assert_eq!(selected(no_longer), [1, 1, 0], "the last samples decide");
    }
}
