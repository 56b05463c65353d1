//! The cells of a set while they are measured.

use std::time::Duration;

use fullbore::Result;
use fullbore::error::ErrorKind;

use super::active_cell::{ActiveCell, SAMPLE};
use super::decisions::{Decisions, Stage};
use super::headlines::{HEADLINES, Headlines};
use crate::action::{DeviceLimits, RunContext};
use crate::clock::Clock;
use crate::document::{Document, Experiment, Labels, Regime};
use crate::experiment::Trial;
use crate::stats::StopRule;

/// Minimum number of samples per cell.
pub(super) const ROUNDS: u32 = 7;

/// Number of samples of every cell before rounds are limited to open decisions.
const COARSE: usize = 3;

/// Number of rounds over the cells of open decisions that the time per sample is determined for.
const FOCUSED: u32 = 4;

/// Share of the time of open decisions that is kept for the figure of the best of each group.
const ENDING: f64 = 0.4;

/// Number of rounds over the cells of headline figures that the time per sample is determined for.
const HEADLINE_ROUNDS: u32 = 40;

/// Number of rounds over the cells without samples that must be possible; on slow storage, cells are left out for them.
const DEFINITE: f64 = 3.0;

/// Maximum share of the time for determining the speed of the less important cells.
const CALIBRATION: f64 = 0.35;

/// The same on storage so slow that pilots are samples.
const FIRST_SAMPLES: f64 = 0.6;

/// Share of the time that samples take; the rest prepares them.
const PREPARED: f64 = 0.7;

/// Share of its time that a cell measured by a single run takes; the rest is for its preparation.
const ONE_RUN: f64 = 0.97;

#[derive(Debug, Clone)]
pub(super) struct Deadline {
    pub(super) clock: Clock,
    /// End of the part, from the start of the run.
    pub(super) end: Duration,
}

impl Deadline {
    pub(super) fn left(&self) -> f64 {
        self.end.saturating_sub(self.clock.elapsed()).as_secs_f64()
    }

    pub(super) fn share(&self) -> f64 {
        (self.clock.seconds() / self.end.as_secs_f64().max(1e-9)).min(1.0)
    }
}

/// All cells of a set, in the order of its trials.
#[derive(Debug)]
pub(super) struct Cells {
    pub(super) active: Vec<ActiveCell>,
    /// Cells for which the time of a sample was last determined.
    selected: Vec<usize>,
    /// Seconds that were left when rounds were first limited to open decisions.
    focused: Option<f64>,
    /// Rounds of the headline figures, and their time per sample.
    headlines: Option<(Headlines, f64)>,
    /// Number of samples of every cell before rounds are limited to open decisions.
    coarse: usize,
}

impl Cells {
    /// Opens every trial; the cell of a trial that cannot run here states the reason. Samples of the run `before` are kept.
    pub(super) fn open(
        trials: Vec<Trial>,
        context: &RunContext<'_>,
        regime: Regime,
        before: Option<&Document>,
    ) -> Self {
        let open = |trial| ActiveCell::open(trial, context, regime, before);
        let active = trials.into_iter().map(open).collect();
        Self { active, selected: Vec::new(), focused: None, headlines: None, coarse: COARSE }
    }

    pub(super) fn unfinished(&self) -> impl Iterator<Item = usize> {
        (0..self.active.len()).filter(|&index| self.active[index].is_unfinished())
    }

    pub(super) fn decisions(&self, experiments: &[Experiment]) -> Decisions {
        let labels = |one: &ActiveCell| (one.cell.experiment.clone(), one.cell.labels.clone());
        let cells: Vec<(String, Labels)> = self.active.iter().map(labels).collect();
        Decisions::new(&cells, experiments)
    }

    /// Selects the cells of the next round: the unfinished ones until all have a few samples, then those that an open
    /// decision needs, with longer samples; if there are none, all unfinished ones again.
    pub(super) fn select(&mut self, decisions: &Decisions, left: f64) -> Vec<usize> {
        let unfinished: Vec<usize> = self.unfinished().collect();
        let is_coarse = |index: &usize| {
            let one = &self.active[*index];
            // One that is too expensive for the rest of the time does not keep the others waiting.
            one.cell.samples.len() < self.coarse && one.cost <= left
        };
        if unfinished.iter().any(is_coarse) {
            return match self.coarse {
                COARSE => unfinished,
                _ => unfinished.into_iter().filter(is_coarse).collect(),
            };
        }
        let focused = *self.focused.get_or_insert(left);
        let stage = if left < ENDING * focused { Stage::Leaders } else { Stage::Deciding };
        let selected = self.needed(decisions, unfinished, stage);
        if self.selected.is_empty() || selected.len() * 4 < self.selected.len() * 3 {
            let others = if self.headlines.is_some() { 1.0 - HEADLINES } else { 1.0 };
            self.budget(&selected, FOCUSED, left * others);
            self.selected.clone_from(&selected);
        }
        selected
    }

    /// Selects the cells of the headline figures whose samples are due: they are spread over the run, because storage and
    /// machine change in the course of it.
    pub(super) fn select_headlines(&mut self, decisions: &Decisions, left: f64) -> Vec<usize> {
        let early = self.active.iter().any(|one| one.is_unfinished() && one.cell.samples.is_empty());
        let figures = decisions.headlines();
        let share = share_of(left * HEADLINES, figures.len(), HEADLINE_ROUNDS);
        let (headlines, sample) = self.headlines.get_or_insert_with(|| (Headlines::new(left), share));
        if !headlines.is_due(left, early) {
            return Vec::new();
        }
        let active = &self.active;
        let candidate = |&index: &usize| active[index].candidate(index);
        let candidates = figures.values().map(|of| of.iter().filter_map(candidate).collect());
        let selected = headlines.select(candidates, left);
        let sample = *sample;
        selected.iter().for_each(|&index| self.active[index].pace(sample));
        selected
    }

    /// Records the time of a round over the cells of headline figures.
    pub(super) fn record_headlines(&mut self, seconds: f64) {
        if let Some((headlines, _)) = &mut self.headlines {
            headlines.record(seconds);
        }
    }

    /// Returns those of the unfinished cells that an open decision needs; if there are none, all.
    fn needed(&self, decisions: &Decisions, unfinished: Vec<usize>, stage: Stage) -> Vec<usize> {
        let rates: Vec<Vec<f64>> = self.active.iter().map(ActiveCell::rates).collect();
        let needed = decisions.open(&rates, stage);
        let open: Vec<usize> = unfinished.iter().copied().filter(|&index| needed[index]).collect();
        if open.is_empty() { unfinished } else { open }
    }

    /// Leaves out the least important cells of storage so slow that the time does not suffice for a few rounds of those
    /// without samples. If it does not suffice for as many samples of the others, decisions begin with one of each.
    pub(super) fn leave_out(&mut self, decisions: &Decisions, left: f64) {
        let is_kept = |one: &&ActiveCell| !(one.failed || one.is_single());
        let has_none = |one: &&ActiveCell| one.cell.samples.is_empty();
        let costs = |cells: &mut dyn Iterator<Item = &ActiveCell>| -> f64 {
            cells.map(|one| one.cost.max(one.least)).sum()
        };
        loop {
            let kept = || self.active.iter().filter(is_kept);
            let first = costs(&mut kept().filter(has_none));
            let further = costs(&mut kept().filter(|one| !has_none(one)));
            if (first + further) * DEFINITE <= left {
                return;
            }
            let key = |&index: &usize| (decisions.rank(index), self.active[index].cost);
            let least_important = (0..self.active.len())
                .filter(|&index| decisions.rank(index) > 0 && !self.active[index].is_cached())
                .filter(|&index| is_kept(&&self.active[index]) && has_none(&&self.active[index]))
                .max_by(|a, b| key(a).0.cmp(&key(b).0).then(key(a).1.total_cmp(&key(b).1)));
            match least_important {
                Some(index) if first * DEFINITE > left - further.min(left / 2.0) => {
                    self.active[index].leave_out();
                }
                _ => {
                    self.coarse = 1;
                    return;
                }
            }
        }
    }

    /// Moves cells of headline figures that have no sample to the front: storage may be too slow for one of every cell.
    pub(super) fn put_headlines_first(&self, order: &mut [usize], decisions: &Decisions) {
        let is_headline = |index: &usize| decisions.headlines().values().any(|of| of.contains(index));
        order.sort_by_key(|index| !(self.active[*index].cell.samples.is_empty() && is_headline(index)));
    }

    /// Leaves out the cells for whose first sample there was no time.
    pub(super) fn leave_out_unmeasured(&mut self) {
        for one in &mut self.active {
            if one.is_unfinished() && one.cell.samples.is_empty() && one.pilot.is_none() {
                one.leave_out();
            }
        }
    }

    /// True if a document has samples of any cell.
    pub(super) fn has_results(&self) -> bool {
        self.active.iter().any(|one| !one.cell.samples.is_empty() || one.pilot.is_some())
    }

    pub(super) fn samples(&self) -> usize {
        self.active.iter().map(|one| one.cell.samples.len()).sum()
    }

    /// Returns the number of rounds of earlier samples.
    pub(super) fn rounds(&self) -> u32 {
        let samples = self.active.iter().flat_map(|one| &one.cell.samples);
        samples.map(|sample| sample.round.saturating_add(1)).max().unwrap_or(0)
    }

    /// Runs each cell a few times to determine its speed, the most important first. A run of a slow device that takes as
    /// long as a sample is the cell's first one; the others are not kept. If the storage is so slow that this takes long,
    /// the other cells are left out. `report` is called before each cell, with its id.
    ///
    /// # Errors
    /// Only the run's cancellation; the error of a cell is recorded in it.
    pub(super) fn calibrate(
        &mut self,
        deadline: &Deadline,
        decisions: &Decisions,
        may_leave_out: bool,
        context: (&RunContext<'_>, &DeviceLimits),
        iteration: &mut u64,
        mut report: impl FnMut(&Self, &str),
    ) -> Result<()> {
        let (time, round) = (deadline.left(), self.rounds());
        let mut sampled = 0.0;
        let mut order: Vec<usize> =
            (0..self.active.len()).filter(|&index| !self.active[index].failed).collect();
        order.sort_by_key(|&index| decisions.rank(index));
        // Shares of the time that are not spent: the remaining cells divide it, and those measured in rounds keep theirs.
        let mut remaining: usize = order.iter().map(|&index| self.active[index].workload.shares()).sum();
        for index in order {
            let one = &mut self.active[index];
            if deadline.left() <= 0.0 {
                if may_leave_out {
                    one.leave_out();
                }
                continue;
            }
            if one.is_single() {
                let shares = one.workload.shares();
                one.workload.set_time(deadline.left() * ONE_RUN * shares as f64 / remaining as f64);
                remaining -= shares;
            }
            if one.is_single() && !one.cell.samples.is_empty() {
                continue;
            }
            let spent = time - deadline.left();
            let is_long = spent > FIRST_SAMPLES * time || spent - sampled > CALIBRATION * time;
            let is_important = decisions.rank(index) == 0 || one.is_single() || one.is_cached();
            if may_leave_out && is_long && !is_important {
                one.leave_out();
                continue;
            }
            report(self, &self.active[index].cell.id);
            let one = &mut self.active[index];
            *iteration += 1;
            match one.calibrate(*iteration, context) {
                Ok(true) => {
                    sampled += one.cost;
                    one.cell.samples.iter_mut().for_each(|sample| sample.round = round);
                }
                Ok(false) => {}
                Err(error) if error.kind() == ErrorKind::Cancelled => return Err(error),
                Err(error) => one.refuse(&error),
            }
        }
        Ok(())
    }

    /// Gives the cells of the next rounds the same time per sample, as much as `left` seconds allow for `rounds` rounds,
    /// unless their experiment sets the duration.
    pub(super) fn budget(&mut self, cells: &[usize], rounds: u32, left: f64) {
        let (fixed, elastic): (Vec<&ActiveCell>, Vec<&ActiveCell>) =
            cells.iter().map(|&index| &self.active[index]).partition(|one| one.is_fixed());
        let fixed: f64 = fixed.iter().map(|one| one.cost).sum::<f64>() * f64::from(rounds);
        let share = share_of((left - fixed / PREPARED).max(left * 0.3), elastic.len(), rounds);
        for &index in cells {
            if !self.active[index].paced {
                self.active[index].set_time(share);
            }
        }
    }

    /// Decides for each cell if its samples so far are precise.
    pub(super) fn judge(&mut self, rule: &StopRule) {
        for one in &mut self.active {
            one.judge(rule);
        }
    }
}

/// Returns the time per sample if `cells` take `rounds` samples each in `left` seconds.
fn share_of(left: f64, cells: usize, rounds: u32) -> f64 {
    (left * PREPARED / cells.max(1) as f64 / f64::from(rounds)).clamp(SAMPLE.0, SAMPLE.1)
}
