//! A trial of an interface: prepares the test files and their states, and times the calls.

use std::fmt;
use std::ops::Range;
use std::time::Instant;

use fullbore::Result;
use fullbore::buf::Pool;
use fullbore::error::{Error, ErrorKind};
use fullbore::operation::generate::Stamped;

use super::open::{Completion, Interface, InterfaceEntry, OpenConfig, Pass, Payload, RecordOrder};
use super::settings::{InterfaceFileState, InterfaceSpec};
use crate::action::one_way::{Precondition, at_least_one_request};
use crate::action::settings::{RequestOrder, Settings, settings};
use crate::action::workload::{
    ExpectedState, Iteration, ParsedWorkload, Ramp, RunContext, RunResult, Workload, repeat_until,
};
use crate::document::{CacheState, Labels, word};
use crate::test_files::Needs;

/// Minimum number of calls per sample, in multiples of the concurrent calls.
const LEAST: u64 = 4;

/// Maximum number of calls of a possibly slow trial before its rate is known.
const FIRST: u64 = 512;

struct InterfaceWorkload {
    spec: InterfaceSpec,
    entry: &'static InterfaceEntry,
    ready: Option<PreparedRun>,
    /// True after the first run.
    known: bool,
}

struct PreparedRun {
    pass: Pass,
    config: OpenConfig,
    pool: Pool,
    /// The opened file; a new file is opened within the time.
    opened: Option<Box<dyn Interface>>,
}

impl fmt::Debug for InterfaceWorkload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InterfaceWorkload").field("spec", &self.spec).finish_non_exhaustive()
    }
}

pub(in crate::action) fn parse(given: Settings) -> ParsedWorkload {
    Ok(Box::new(InterfaceWorkload::new(given)?))
}

impl InterfaceWorkload {
    fn new(given: Settings) -> std::result::Result<Self, String> {
        let spec: InterfaceSpec = settings(given)?;
        let entry = spec.validate()?;
        Ok(Self { spec, entry, ready: None, known: false })
    }

    fn writes(&self) -> bool {
        self.spec.direction.writes()
    }

    fn is_new(&self) -> bool {
        self.spec.file == InterfaceFileState::New
    }

    fn depth(&self) -> usize {
        self.spec.depth.unwrap_or(1)
    }

    fn record(&self) -> usize {
        self.spec.record.0 as usize
    }

    fn precondition(&self) -> Precondition {
        let spec = &self.spec;
        let (writes, flush) = (self.writes(), spec.flush == Some(true));
        Precondition { writes, direct: spec.direct, flush, cache: spec.cache }
    }

    fn config(&self, context: &RunContext<'_>, len: u64) -> OpenConfig {
        let (spec, record) = (&self.spec, self.record());
        let vectors = spec.vectors.unwrap_or(1);
        let test_files = context.test_files();
        let (path, new) = match self.is_new() {
            true => (test_files.fresh.clone(), Some((len, spec.allocation.unwrap_or_default()))),
            false => (self.precondition().file(test_files).path().to_owned(), None),
        };
        let bytes = match self.writes() {
            true => Payload::written(Stamped::new(context.seed, record), record / vectors),
            false => Payload::Read(None),
        };
        OpenConfig {
            path,
            new,
            record,
            buffer: spec.buffer.map(|buffer| buffer.0 as usize),
            direct: spec.direct,
            huge_pages: spec.huge_pages,
            memory_offset: spec.memory_offset.unwrap_or(0),
            hint: spec.hint.and_then(|hint| hint.hint().0),
            vectors,
            depth: self.depth(),
            completion: spec.completion,
            bytes,
        }
    }

    /// Returns the next run of the file, so that no device cache holds it, or random records of the whole file.
    fn part(&self, iteration: Iteration, len: u64, seed: u64) -> (Pass, Range<u64>) {
        let record = self.spec.record.0;
        let order = self.spec.order;
        let mut span = iteration.span;
        if !self.known && order != RequestOrder::Sequential {
            // With seeks on a rotational disk, a whole span would take minutes.
            span = span.min(FIRST * record);
        }
        let least = record * LEAST * self.depth() as u64;
        let span = (span.max(least) / record * record).clamp(record.min(len), len);
        let random = RecordOrder::Random { seed, count: span / record };
        let run = || iteration.next_run(span, len);
        let (range, order) = match order {
            RequestOrder::Random => (0..len, random),
            RequestOrder::RandomHalf => (0..len / 2, random),
            RequestOrder::Sequential if self.is_new() => (0..span, RecordOrder::Forward),
            RequestOrder::Sequential => (run(), RecordOrder::Forward),
            RequestOrder::Backward => (run(), RecordOrder::Backward),
        };
        (Pass::new(range.clone(), self.record(), order, len), range)
    }
}

impl Workload for InterfaceWorkload {
    fn needs(&self) -> Needs {
        Needs {
            warm: !self.writes() && self.spec.cache == Some(CacheState::Warm),
            written: self.writes(),
            fresh: self.is_new(),
            ..Needs::default()
        }
    }

    fn labels(&self) -> Labels {
        let spec = &self.spec;
        let threads = spec.completion == Completion::Threads;
        let (depth, workers) = if threads { (1, self.depth()) } else { (self.depth(), 1) };
        let state = if self.is_new() { "extended" } else { "overwritten" };
        Labels {
            request_bytes: Some(spec.record.0),
            depth: Some(depth as u32),
            workers: Some(workers as u32),
            // The engines' labels, so that rows differ only in the interface.
            model: Some(if threads { "pool" } else { "serial" }.into()),
            allocation: spec.allocation.map(|allocation| word(allocation).into()),
            cache_policy: Some(if spec.direct { "direct" } else { "keep" }.into()),
            file_state: self.writes().then(|| state.into()),
            cache: spec.cache,
            order: Some(spec.order.words().into()),
            flush: spec.flush,
            variant: spec.variant(),
            ..Labels::of(if self.writes() { "write" } else { "read" }, spec.interface.as_str())
        }
    }

    fn open(&mut self, context: &RunContext<'_>) -> Result<()> {
        context.check_device(self.precondition().needs_device())?;
        if !self.is_new() {
            let (file, len) = (self.precondition().file(context.test_files()), context.test_files().len);
            at_least_one_request(file, (len, self.spec.order), self.spec.record.0)?;
        }
        // A trial open, to check that the interface works here.
        let config = self.config(context, self.spec.record.0);
        let opened = config.pool().and_then(|mut pool| (self.entry.open)(&config, &mut pool));
        context.clean_up(self)?;
        opened.map(drop)
    }

    fn prepare(&mut self, iteration: Iteration, context: &RunContext<'_>) -> Result<ExpectedState> {
        let test_files = context.test_files();
        context.clean_up(self)?;
        let (pass, range) = self.part(iteration, test_files.len, context.seed_of(iteration.number));
        let config = self.config(context, range.end);
        let mut pool = config.pool()?;
        let precondition = self.precondition();
        if self.is_new() {
            self.ready = Some(PreparedRun { pass, config, pool, opened: None });
            return Ok(ExpectedState { device: precondition.device(), ..ExpectedState::default() });
        }
        let state = precondition.prepare(vec![(precondition.file(test_files).clone(), range)])?;
        let opened = Some((self.entry.open)(&config, &mut pool)?);
        self.ready = Some(PreparedRun { pass, config, pool, opened });
        Ok(state)
    }

    fn ramp_up(&mut self, ramp: Ramp<'_>, context: &RunContext<'_>) -> Result<()> {
        repeat_until(ramp.enough, || {
            self.run(context)?;
            if let (true, Some(ready)) = (self.is_new(), &mut self.ready) {
                context.test_files().remove_fresh();
                ready.pool = ready.config.pool()?;
            }
            Ok(())
        })
    }

    fn run(&mut self, context: &RunContext<'_>) -> Result<RunResult> {
        let unready = || {
            let directory = context.test_files().named();
            Error::new(ErrorKind::Invalid, "measure", directory, "the trial was not prepared")
        };
        let ready = self.ready.as_mut().ok_or_else(unready)?;
        let flush = self.spec.flush == Some(true);
        // For a new file, creating, allocating and closing count; for an existing one, opening does not count in a
        // request's rate.
        let clock = Instant::now();
        let mut made = None;
        let opened = match &mut ready.opened {
            Some(opened) => opened,
            None => made.insert((self.entry.open)(&ready.config, &mut ready.pool)?),
        };
        opened.pass(&ready.pass)?;
        if flush {
            opened.flush()?;
        }
        drop(made);
        let seconds = clock.elapsed().as_secs_f64();
        self.known = true;
        let (bytes, requests) = (ready.pass.bytes(), ready.pass.count());
        // With several in flight, the mean number is not measured.
        Ok(RunResult::timed(bytes, seconds, requests, (self.depth() == 1).then_some(1.0)))
    }

    fn clean_up(&mut self, _context: &RunContext<'_>) -> Result<()> {
        self.ready = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use fullbore::file::File;
    use fullbore::pattern::Progress;

    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::action::workload::DeviceIo;
    use crate::test_files::TestFiles;

    const LEN: u64 = 16 << 20;

    fn trial(text: &str) -> InterfaceWorkload {
        InterfaceWorkload::new(text.parse().unwrap()).unwrap()
    }

    fn offsets(pass: &Pass) -> Vec<u64> {
        pass.records().map(|(offset, _)| offset).collect()
    }

    #[test]
    fn iterations_use_different_ranges_within_the_file() {
        let text = "interface = 'std'\ndirection = 'read'\nrecord = '4K'\n";
        let iteration = |number| Iteration { span: 1 << 20, number };
        for order in ["sequential", "backward", "random", "random-half"] {
            let mut trial = trial(&format!("{text}order = '{order}'"));
            trial.known = true;
            let (one, two) = (trial.part(iteration(1), LEN, 1).0, trial.part(iteration(2), LEN, 2).0);
            assert_eq!((one.count(), one.bytes()), (256, 1 << 20), "{order}");
            assert_ne!(offsets(&one), offsets(&two), "{order}");
            let end = if order == "random-half" { LEN / 2 } else { LEN };
            for pass in [one, two] {
                assert!(pass.records().all(|(offset, len)| offset + len as u64 <= end), "{order}");
            }
        }
    }

    #[test]
    fn random_half_covers_the_first_half() {
        let trial = trial("interface = 'std'\ndirection = 'read'\nrecord = '64K'\norder = 'random-half'");
        let (pass, _) = trial.part(Iteration { span: LEN, number: 1 }, LEN, 1);
        let mut all = offsets(&pass);
        all.sort_unstable();
        assert_eq!(all, (0..LEN / 2).step_by(64 << 10).collect::<Vec<_>>());
    }

    #[test]
    fn first_random_pass_is_short() {
        let mut trial = trial("interface = 'std'\ndirection = 'read'\nrecord = '512'\norder = 'random'");
        let iteration = Iteration { span: 4 << 20, number: 1 };
        assert_eq!(trial.part(iteration, LEN, 1).0.count(), FIRST);
        trial.known = true;
        assert_eq!(trial.part(iteration, LEN, 1).0.count(), (4 << 20) / 512);
    }

    #[test]
    fn trial_matches_its_labels_and_leaves_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let progress = Progress::default();
        let needs = Needs { warm: true, written: true, fresh: true, ..Needs::default() };
        let file_sets = [TestFiles::of_test(directory.path(), LEN, needs)];
        let context = RunContext::of(&file_sets, &progress);
        let mut number = 0;
        for settings in [
            "interface = 'std'\ndirection = 'read'\ncache = 'warm'",
            "interface = 'stream'\ndirection = 'read'\ncache = 'warm'\nbuffer = '0'\norder = 'backward'",
            "interface = 'tokio'\ndirection = 'read'\ncache = 'warm'\ndepth = 3\ncompletion = 'tasks'",
            "interface = 'compio'\ndirection = 'write'\nflush = true\norder = 'random'",
            "interface = 'file'\ndirection = 'write'\nvectors = 2\nflush = false",
            "interface = 'file'\ndirection = 'write'\nfile = 'new'\nallocation = 'size'\nflush = true",
            "interface = 'std-buffered'\ndirection = 'write'\nfile = 'new'\nallocation = 'extend'",
        ] {
            let mut trial = trial(&format!("{settings}\nrecord = '8K'"));
            if !crate::action::interface::tests::available(trial.entry.name) {
                continue;
            }
            trial.open(&context).unwrap_or_else(|error| panic!("{settings}: {error}"));
            for _ in 0..2 {
                number += 1;
                let before = fs_len(&file_sets[0].written);
                let expected = trial.prepare(Iteration { span: 256 << 10, number }, &context).unwrap();
                assert_eq!(expected.cache, trial.spec.cache, "{settings}");
                let flushed = settings.contains("flush = true");
                let device = if flushed { DeviceIo::Writes } else { DeviceIo::Any };
                assert_eq!(expected.device, device, "{settings}");
                let enough = AtomicBool::new(true);
                trial.ramp_up(Ramp { least: 0.0, enough: &enough }, &context).unwrap();
                let done = trial.run(&context).unwrap_or_else(|error| panic!("{settings}: {error}"));
                assert_eq!((done.bytes, done.requests), (256 << 10, 32), "{settings}");
                assert!(done.seconds.is_some_and(|seconds| seconds > 0.0), "{settings}");
                if trial.is_new() {
                    assert_eq!(
                        std::fs::metadata(&file_sets[0].fresh).unwrap().len(),
                        256 << 10,
                        "{settings}"
                    );
                }
                context.clean_up(&mut trial).unwrap();
                assert_eq!(fs_len(&file_sets[0].written), before, "{settings}");
                assert!(!file_sets[0].fresh.exists(), "{settings}");
            }
        }
    }

    fn fs_len(file: &File) -> u64 {
        file.len().unwrap()
    }
}
