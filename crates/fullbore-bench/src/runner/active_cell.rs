//! A cell while it is measured.

use std::error::Error as _;

use fullbore::{Error, Result};

use super::headlines::Candidate;
use crate::action::{DeviceLimits, Iteration, RunContext, Workload};
use crate::analysis::withdraw;
use crate::document::{CacheState, Cell, Document, Headline, Labels, Operation, Regime, Sample};
use crate::experiment::Trial;
use crate::sample::{catching, take_sample};
use crate::stats::{Bootstrap, StopRule, median};

/// Reason of a cell that was left out.
const LEFT_OUT: &str =
    "left out: this storage is too slow to measure every cell in the time of the run; set a longer --time";

/// Minimum and maximum duration of a sample, in seconds: long enough to make starting and stopping negligible; beyond the
/// maximum, more samples are more precise than longer ones, because throughput varies most from second to second.
pub(super) const SAMPLE: (f64, f64) = (0.02, 0.25);

/// Maximum number of pilots of a cell.
const PILOTS: u32 = 3;

/// Share of the wanted duration that a pilot must have; a pilot of a slower cell is repeated.
const NEAR: f64 = 0.8;

/// Requests per second up to which a device is slow: each takes longer than the latency of any medium but a rotating one.
const SLOW: f64 = 1000.0;

/// Bytes of a cell's first pilot.
const PILOT: u64 = 4 << 20;

/// Requests of the first pilot of a cell that reads or writes the device by small requests: a hard disk completes some
/// hundred per second.
const PILOT_REQUESTS: u64 = 64;

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
    pub(super) least: f64,
    /// Pilot sample of a cell whose samples have a fixed duration; there may be time for no other.
    pub(super) pilot: Option<Sample>,
    pub(super) failed: bool,
    /// True if the time per sample is final, since shorter samples would not count.
    pub(super) paced: bool,
}

fn pilot_bytes(labels: &Labels) -> u64 {
    match labels.request_bytes {
        Some(request) if labels.cache_state() == Some(CacheState::Cold) => {
            PILOT.min(PILOT_REQUESTS * request)
        }
        _ => PILOT,
    }
}

/// True if the samples of a cell that count in a regime determine its median with the precision of `rule`. As in the summary, the
/// error of the device's accounting widens the interval: samples shorter than its periods are uncertain, however well they agree.
pub(super) fn is_precise(cell: &Cell, regime: Regime, rule: &StopRule) -> bool {
    let (rates, uncertainties): (Vec<f64>, Vec<f64>) =
        cell.counted_in(regime).map(|sample| (sample.rate(), sample.uncertainty)).unzip();
    let uncertainty = median(&uncertainties).unwrap_or(0.0);
    let rule = StopRule { relative_half_width: rule.relative_half_width - uncertainty, ..*rule };
    rule.is_precise(&rates, &Bootstrap::default())
}

impl ActiveCell {
    /// Opens a trial; the cell of a trial that cannot run here states the reason. Samples of an earlier run are kept.
    pub(super) fn open(
        trial: Trial,
        context: &RunContext<'_>,
        regime: Regime,
        before: Option<&Document>,
    ) -> Self {
        let Trial { id, experiment, job, ramp, sample, mut workload } = trial;
        let opened = workload.open(context);
        let mut labels = workload.labels();
        labels.job = job;
        // A load that is a share of what the storage reaches differs in each run.
        let known = before.and_then(|document| document.cell(&id));
        let same = known.filter(|cell| cell.labels == labels);
        let samples = same.map(|cell| cell.samples.clone()).unwrap_or_default();
        // A flush at the end takes a time of its own, which would count for more in a shorter sample.
        let flushed = Headline::of(&labels) == Some(Headline::FlushedWrites);
        let least = if flushed && sample.is_none() { SAMPLE.1 } else { 0.0 };
        let cell = Cell { samples, ..Cell::new(id, experiment, labels) };
        let span = pilot_bytes(&cell.labels);
        let mut one = Self {
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
    }

    pub(super) fn is_fixed(&self) -> bool {
        !self.workload.elastic() || self.sample.is_some() || self.paced
    }

    /// Sets the time per sample, unless the experiment does. Longer samples are more precise; a shorter one would no longer
    /// count.
    pub(super) fn set_time(&mut self, seconds: f64) {
        let seconds = self.sample.unwrap_or(seconds.max(self.moment)).max(self.least);
        self.moment = seconds;
        let rate = median(&self.rates()).unwrap_or(self.rate);
        self.span = (rate * seconds) as u64;
        if self.workload.elastic() {
            self.cost = self.cost.max(seconds + self.ramp);
        }
    }

    /// Sets the final time per sample of a headline figure.
    pub(super) fn pace(&mut self, seconds: f64) {
        if !std::mem::replace(&mut self.paced, true) {
            self.set_time(seconds);
        }
    }

    pub(super) fn is_unfinished(&self) -> bool {
        !(self.precise || self.failed || self.is_single())
    }

    /// Returns the cell as one of a headline figure, if its rate is known and it did not fail.
    pub(super) fn candidate(&self, index: usize) -> Option<Candidate> {
        let samples = self.cell.counted_in(self.regime).map(|sample| (sample.start_s, sample.rate()));
        let rate = median(&self.rates()).unwrap_or(self.rate);
        (rate > 0.0 && !self.failed).then(|| Candidate {
            index,
            rate,
            samples: samples.collect(),
            cost: self.cost,
            unfinished: self.is_unfinished(),
        })
    }

    /// True if figures of others are given as shares of this one's.
    pub(super) fn is_reference(&self) -> bool {
        self.workload.is_reference() && !self.failed
    }

    /// Returns the rates of the samples that count for the requested regime.
    pub(super) fn rates(&self) -> Vec<f64> {
        self.cell.counted_in(self.regime).map(Sample::rate).collect()
    }

    /// Decides if the cell is precise by `rule`.
    pub(super) fn judge(&mut self, rule: &StopRule) {
        self.precise = is_precise(&self.cell, self.regime, rule);
    }

    /// Sets the regime of its samples in one direction to unknown.
    pub(super) fn withdraw(&mut self, operation: &str) {
        withdraw(self.cell.samples.iter_mut().chain(&mut self.pilot), operation);
    }

    /// True if it reads the page cache: then it is fast on slow storage, too.
    pub(super) fn is_cached(&self) -> bool {
        self.cell.labels.cache == Some(CacheState::Warm)
    }

    pub(super) fn leave_out(&mut self) {
        self.failed = true;
        if self.cell.samples.is_empty() {
            self.cell.skipped = Some(LEFT_OUT.into());
        }
    }

    /// True if the pilot is the measurement.
    pub(super) fn is_single(&self) -> bool {
        self.workload.is_continuous()
    }

    pub(super) fn refuse(&mut self, error: &Error) {
        self.failed = true;
        // Without the path, which is a file of the meter, removed after the run.
        let reason = Some(match (error.what(), error.source()) {
            (Some(what), _) => what.to_owned(),
            (None, Some(source)) => format!("cannot {}: {source}", error.operation()),
            (None, None) => error.to_string(),
        });
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
        let sample = catching(|| take_sample(self.workload.as_mut(), iteration, ramp, context, limits))?;
        Ok((sample, elapsed() - before))
    }

    /// Runs the cell a few times to determine its speed; true if the last run is its first sample.
    pub(super) fn calibrate(
        &mut self,
        number: u64,
        context: (&RunContext<'_>, &DeviceLimits),
    ) -> Result<bool> {
        let limits = context.1;
        let seconds = self.least.max(limits.sample_seconds());
        // A device that allows more requests may not reach its limit: requests one at a time wait for one another.
        if let (Some(CacheState::Cold), Some(request)) =
            (self.cell.labels.cache_state(), self.cell.labels.request_bytes)
            && let Some(rate) = limits.sustained(self.cell.labels.operation == Operation::Write, request)
            && seconds > 0.0
            && rate <= SLOW * request as f64
        {
            self.span = (rate * seconds) as u64;
        }
        for _ in 0..PILOTS {
            let (sample, spent) = self.take(number, 0.0, context)?;
            self.cost = spent;
            self.rate = sample.rate().max(1.0);
            if sample.regime.is_some() {
                self.least = self.least.max(limits.sample_seconds());
            }
            // A device is slow enough for the first pilot; a sample of the page cache is over too soon.
            let least = self.least.max(SAMPLE.0 / 10.0);
            let fixed = !self.workload.elastic();
            // A test file may be too short for more.
            let is_cut = (sample.bytes as f64) < NEAR * self.span as f64;
            let is_long = fixed || is_cut || sample.seconds >= NEAR * least;
            let wanted = self.sample.unwrap_or(if self.least > 0.0 { 0.0 } else { SAMPLE.1 });
            let counts = sample.regime.is_some() && self.ramp == 0.0 && self.cell.samples.is_empty();
            if is_long && counts && sample.seconds >= NEAR * wanted {
                self.cell.samples.push(sample);
                return Ok(true);
            }
            self.span = (self.rate * least.max(SAMPLE.0 / 2.0)) as u64;
            if fixed {
                self.pilot = Some(sample);
            }
            if is_long {
                break;
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_accounting_counts_toward_the_precision() {
        let cell = |uncertainty: f64| {
            let sample = |place: u64| Sample {
                bytes: if place.is_multiple_of(2) { 990_000_000 } else { 1_010_000_000 },
                seconds: 1.0,
                uncertainty,
                ..Sample::default()
            };
            Cell::measured("a", Labels::default(), (0..12).map(sample))
        };
        let rule = StopRule::precision(0.025);
        for (uncertainty, precise) in [(0.0, true), (0.02, false)] {
            let cell = cell(uncertainty);
            let width = cell.summary.as_ref().unwrap().relative_half_width.unwrap();
            assert_eq!(width <= 0.025, precise, "as reported: {width}");
            assert_eq!(is_precise(&cell, Regime::Sustained, &rule), precise, "{uncertainty}");
        }
    }
}
