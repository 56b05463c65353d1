//! Runs the operations of the tools over whole files as a tool does, with planning and opening inside the measured
//! time.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use fullbore::error::{Error, ErrorKind};
use fullbore::file::{File, Output, Placement};
use fullbore::operation::{BlockMemory, Part, Search};
use fullbore::pattern::{
    self, CompareOptions, Comparison, CopyOptions, Executor, Progress, Reflink, Side, Stats,
};
use fullbore::strategy::{Plan, Planner, Purpose};
use fullbore::{Result, op};
use memchr::memmem::Finder;
use serde::Deserialize;

use super::one_way::Precondition;
use super::requested_strategy::{RequestedStrategy, contenders};
use super::settings::{Bytes, Settings, auto, settings};
use super::workload::{Contender, ExpectedState, Iteration, ParsedWorkload, RunContext, RunResult, Workload};
use crate::document::{CacheState, Labels};
use crate::test_files::{Needs, SMALL_FILES};

/// The least time of a sample of a cached file, which takes as many runs as that needs. A single run of some milliseconds measures
/// mostly when its threads start: samples of 6 to 20 ms differed by a factor of 2.8.
const LEAST: Duration = Duration::from_millis(50);

/// The text that is searched for: a literal that the test texts do not contain, so that every byte is examined.
const LITERAL: &str = "half-power";

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct WholeFileSpec {
    #[serde(default = "auto")]
    strategy: String,
    cache: Option<CacheState>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Scan,
    Search,
    /// Hashes by BLAKE3.
    Hash,
    Compare,
    /// Copies to a new file, without sharing blocks.
    Copy,
}

impl Operation {
    /// Returns its purpose, and its name in labels.
    fn names(self) -> (Purpose, &'static str) {
        match self {
            Self::Scan => (Purpose::Fold, "count lines"),
            Self::Search => (Purpose::Search, "search"),
            Self::Hash => (Purpose::Hash, "blake3"),
            Self::Compare => (Purpose::Compare, "compare"),
            Self::Copy => (Purpose::Copy, "copy"),
        }
    }
}

pub(super) fn parse(operation: Operation, given: Settings) -> ParsedWorkload {
    build(operation, settings(given)?)
}

fn build(operation: Operation, spec: WholeFileSpec) -> ParsedWorkload {
    let requested = RequestedStrategy::or_contenders(&spec.strategy, None, None)?;
    Ok(Box::new(WholeFileWorkload { operation, spec, requested, plan: None }))
}

#[derive(Debug)]
struct WholeFileWorkload {
    operation: Operation,
    spec: WholeFileSpec,
    requested: RequestedStrategy,
    /// The plan for the state of the input when the trial was opened.
    plan: Option<Plan>,
}

impl WholeFileWorkload {
    /// Returns the inputs: two for a comparison.
    fn inputs(&self, context: &RunContext<'_>) -> Result<Vec<File>> {
        let test_files = context.test_files();
        let cold = self.spec.cache == Some(CacheState::Cold);
        let mut inputs = vec![test_files.text_file("text", cold)?];
        if self.operation == Operation::Compare {
            inputs.push(test_files.text_file("same-text", cold)?);
        }
        Ok(inputs)
    }

    fn establish(&self, inputs: &[File], context: &RunContext<'_>) -> Result<ExpectedState> {
        context.check_device(self.spec.cache == Some(CacheState::Cold))?;
        let whole = |input: &File| Ok((input.clone(), 0..input.len()?));
        let inputs = inputs.iter().map(whole).collect::<Result<_>>()?;
        Ok(Precondition::reading(self.spec.cache).prepare(inputs)?.of_tool(&self.labels()))
    }

    fn output(input: &File, context: &RunContext<'_>) -> Result<Output> {
        Output::create_with(&context.test_files().fresh, Placement::Replace, Some(input))
    }

    fn plan(&self, inputs: &[File], context: &RunContext<'_>) -> Result<Plan> {
        let (purpose, input) = (self.operation.names().0, &inputs[0]);
        match self.operation {
            Operation::Compare => self.plan_pair([input, &inputs[1]]).map(|[left, _]| left),
            Operation::Copy => {
                let output = Self::output(input, context)?;
                self.requested.plan(purpose, input, input.len()?, Some(&output))
            }
            _ => self.requested.plan(purpose, input, input.len()?, None),
        }
    }

    fn plan_pair(&self, files: [&File; 2]) -> Result<[Plan; 2]> {
        let RequestedStrategy { spec, text } = &self.requested;
        let plans = Planner::new(spec).with_text(Some(text)).plan_pair(files, [spec, spec])?;
        plans
            .iter()
            .zip(files)
            .try_for_each(|(plan, file)| self.requested.check_granted(plan, file.path()))?;
        Ok(plans)
    }

    fn run_once(&self, context: &RunContext<'_>) -> Result<Stats> {
        let inputs: Vec<File> = self.inputs(context)?.iter().map(File::stamped).collect::<Result<_>>()?;
        let (input, progress) = (&inputs[0], context.progress);
        if self.operation == Operation::Copy {
            let options = CopyOptions { reflink: Reflink::Never, ..CopyOptions::default() };
            let RequestedStrategy { spec, text } = &self.requested;
            let planner = Planner::new(spec).with_text(spec.fixed.then_some(text));
            let copy =
                pattern::copy_file(input, Self::output(input, context)?, (&options, planner), progress)?;
            let mut stats = Stats::default();
            stats.bytes = copy.copied;
            return Ok(stats);
        }
        if self.operation == Operation::Compare {
            let plans = self.plan_pair([input, &inputs[1]])?;
            let files = [plans[0].handle(input), plans[1].handle(&inputs[1])];
            let side = |index: usize| Side::new(&files[index], &plans[index]);
            let (mut stats, found) =
                pattern::compare(&side(0), &side(1), &CompareOptions::default(), progress)?;
            if found != Comparison::Equal {
                return Err(Error::new(ErrorKind::Changed, "measure", input.path(), "the test files differ"));
            }
            // The run counts those of one file.
            stats.bytes *= 2;
            return Ok(stats);
        }
        let plan = self.plan(&inputs, context)?;
        let input = plan.handle(input);
        match self.operation {
            Operation::Search => {
                let literal = Literal(Finder::new(LITERAL));
                pattern::search(&literal, &input, &plan, progress, |count| {
                    std::hint::black_box(count);
                    Ok(ControlFlow::Continue(()))
                })
            }
            Operation::Hash => {
                let (stats, hash) = pattern::fold(&op::blake3(), &input, &plan, progress)?;
                std::hint::black_box(hash.digest());
                Ok(stats)
            }
            _ => {
                let (stats, lines) = pattern::fold(&op::count_lines(), &input, &plan, progress)?;
                std::hint::black_box(lines);
                Ok(stats)
            }
        }
    }
}

struct Literal(Finder<'static>);

impl Search for Literal {
    type Found = u64;

    fn memory(&self) -> BlockMemory {
        BlockMemory::REVIEWED
    }

    fn search(&self, part: &Part<'_>) -> u64 {
        self.0.find_iter(part.own()).count() as u64
    }
}

impl Workload for WholeFileWorkload {
    fn needs(&self) -> Needs {
        Needs { texts: true, adaptive: self.requested.is_contenders(), ..Needs::default() }
    }

    fn labels(&self) -> Labels {
        let copies = self.operation == Operation::Copy;
        Labels {
            operation: self.operation.names().1.into(),
            file_state: copies.then(|| "extended".into()),
            cache: self.spec.cache,
            order: Some("sequential".into()),
            ..self.requested.labels(self.plan.as_ref(), copies)
        }
    }

    fn open(&mut self, context: &RunContext<'_>) -> Result<()> {
        let inputs = self.inputs(context)?;
        self.establish(&inputs, context)?;
        let plan = self.plan(&inputs, context)?;
        if self.requested.is_contenders() {
            return Err(RequestedStrategy::no_contenders(inputs[0].path(), inputs[0].len()?));
        }
        self.plan = Some(plan);
        Ok(())
    }

    fn contenders(&self, context: &RunContext<'_>) -> Result<Option<Vec<Contender>>> {
        if !self.requested.is_contenders() {
            return Ok(None);
        }
        let inputs = self.inputs(context)?;
        self.establish(&inputs, context)?;
        let spec = |strategy| WholeFileSpec { strategy, ..self.spec.clone() };
        let plan = self.plan(&inputs, context)?;
        contenders(&plan, inputs[0].path(), |strategy| build(self.operation, spec(strategy))).map(Some)
    }

    fn strategy(&self) -> Option<String> {
        self.requested.planned(self.plan.as_ref())
    }

    fn elastic(&self) -> bool {
        false
    }

    fn prepare(&mut self, _iteration: Iteration, context: &RunContext<'_>) -> Result<ExpectedState> {
        self.establish(&self.inputs(context)?, context)
    }

    fn run(&mut self, context: &RunContext<'_>) -> Result<RunResult> {
        let clock = Instant::now();
        let mut stats = self.run_once(context)?;
        // A run that reads from the device leaves the file in the page cache, and a copy needs a new file.
        let repeats = self.spec.cache == Some(CacheState::Warm) && self.operation != Operation::Copy;
        while repeats && clock.elapsed() < LEAST {
            stats.add(&self.run_once(context)?);
        }
        Ok(RunResult::of_tool(&stats))
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct SmallFilesSpec {
    /// The strategy in the syntax of `--strategy`; `auto` determines the number of workers during the run.
    #[serde(default = "auto")]
    strategy: String,
    #[serde(default = "sixteen")]
    size: Bytes,
    cache: Option<CacheState>,
}

fn sixteen() -> Bytes {
    Bytes(16 << 10)
}

#[derive(Debug)]
struct SmallFilesWorkload {
    spec: SmallFilesSpec,
    requested: RequestedStrategy,
    files: Vec<File>,
}

pub(super) fn small_files(given: Settings) -> ParsedWorkload {
    let spec: SmallFilesSpec = settings(given)?;
    if spec.size.0 == 0 {
        return Err("size: expected at least one byte".into());
    }
    let requested = RequestedStrategy::new(&spec.strategy, None, None)?;
    if !Executor::new(&requested.spec, &Progress::default()).is_plain() {
        return Err("strategy: small files have one access method: only workers can be set".into());
    }
    Ok(Box::new(SmallFilesWorkload { spec, requested, files: Vec::new() }))
}

impl SmallFilesWorkload {
    /// Counts the lines of every file; returns the number of bytes read.
    fn read_all(&self, progress: &Progress) -> Result<u64> {
        let mut bytes = 0;
        Executor::new(&self.requested.spec, progress).map_ordered(
            self.files.iter().map(File::path),
            |path, sender, worker, executor| {
                let (lines, stats) = executor.fold(&op::count_lines(), &worker.open(path)?, worker)?;
                std::hint::black_box(lines);
                sender.send(stats.bytes, 0).map(drop)
            },
            |read| {
                bytes += read;
                Ok(ControlFlow::Continue(()))
            },
        )?;
        Ok(bytes)
    }
}

impl Workload for SmallFilesWorkload {
    fn needs(&self) -> Needs {
        // As much again for all shorter ones, which remain until the set ends.
        Needs { extra: SMALL_FILES.saturating_mul(self.spec.size.0).saturating_mul(2), ..Needs::default() }
    }

    fn labels(&self) -> Labels {
        let adaptive = self.requested.spec.workers.is_none();
        Labels {
            workers: self.requested.spec.workers.map(|workers| workers as u32),
            cache: self.spec.cache,
            file_bytes: Some(self.spec.size.0),
            strategy: Some(self.requested.text.clone()),
            ..Labels::of("small files", if adaptive { "auto" } else { "buffered" })
        }
    }

    fn open(&mut self, context: &RunContext<'_>) -> Result<()> {
        let test_files = context.test_files();
        test_files.has_files()?;
        context.check_device(self.spec.cache == Some(CacheState::Cold))?;
        self.files = test_files.small_files(self.spec.size.0)?;
        Ok(())
    }

    fn elastic(&self) -> bool {
        false
    }

    fn prepare(&mut self, _iteration: Iteration, _context: &RunContext<'_>) -> Result<ExpectedState> {
        let precondition = Precondition::reading(self.spec.cache);
        let whole = 0..self.spec.size.0;
        match self.spec.cache {
            // The files are on the device since they were made; flushing each again would take longer than the sample.
            Some(CacheState::Cold) => self.files.iter().try_for_each(File::drop_cache)?,
            _ => self.files.iter().try_for_each(|file| precondition.establish(file, &whole))?,
        }
        Ok(ExpectedState {
            ranges: self.files.iter().map(|file| (file.clone(), whole.clone())).collect(),
            cache: self.spec.cache,
            device: precondition.device(),
            fills_page_cache: false,
        })
    }

    fn run(&mut self, context: &RunContext<'_>) -> Result<RunResult> {
        let bytes = self.read_all(context.progress)?;
        Ok(RunResult { bytes, requests: SMALL_FILES, ..RunResult::default() })
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use super::*;
    use crate::action::workload::Ramp;
    use crate::test_files::TestFiles;
    use fullbore::operation::Generate;
    use fullbore::operation::generate::Text;

    #[test]
    fn the_literal_is_counted_and_not_in_the_test_texts() {
        let literal = Literal(Finder::new(LITERAL));
        let mut found = 0;
        let count = |bytes: &[u8]| {
            let mut sum = 0;
            pattern::search_bytes(&literal, bytes, |count| {
                sum += count;
                Ok(ControlFlow::Continue(()))
            })
            .unwrap();
            sum
        };
        found += count(b"a half-power point\nhalf-power half-power\nhalf\n-power\n");
        assert_eq!(found, 3);
        let mut text = vec![0; 1 << 20];
        Text::new(7, const { NonZeroU64::new(80).unwrap() }).fill(0, &mut text);
        assert!(text.contains(&b'\n'), "not a text");
        assert_eq!(count(&text), 0);
    }

    #[test]
    fn a_ramp_of_copies_leaves_no_file() {
        let (directory, progress) = (tempfile::tempdir().unwrap(), Progress::default());
        let needs = Needs { texts: true, ..Needs::default() };
        let file_sets = [TestFiles::of_test(directory.path(), 1 << 20, needs)];
        let context = RunContext::of(&file_sets, &progress);
        let settings = "strategy = 'method=buffered'\ncache = 'warm'";
        let mut trial = parse(Operation::Copy, toml::from_str(settings).unwrap()).unwrap();
        trial.open(&context).unwrap();
        trial.prepare(Iteration { span: 0, number: 1 }, &context).unwrap();
        trial.run(&context).unwrap();
        assert!(file_sets[0].fresh.exists(), "a copy makes a file");
        context.clean_up(trial.as_mut()).unwrap();
        trial.ramp_up(Ramp { least: 0.0, enough: &true.into() }, &context).unwrap();
        assert!(!file_sets[0].fresh.exists());
    }

    #[test]
    fn there_is_room_for_small_files_of_several_lengths() {
        let needs = |size: &str| {
            let settings = format!("size = '{size}'\ncache = 'warm'");
            small_files(toml::from_str(&settings).unwrap()).unwrap().needs()
        };
        let all = ["1M", "2M", "4M"].map(needs).into_iter().fold(Needs::default(), Needs::and);
        assert!(all.extra >= SMALL_FILES * (7 << 20), "{}", all.extra);
    }

    #[test]
    fn workers_are_labelled_and_auto_has_none() {
        let labels = |text: &str| small_files(toml::from_str(text).unwrap()).unwrap().labels();
        let fixed = labels("strategy = 'workers=3'\ncache = 'cold'\nsize = '4K'");
        assert_eq!(
            (fixed.method.as_str(), fixed.workers, fixed.file_bytes),
            ("buffered", Some(3), Some(4096))
        );
        let auto = labels("cache = 'warm'");
        assert_eq!((auto.method.as_str(), auto.workers, auto.file_bytes), ("auto", None, Some(16 << 10)));
    }
}
