//! The cells of a set while they are measured.

use std::time::Duration;

use fullbore::Error;
use fullbore::Result;
use fullbore::error::ErrorKind;

use super::decisions::{Decisions, Stage};
use super::headlines::{Candidate, HEADLINES, Headlines};
use super::options::Options;
use crate::action::{DeviceLimits, Iteration, RunContext, Workload};
use crate::analysis::withdraw;
use crate::clock::Clock;
use crate::document::{CacheState, Cell, Experiment, Headline, Labels, Regime, Sample};
use crate::experiment::Trial;
use crate::sample::take_sample;
use crate::stats::{Bootstrap, StopRule, median};

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

/// Number of rounds over all cells that must be possible; on slow storage, cells are left out for them.
const DEFINITE: f64 = 3.0;

/// Maximum share of the time for determining the speed of the less important cells.
const CALIBRATION: f64 = 0.35;

/// Reason of a cell that was left out.
const LEFT_OUT: &str =
    "left out: this storage is too slow to measure every cell in the time; set a longer --time";

/// Minimum and maximum duration of a sample, in seconds: long enough to make starting and stopping negligible; beyond the
/// maximum, more samples are more precise than longer ones, because throughput varies most from second to second.
const SAMPLE: (f64, f64) = (0.02, 0.25);

/// Share of the time that samples take; the rest prepares them.
const PREPARED: f64 = 0.7;

/// Maximum number of pilots of a cell.
const PILOTS: u32 = 3;

/// Share of the wanted duration that a pilot must have; a pilot of a slower cell is repeated.
const NEAR: f64 = 0.8;

/// Share of its time that a cell measured by a single run takes; the rest is for its preparation.
const ONE_RUN: f64 = 0.97;

/// Bytes of a cell's first pilot.
const PILOT: u64 = 4 << 20;

/// Requests of the first pilot of a cell that reads or writes the device by small requests: a hard disk completes some
/// hundred per second.
const PILOT_REQUESTS: u64 = 64;

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

#[derive(Debug)]
pub(super) struct ActiveCell {
    pub(super) workload: Box<dyn Workload>,
    pub(super) cell: Cell,
    pub(super) span: u64,
    pub(super) ramp: f64,
    sample: Option<f64>,
    /// The requested regime.
    regime: Regime,
    /// Last measured throughput in bytes per second.
    rate: f64,
    /// Duration of a sample with its preparation, in seconds.
    pub(super) cost: f64,
    pub(super) precise: bool,
    /// Target duration of a sample, in seconds.
    moment: f64,
    /// Minimum duration of a sample, in seconds: several accounting periods of the device, or many times that of a flush.
    least: f64,
    /// Pilot sample of a cell whose samples have a fixed duration; there may be time for no other.
    pilot: Option<Sample>,
    failed: bool,
    /// True if the time per sample is final, since shorter samples would not count.
    paced: bool,
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
}

impl Cells {
    /// Opens every trial; the cell of a trial that cannot run here states the reason. Samples in `earlier` are kept.
    pub(super) fn open(trials: Vec<Trial>, context: &RunContext<'_>, options: &Options) -> Self {
        let (earlier, regime) = (options.resume.as_ref(), options.regime);
        let active = trials
            .into_iter()
            .map(|trial| {
                let Trial { id, experiment, job, ramp, sample, mut workload } = trial;
                let opened = workload.open(context);
                let mut labels = workload.labels();
                labels.job = job;
                // A load that is a share of what the storage reaches differs in each run.
                let known = earlier.and_then(|document| document.cell(&id));
                let same = known.filter(|cell| cell.labels == labels);
                let samples = same.map(|cell| cell.samples.clone()).unwrap_or_default();
                // A flush at the end takes a time of its own, which would count for more in a shorter sample.
                let flushed = Headline::of(&labels) == Some(Headline::FlushedWrites);
                let least = if flushed && sample.is_none() { SAMPLE.1 } else { 0.0 };
                let cell = Cell { samples, ..Cell::new(id, experiment, labels) };
                let span = pilot_bytes(&cell.labels);
                let mut one = ActiveCell {
                    workload,
                    cell,
                    span,
                    ramp,
                    sample,
                    regime,
                    rate: 0.0,
                    cost: 0.0,
                    precise: false,
                    moment: 0.0,
                    least,
                    pilot: None,
                    failed: false,
                    paced: false,
                };
                if let Err(error) = opened {
                    one.refuse(&error);
                }
                one
            })
            .collect();
        Self { active, selected: Vec::new(), focused: None, headlines: None }
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
        if unfinished.iter().any(|&index| self.active[index].cell.samples.len() < COARSE) {
            return unfinished;
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
        let candidates =
            figures.iter().map(|(figure, of)| (*figure, of.iter().filter_map(candidate).collect()));
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

    /// Leaves out the least important cells of storage so slow that the time does not suffice for a few rounds of all.
    pub(super) fn leave_out(&mut self, decisions: &Decisions, left: f64) {
        loop {
            let kept = || {
                (0..self.active.len())
                    .filter(|&index| !(self.active[index].failed || self.active[index].is_single()))
            };
            let round: f64 = kept().map(|index| self.active[index].cost.max(self.active[index].least)).sum();
            let least_important = kept()
                .filter(|&index| decisions.rank(index) > 0 && self.active[index].cell.samples.is_empty())
                .max_by(|&a, &b| {
                    let key = |index: usize| (decisions.rank(index), self.active[index].cost);
                    key(a).0.cmp(&key(b).0).then(key(a).1.total_cmp(&key(b).1))
                });
            match least_important {
                Some(index) if round * DEFINITE > left => self.active[index].leave_out(),
                _ => return,
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

    /// Returns the number of rounds of earlier samples.
    pub(super) fn rounds(&self) -> u32 {
        let samples = self.active.iter().flat_map(|one| &one.cell.samples);
        samples.map(|sample| sample.round + 1).max().unwrap_or(0)
    }

    /// Runs each cell a few times to determine its speed, the most important first; these samples are not kept. If the
    /// storage is so slow that this takes long, the other cells are left out.
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
        mut observe: impl FnMut(&str),
    ) -> Result<()> {
        let enough = deadline.left() * (1.0 - CALIBRATION);
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
            if may_leave_out && deadline.left() < enough && decisions.rank(index) > 0 && !one.is_single() {
                one.leave_out();
                continue;
            }
            observe(&one.cell.id);
            *iteration += 1;
            match one.calibrate(*iteration, context) {
                Ok(()) => {}
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

    /// Determines for each cell with earlier samples whether it is already precise.
    pub(super) fn judge(&mut self, rule: &StopRule) {
        for one in &mut self.active {
            one.precise = rule.is_precise(&one.rates(), &Bootstrap::default());
        }
    }
}

/// Returns the time per sample if `cells` take `rounds` samples each in `left` seconds.
fn share_of(left: f64, cells: usize, rounds: u32) -> f64 {
    (left * PREPARED / cells.max(1) as f64 / f64::from(rounds)).clamp(SAMPLE.0, SAMPLE.1)
}

fn pilot_bytes(labels: &Labels) -> u64 {
    match labels.request_bytes {
        Some(request) if labels.cache_state() == Some(CacheState::Cold) => {
            PILOT.min(PILOT_REQUESTS * request)
        }
        _ => PILOT,
    }
}

impl ActiveCell {
    fn is_fixed(&self) -> bool {
        !self.workload.elastic() || self.sample.is_some() || self.paced
    }

    /// Sets the time per sample, unless the experiment does. Longer samples are more precise; a shorter one would no longer
    /// count.
    fn set_time(&mut self, seconds: f64) {
        let seconds = self.sample.unwrap_or(seconds.max(self.moment)).max(self.least);
        self.moment = seconds;
        let rate = median(&self.rates()).unwrap_or(self.rate);
        self.span = (rate * seconds) as u64;
        if self.workload.elastic() || self.sample.is_some() {
            self.cost = self.cost.max(seconds + self.ramp);
        }
    }

    /// Sets the final time per sample of a headline figure.
    fn pace(&mut self, seconds: f64) {
        if !std::mem::replace(&mut self.paced, true) {
            self.set_time(seconds);
        }
    }

    fn is_unfinished(&self) -> bool {
        !(self.precise || self.failed || self.is_single())
    }

    /// Returns the cell as one of a headline figure, if its rate is known.
    fn candidate(&self, index: usize) -> Option<Candidate> {
        let samples = self.cell.counted_in(self.regime).map(|sample| (sample.start_s, sample.rate()));
        let rate = median(&self.rates()).unwrap_or(self.rate);
        (rate > 0.0).then(|| Candidate {
            index,
            rate,
            samples: samples.collect(),
            unfinished: self.is_unfinished(),
        })
    }

    /// True if figures of others are given as shares of this one's.
    pub(super) fn is_reference(&self) -> bool {
        self.workload.is_reference() && !self.failed
    }

    /// The rates of the samples that count for the requested regime.
    pub(super) fn rates(&self) -> Vec<f64> {
        self.cell.counted_in(self.regime).map(Sample::rate).collect()
    }

    /// Sets the regime of its samples in one direction to unknown.
    pub(super) fn withdraw(&mut self, operation: &str) {
        withdraw(self.cell.samples.iter_mut().chain(&mut self.pilot), operation);
    }

    fn leave_out(&mut self) {
        self.failed = true;
        if self.cell.samples.is_empty() {
            self.cell.skipped = Some(LEFT_OUT.into());
        }
    }

    /// True if the pilot is the measurement.
    fn is_single(&self) -> bool {
        self.workload.is_continuous()
    }

    pub(super) fn refuse(&mut self, error: &Error) {
        self.failed = true;
        // Without the path, which is a file of the meter, removed after the run.
        let reason = Some(error.what().map_or_else(|| error.to_string(), str::to_owned));
        if self.rates().is_empty() {
            self.cell.skipped = reason;
        } else {
            self.cell.failed = reason;
        }
    }

    /// Corrects the bytes per sample by the first sample, if they are far off: calibration is so short that a device
    /// may serve it from a burst.
    pub(super) fn correct(&mut self) {
        const FAR: f64 = 1.5;
        if let [first] = self.cell.samples.as_slice()
            && self.workload.elastic()
            && !(self.moment / FAR..=self.moment * FAR).contains(&first.seconds)
        {
            self.rate = first.rate();
            self.span = (self.rate * self.moment) as u64;
        }
    }

    pub(super) fn cell(&self) -> Cell {
        let mut cell = self.cell.clone();
        if cell.samples.is_empty() && !self.failed {
            cell.samples.extend(self.pilot.clone());
        }
        cell
    }

    /// Takes a sample; also returns the seconds that it and its preparation took, without a search for limiters.
    pub(super) fn take(
        &mut self,
        number: u64,
        ramp: f64,
        (context, limits): (&RunContext<'_>, &DeviceLimits),
    ) -> Result<(Sample, f64)> {
        let elapsed = || context.clock.seconds() - limits.spent();
        let before = elapsed();
        let iteration = Iteration { span: self.span, number };
        let sample = take_sample(self.workload.as_mut(), iteration, ramp, context, limits)?;
        Ok((sample, elapsed() - before))
    }

    fn calibrate(&mut self, number: u64, context: (&RunContext<'_>, &DeviceLimits)) -> Result<()> {
        for _ in 0..PILOTS {
            let (sample, spent) = self.take(number, 0.0, context)?;
            self.cost = spent;
            self.rate = sample.rate().max(1.0);
            if sample.regime.is_some() {
                self.least = self.least.max(context.1.sample_seconds());
            }
            // A device is slow enough for the first pilot; a sample of the page cache is over too soon.
            let least = (self.least / 2.0).max(SAMPLE.0 / 10.0);
            self.span = (self.rate * least.max(SAMPLE.0 / 2.0)) as u64;
            if !self.workload.elastic() {
                self.pilot = Some(sample);
                break;
            }
            if sample.seconds >= NEAR * least {
                break;
            }
        }
        Ok(())
    }
}
