//! Reads and writes ranges of a file with any strategy, in any order and in any state of the file.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use fullbore::Result;
use fullbore::error::{Error, ErrorKind};
use fullbore::file::{File, Output};
use fullbore::pattern::{self, Order, Scope, Stats};
use fullbore::strategy::{Completion, Strategy};
use serde::Deserialize;

use super::latency::percentiles;
use super::one_way::{Direction, OneWayIo, Precondition, read_or_overwrite, read_until};
use super::requested_strategy::RequestedStrategy;
use super::settings::{Bytes, FileState, RequestOrder, Settings, auto, refuse, settings};
use super::workload::{
    CoveredRange, ExpectedState, Iteration, ParsedWorkload, Ramp, RunContext, RunResult, Workload,
    repeat_until,
};
use crate::document::{CacheState, Labels, word};
use crate::test_files::Needs;

/// Minimum number of requests per sample, in multiples of the requests in flight.
const LEAST: usize = 4;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct AccessSpec {
    /// The strategy in the syntax of `--strategy`.
    #[serde(default = "auto")]
    strategy: String,
    request: Option<String>,
    depth: Option<u32>,
    cache: Option<CacheState>,
    #[serde(default)]
    order: RequestOrder,
    /// Distance of every request from a multiple of its size, such as `+512` or `-4K`.
    offset: Option<String>,
    /// True if the time includes flushing writes to the device.
    flush: Option<bool>,
    #[serde(default)]
    file: FileState,
}

#[derive(Debug)]
struct AccessWorkload {
    spec: AccessSpec,
    io: OneWayIo,
    offset: i64,
    range: Range<u64>,
    order: Order,
}

pub(super) fn parse(direction: Direction, given: Settings) -> ParsedWorkload {
    build(direction, settings(given)?)
}

fn build(direction: Direction, spec: AccessSpec) -> ParsedWorkload {
    spec.order.check(&[RequestOrder::Sequential, RequestOrder::Random, RequestOrder::RandomHalf])?;
    let (reads, other_file) = (!direction.writes(), spec.file != FileState::Overwritten);
    refuse([
        (reads && (other_file || spec.flush.is_some()), "`file` and `flush` are for writes"),
        (
            other_file && spec.order != RequestOrder::Sequential,
            "a file that is not overwritten is written sequentially: leave out `order`",
        ),
        (
            spec.offset.is_some() && spec.order != RequestOrder::Sequential,
            "`offset` is for sequential requests: leave out `order`",
        ),
    ])?;
    let requested = RequestedStrategy::new(&spec.strategy, spec.request.as_deref(), spec.depth)?;
    let offset = spec.offset.as_deref().map_or(Ok(0), parse_offset)?;
    let (io, range, order) = (OneWayIo::new(direction, requested), 0..0, Order::Sequential);
    Ok(Box::new(AccessWorkload { spec, io, offset, range, order }))
}

/// Parses `+512`, `-4K`, `0` to bytes.
fn parse_offset(text: &str) -> std::result::Result<i64, String> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let bytes = Bytes::try_from(digits.to_owned()).map_err(|error| format!("offset {error}"))?.0;
    Ok(sign * bytes.cast_signed())
}

impl AccessWorkload {
    /// True if each request is timed. Requests served from memory are not: two clock readings would take too large a share
    /// of their time.
    fn timed(&self) -> bool {
        self.io.direct() || self.spec.cache == Some(CacheState::Cold)
    }

    fn precondition(&self) -> Precondition {
        Precondition::of(&self.io, self.spec.flush, self.spec.cache)
    }

    /// True if it writes a file of its own, created for each sample.
    fn creates_file(&self) -> bool {
        self.spec.file != FileState::Overwritten
    }

    fn path(&self, context: &RunContext<'_>) -> PathBuf {
        match self.creates_file() {
            true => context.test_files().fresh.clone(),
            false => self.precondition().file(context.test_files()).path().to_owned(),
        }
    }

    /// Creates the new file of a sample, in the state that its label names.
    fn create_file(&self, context: &RunContext<'_>) -> Result<()> {
        let test_files = context.test_files();
        test_files.remove_fresh();
        let file = File::create_new(&test_files.fresh)?;
        match self.spec.file {
            FileState::Preallocated => file.allocate_and_extend(self.range.end)?,
            FileState::Truncated => {
                let data = self.io.data().ok_or_else(|| unopened(&test_files.fresh))?;
                let (scope, plain) = (Scope::whole(self.range.end), Strategy::plain());
                read_or_overwrite(&file, &scope, &plain, Some(data), &false.into(), context.progress)?;
                file.sync_data()?;
            }
            FileState::Extended | FileState::Overwritten => {}
        }
        Ok(())
    }

    /// Bytes at each end of the file in which no request at an offset begins or ends.
    fn margin(&self) -> u64 {
        let request = self.io.strategy().request as u64;
        if self.offset == 0 { 0 } else { self.offset.unsigned_abs().next_multiple_of(request) }
    }

    /// Returns the next run of the file, so that no device cache holds it, or random blocks of the whole file.
    fn range_for(&self, iteration: Iteration, len: u64, seed: u64) -> (Range<u64>, Order) {
        let strategy = self.io.strategy();
        let request = strategy.request as u64;
        // Whole requests, and enough of them to reach the depth.
        let least = request * (LEAST * strategy.depth * strategy.workers) as u64;
        let span = (iteration.span.max(least) / request * request).clamp(request.min(len), len);
        let random = Order::Random { seed, count: span / request };
        match self.spec.order {
            RequestOrder::Random => return (0..len, random),
            RequestOrder::RandomHalf => return (0..len / 2, random),
            RequestOrder::Sequential | RequestOrder::Backward => {}
        }
        if self.creates_file() {
            return (0..span, Order::Sequential);
        }
        // An offset needs a margin of one block at each end.
        let margin = self.margin();
        let room = len.saturating_sub(2 * margin);
        let span = if margin > 0 { span.min(room / request * request) } else { span };
        let start = margin + iteration.next_run(span, room.max(span)).start;
        let start = start.saturating_add_signed(self.offset);
        (start..start + span, Order::Sequential)
    }

    fn transfer_until(
        &self,
        range: &Range<u64>,
        enough: &AtomicBool,
        context: &RunContext<'_>,
    ) -> Result<Stats> {
        let scope = Scope { range: range.clone(), order: self.order };
        let strategy = self.io.strategy();
        if !self.io.writes() {
            let file = self.precondition().file(context.test_files());
            return read_until(file, &scope, &strategy, enough, context.progress);
        }
        let path = self.path(context);
        if self.spec.file == FileState::Truncated {
            File::open_write(&path)?.set_len(0)?;
        }
        let output = Output::overwrite(&path)?;
        let data = self.io.data().ok_or_else(|| unopened(&path))?;
        if strategy.write.capabilities.mapped && self.creates_file() {
            // A mapping cannot extend its file.
            output.file().set_len(range.end)?;
        }
        let mut stats = pattern::fill(data, &scope, &output, &strategy, context.progress, enough)?;
        if self.spec.flush == Some(true) {
            let clock = Instant::now();
            output.file().sync_data()?;
            stats.elapsed += clock.elapsed();
        }
        Ok(stats)
    }
}

fn unopened(path: &std::path::Path) -> Error {
    Error::new(ErrorKind::Invalid, "measure", path, "the trial was not opened")
}

impl Workload for AccessWorkload {
    fn needs(&self) -> Needs {
        Needs {
            warm: !self.io.writes() && self.spec.cache == Some(CacheState::Warm),
            written: self.io.writes(),
            fresh: self.creates_file(),
            ..Needs::default()
        }
    }

    fn labels(&self) -> Labels {
        let oldest_first = self.io.strategy().completion == Completion::Ordered;
        Labels {
            file_state: self.io.writes().then(|| word(self.spec.file).into()),
            cache: self.spec.cache,
            order: Some(self.spec.order.words().into()),
            flush: self.spec.flush,
            offset_bytes: self.spec.offset.as_ref().map(|_| self.offset),
            variant: oldest_first.then(|| "oldest first".into()),
            ..self.io.labels()
        }
    }

    fn open(&mut self, context: &RunContext<'_>) -> Result<()> {
        let test_files = context.test_files();
        context.check_device(self.precondition().needs_device())?;
        if self.creates_file() {
            test_files.has_files()?;
        }
        let file = self.precondition().file(test_files);
        self.io.open(file, (test_files.len, self.spec.order), context.seed)
    }

    fn strategy(&self) -> Option<String> {
        self.io.planned()
    }

    fn prepare(&mut self, iteration: Iteration, context: &RunContext<'_>) -> Result<ExpectedState> {
        let test_files = context.test_files();
        let least = 2 * self.margin() + self.io.strategy().request as u64;
        if self.offset != 0 && test_files.len < least {
            let what = format!("requests at this offset need {least} bytes");
            return Err(Error::new(ErrorKind::Invalid, "measure", self.path(context), what)
                .advise("set a larger --size"));
        }
        (self.range, self.order) =
            self.range_for(iteration, test_files.len, context.seed_of(iteration.number));
        let precondition = self.precondition();
        if self.creates_file() {
            self.create_file(context)?;
            return Ok(ExpectedState { device: precondition.device(), ..ExpectedState::default() });
        }
        precondition.prepare(vec![(precondition.file(test_files).clone(), self.range.clone())])
    }

    fn ramp_up(&mut self, ramp: Ramp<'_>, context: &RunContext<'_>) -> Result<()> {
        // From the second half of the range, which the sample reaches last.
        let request = self.io.strategy().request as u64;
        let middle = self.range.start + (self.range.end - self.range.start) / 2 / request * request;
        let mut start = middle;
        repeat_until(ramp.enough, || {
            self.transfer_until(&(start..self.range.end), ramp.enough, context)?;
            start = self.range.start;
            Ok(())
        })?;
        // The ramp gave the file the blocks that the sample is to allocate.
        if self.creates_file() { self.create_file(context) } else { Ok(()) }
    }

    fn run(&mut self, context: &RunContext<'_>) -> Result<RunResult> {
        if self.timed() {
            context.progress.time_requests();
        }
        let stats = self.transfer_until(&self.range, &AtomicBool::new(false), context);
        let latency = percentiles(&context.progress.take_latencies());
        let stats = stats?;
        Ok(RunResult { latency, ..RunResult::of_transfer(&stats, self.io.writes()) })
    }

    fn covered_range(&self, context: &RunContext<'_>) -> Option<CoveredRange> {
        let path = self.path(context);
        Some(CoveredRange { path, range: self.range.clone(), order: self.order, timed: self.timed() })
    }

    fn unopened_copy(&self) -> Option<Box<dyn Workload>> {
        build(self.io.direction, self.spec.clone()).ok()
    }
}

#[cfg(test)]
mod tests {
    use fullbore::pattern::Progress;

    use super::*;
    use crate::action::latency::for_at_most;
    use crate::test_files::TestFiles;

    #[test]
    fn a_ramp_leaves_a_new_file_as_it_was_prepared() {
        const SPAN: u64 = 1 << 20;
        let (directory, progress) = (tempfile::tempdir().unwrap(), Progress::default());
        let needs = Needs { written: true, fresh: true, ..Needs::default() };
        let file_sets = [TestFiles::of_test(directory.path(), 4 * SPAN, needs)];
        let context = RunContext::of(&file_sets, &progress);
        for (state, len, is_zero) in
            [("extended", 0, true), ("preallocated", SPAN, true), ("truncated", SPAN, false)]
        {
            let text = format!(
                "strategy = 'method=buffered,workers=1,model=serial'\nrequest = '64K'\nfile = '{state}'"
            );
            let mut trial = parse(Direction::Write, toml::from_str(&text).unwrap()).unwrap();
            trial.open(&context).unwrap();
            if let Err(error) = trial.prepare(Iteration { span: SPAN, number: 1 }, &context) {
                println!("skipped: {state}: {error}");
                continue;
            }
            let found = || {
                let content = std::fs::read(&file_sets[0].fresh).unwrap();
                (content.len() as u64, content.iter().all(|byte| *byte == 0))
            };
            assert_eq!(found(), (len, is_zero), "{state}: prepared");
            for_at_most(0.02, |enough| trial.ramp_up(Ramp { least: 0.0, enough }, &context)).unwrap();
            assert_eq!(found(), (len, is_zero), "{state}: after the ramp");
        }
    }
}
