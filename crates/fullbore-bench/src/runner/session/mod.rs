//! The scheduler: each set in rounds over its unfinished cells, in random order, until every cell is precise or the time
//! is up.

#[cfg(test)]
mod tests;

use std::time::Duration;

use fullbore::Result;
use fullbore::error::ErrorKind;

use super::cells::{Cells, Deadline, ROUNDS};
use super::document_builder::DocumentBuilder;
use super::event::{Event, RunProgress};
use super::options::Options;
use crate::action::{DeviceLimits, Iteration, RunContext};
use crate::document::Experiment;
use crate::experiment::Trial;
use crate::sample::take_sample;
use crate::stats::{Bootstrap, StopRule, Xoshiro256};
use crate::test_files::TestFiles;

/// Minimum pause between two partial documents.
const PARTIAL: Duration = Duration::from_secs(5);

/// The same, in multiples of the time to compute one, because the statistics take longer with more cells.
const PARTIAL_TIMES: u32 = 20;

/// State of a run from its first set to its last.
pub(super) struct Session<'a, 'b> {
    options: &'a Options,
    context: &'a RunContext<'b>,
    limits: &'a DeviceLimits,
    whole: &'a Deadline,
    pub(super) builder: DocumentBuilder,
    /// Number of samples started.
    iteration: u64,
    rng: Xoshiro256,
    /// Time of the next partial document, on the clock of the run.
    partial_due: Duration,
    observe: &'a mut dyn FnMut(Event<'_>),
}

impl<'a, 'b> Session<'a, 'b> {
    /// Starts a run without cells.
    pub(super) fn new(
        options: &'a Options,
        context: &'a RunContext<'b>,
        limits: &'a DeviceLimits,
        whole: &'a Deadline,
        builder: DocumentBuilder,
        observe: &'a mut dyn FnMut(Event<'_>),
    ) -> Self {
        let rng = Xoshiro256::seeded(options.seed);
        let partial_due = context.clock.elapsed() + PARTIAL;
        Self { options, context, limits, whole, builder, iteration: 0, rng, partial_due, observe }
    }

    /// Emits the results so far.
    pub(super) fn emit_partial(&mut self) {
        (self.observe)(Event::Partial(&self.builder.document(false)));
    }

    /// Measures one set until its cells are precise or its time is up.
    ///
    /// # Errors
    /// The cancellation of the run, and errors of the test files. The error of a cell is recorded in it.
    pub(super) fn measure(
        &mut self,
        trials: Vec<Trial>,
        experiments: &[Experiment],
        deadline: Deadline,
    ) -> Result<()> {
        let (context, whole) = (self.context, self.whole);
        let mut cells = Cells::open(trials, context, self.options.resume.as_ref());
        let decisions = cells.decisions(experiments);
        let may_leave_out = self.options.may_leave_out;
        let rule = StopRule::precision(self.options.precision);
        let bootstrap = Bootstrap::default();
        cells.calibrate(
            &deadline,
            &decisions,
            may_leave_out,
            (context, self.limits),
            &mut self.iteration,
            |now| {
                (self.observe)(Event::Progress(RunProgress { share: whole.share(), now, rates: &[] }));
            },
        )?;
        self.builder.limits = self.limits.found();
        if may_leave_out {
            cells.leave_out(&decisions, deadline.left());
        }
        let all: Vec<usize> = cells.unfinished().collect();
        cells.budget(&all, ROUNDS, deadline.left());
        cells.judge(&rule, &bootstrap);
        let mut round = cells.rounds();
        let mut time_up = false;
        while !time_up && cells.unfinished().next().is_some() {
            context.file_sets.iter().try_for_each(TestFiles::flush)?;
            let mut order = cells.select(&decisions, deadline.left());
            shuffle(&mut order, &mut self.rng);
            for index in order {
                let one = &mut cells.active[index];
                if one.cost > deadline.left() {
                    time_up = true;
                    // A cheaper cell may still fit.
                    continue;
                }
                self.iteration += 1;
                let iteration = Iteration { span: one.span, number: self.iteration };
                let before = context.clock.seconds();
                match take_sample(one.workload.as_mut(), iteration, one.ramp, context, self.limits) {
                    Ok(mut sample) => {
                        sample.round = round;
                        one.cell.samples.push(sample);
                        one.cell.skipped = None;
                        one.correct();
                        let spent = context.clock.seconds() - before;
                        one.cost = one.cost.clamp(spent, 2.0 * spent);
                        let rates = one.cell.rates();
                        one.precise = rule.narrow_enough(&rates, &bootstrap);
                        let (share, now) = (whole.share(), one.cell.id.as_str());
                        (self.observe)(Event::Progress(RunProgress { share, now, rates: &rates }));
                    }
                    Err(error) if error.kind() == ErrorKind::Cancelled => return Err(error),
                    Err(error) => one.refuse(&error),
                }
                self.report_partial(&cells);
            }
            round += 1;
        }
        self.builder.limits = self.limits.found();
        self.builder.close(cells);
        Ok(())
    }

    /// Emits a partial document if the last one is old enough.
    fn report_partial(&mut self, cells: &Cells) {
        let begin = self.context.clock.elapsed();
        if begin >= self.partial_due {
            (self.observe)(Event::Partial(&self.builder.with(cells).document(false)));
            let now = self.context.clock.elapsed();
            self.partial_due = now + PARTIAL.max((now - begin) * PARTIAL_TIMES);
        }
    }
}

/// Puts the cells in random order, so that drift does not bias the comparison of cells.
fn shuffle(places: &mut [usize], rng: &mut Xoshiro256) {
    for last in (1..places.len()).rev() {
        places.swap(last, rng.below(last + 1));
    }
}
