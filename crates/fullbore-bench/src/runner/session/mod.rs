//! The scheduler: each set in rounds over its unfinished cells, in random order, until every cell is precise or the time
//! is up.

#[cfg(test)]
mod tests;

use std::time::Duration;

use fullbore::Result;
use fullbore::error::ErrorKind;

use super::active_cell::ActiveCell;
use super::cells::{Cells, Deadline, ROUNDS};
use super::document_builder::DocumentBuilder;
use super::options::{Event, Options, RunProgress};
use crate::action::{DeviceLimits, RunContext};
use crate::clock::Clock;
use crate::document::{Experiment, StopReason};
use crate::experiment::Trial;
use crate::stats::{StopRule, Xoshiro256};
use crate::test_files::TestFiles;

/// Minimum pause between two partial documents.
const PARTIAL: Duration = Duration::from_secs(5);

/// The same, in multiples of the time to compute one, because the statistics take longer with more cells.
const PARTIAL_TIMES: u32 = 20;

/// Number of samples after which no round begins: a document with more could be too long to be read. One takes 1,200 to 1,900
/// bytes of the 64 MiB.
const MOST_SAMPLES: usize = 30_000;

const FULL: &str = "The run ended before its time: its document has room for no more samples.";

/// State of a run from its first set to its last.
pub(super) struct Session<'a, 'b> {
    options: &'a Options,
    context: &'a RunContext<'b>,
    limits: &'a DeviceLimits,
    whole: &'a Deadline,
    pub(super) builder: DocumentBuilder,
    /// Reference cells of the sets so far.
    references: Vec<ActiveCell>,
    iteration: u64,
    /// Number of the next round of the set.
    round: u32,
    rng: Xoshiro256,
    /// Time of the next partial document, on the clock of the run.
    partial_due: Duration,
    observe: &'a mut dyn FnMut(Event<'_>),
}

impl<'a, 'b> Session<'a, 'b> {
    pub(super) fn new(
        options: &'a Options,
        context: &'a RunContext<'b>,
        limits: &'a DeviceLimits,
        whole: &'a Deadline,
        builder: DocumentBuilder,
        observe: &'a mut dyn FnMut(Event<'_>),
    ) -> Self {
        Self {
            options,
            context,
            limits,
            whole,
            builder,
            references: Vec::new(),
            iteration: 0,
            round: 0,
            rng: Xoshiro256::seeded(options.seed),
            partial_due: context.clock.elapsed() + PARTIAL,
            observe,
        }
    }

    pub(super) fn emit_partial(&mut self) {
        (self.observe)(Event::Partial(&self.builder.document(false)));
    }

    /// Measures one set until its cells are precise or its time is up.
    ///
    /// # Errors
    /// The cancellation of the run, and errors of the test files; the samples so far are in a partial document then. The error
    /// of a cell is recorded in it.
    pub(super) fn measure(
        &mut self,
        trials: Vec<Trial>,
        experiments: &[Experiment],
        deadline: Deadline,
    ) -> Result<()> {
        let before = self.builder.before.as_ref();
        let mut cells = Cells::open(trials, self.context, self.options.regime, before);
        let measured = self.measure_cells(&mut cells, experiments, deadline);
        self.builder.limits = self.limits.found();
        if let Err(error) = measured {
            if cells.has_results() {
                self.builder.close(&cells, StopReason::Interrupted);
                self.emit_partial();
            }
            return Err(error);
        }
        self.builder.close(&cells, StopReason::TimeUp);
        self.references.extend(cells.active.into_iter().filter(ActiveCell::is_reference));
        self.sample_references()
    }

    fn measure_cells(
        &mut self,
        cells: &mut Cells,
        experiments: &[Experiment],
        mut deadline: Deadline,
    ) -> Result<()> {
        let (context, whole) = (self.context, self.whole);
        let decisions = cells.decisions(experiments);
        let may_leave_out = self.options.may_leave_out;
        let report = |cells: &Cells, now: &str| {
            (self.observe)(Event::Progress(RunProgress { share: whole.share(), now, rates: &[] }));
            // Single runs are samples, and so are those of slow storage.
            if cells.has_results() {
                self.builder.limits = self.limits.found();
                report_partial(&self.builder, cells, &context.clock, &mut self.partial_due, self.observe);
            }
        };
        let context = (context, self.limits);
        cells.calibrate(&deadline, &decisions, may_leave_out, context, &mut self.iteration, report)?;
        self.withdraw_limits(cells);
        self.builder.limits = self.limits.found();
        if may_leave_out {
            cells.leave_out(&decisions, deadline.left());
        }
        let all: Vec<usize> = cells.unfinished().collect();
        cells.budget(&all, ROUNDS, deadline.left());
        cells.judge(&self.rule());
        let references = self.references.iter().chain(cells.active.iter().filter(|one| one.is_reference()));
        let reserved = Duration::from_secs_f64(references.map(|one| one.cost).sum());
        deadline.end = deadline.end.saturating_sub(reserved);
        self.round = cells.rounds();
        while cells.unfinished().next().is_some() {
            if self.builder.samples() + cells.samples() >= MOST_SAMPLES {
                self.builder.note(vec![FULL.into()]);
                break;
            }
            let mut order = cells.select(&decisions, deadline.left());
            let round = self.begin_round(&mut order)?;
            if may_leave_out {
                cells.put_headlines_first(&mut order, &decisions);
            }
            let mut sampled = false;
            for index in order {
                sampled |= self.sample_in_time(cells, index, round, &deadline)?;
                let before = deadline.left();
                let mut headlines = cells.select_headlines(&decisions, before);
                if !headlines.is_empty() {
                    let round = self.begin_round(&mut headlines)?;
                    for index in headlines {
                        sampled |= self.sample_in_time(cells, index, round, &deadline)?;
                    }
                    cells.record_headlines(before - deadline.left());
                }
            }
            // A cheaper cell may still fit.
            if !sampled {
                break;
            }
        }
        if may_leave_out {
            cells.leave_out_unmeasured();
        }
        Ok(())
    }

    /// Flushes written data, and shuffles the cells, so that drift does not bias their comparison. Returns the number of the
    /// round.
    fn begin_round(&mut self, cells: &mut [usize]) -> Result<u32> {
        self.context.file_sets.iter().try_for_each(TestFiles::flush)?;
        self.rng.shuffle(cells);
        self.round += 1;
        Ok(self.round - 1)
    }

    /// Takes a sample of a cell; false if there is no time for it.
    fn sample_in_time(
        &mut self,
        cells: &mut Cells,
        index: usize,
        round: u32,
        deadline: &Deadline,
    ) -> Result<bool> {
        let one = &mut cells.active[index];
        let left = deadline.left();
        let fits = left > 0.0 && one.cost <= left;
        if fits {
            self.sample(one, round)?;
            self.withdraw_limits(cells);
            let clock = &self.context.clock;
            report_partial(&self.builder, cells, clock, &mut self.partial_due, self.observe);
        }
        Ok(fits)
    }

    /// Sets the regime of samples to unknown if a later sample refuted their limit.
    fn withdraw_limits(&mut self, cells: &mut Cells) {
        let withdrawn = self.limits.take_withdrawn();
        for limit in &withdrawn {
            self.builder.withdraw(limit);
            let active = cells.active.iter_mut().chain(&mut self.references);
            active.for_each(|one| one.withdraw(&limit.operation));
        }
        if !withdrawn.is_empty() {
            // Other samples count now.
            cells.judge(&self.rule());
        }
    }

    fn sample_references(&mut self) -> Result<()> {
        let mut references = std::mem::take(&mut self.references);
        for one in &mut references {
            self.sample(one, self.round)?;
            self.builder.update(one);
        }
        self.references = references;
        Ok(())
    }

    /// Takes a sample of a cell. An error is recorded in the cell, unless it is the run's cancellation.
    fn sample(&mut self, one: &mut ActiveCell, round: u32) -> Result<()> {
        self.iteration += 1;
        match one.take(self.iteration, one.ramp, (self.context, self.limits)) {
            Ok((mut sample, spent)) => {
                sample.round = round;
                one.cell.samples.push(sample);
                one.cell.skipped = None;
                one.correct();
                one.cost = one.cost.clamp(spent, 2.0 * spent);
                one.judge(&self.rule());
                let rates = one.rates();
                let (share, now) = (self.whole.share(), one.cell.id.as_str());
                (self.observe)(Event::Progress(RunProgress { share, now, rates: &rates }));
            }
            Err(error) if error.kind() == ErrorKind::Cancelled => return Err(error),
            Err(error) => one.refuse(&error),
        }
        Ok(())
    }

    /// Returns the rule by which the sampling of a cell stops.
    fn rule(&self) -> StopRule {
        StopRule::precision(self.options.precision)
    }
}

/// Emits a partial document if the last one is old enough.
fn report_partial(
    builder: &DocumentBuilder,
    cells: &Cells,
    clock: &Clock,
    due: &mut Duration,
    observe: &mut dyn FnMut(Event<'_>),
) {
    let begin = clock.elapsed();
    if begin >= *due {
        let mut builder = builder.clone();
        builder.close(cells, StopReason::Interrupted);
        observe(Event::Partial(&builder.document(false)));
        let now = clock.elapsed();
        *due = now + PARTIAL.max((now - begin) * PARTIAL_TIMES);
    }
}
