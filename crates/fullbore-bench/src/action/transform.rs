//! Transforms a whole file by an operation into another file.

use fullbore::error::{Error, ErrorKind};
use fullbore::file::{Durability, File, Output, Placement};
use fullbore::operation::{self, Kernel};
use fullbore::strategy::{Plan, Purpose};
use fullbore::{Result, pattern, size};
use serde::Deserialize;

use super::one_way::Precondition;
use super::requested_strategy::{RequestedStrategy, contenders};
use super::settings::{Bytes, OutputTarget, Settings, auto, settings};
use super::workload::{Contender, ExpectedState, Iteration, ParsedWorkload, RunContext, RunResult, Workload};
use crate::cgroup::MemoryCgroup;
use crate::document::{CacheState, Labels};
use crate::test_files::{Needs, TestFiles};

/// Minimum memory limit in bytes: the system kills a process that enters a group with a limit below its memory.
const LEAST_MEMORY: u64 = 16 << 20;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct TransformSpec {
    #[serde(default = "auto")]
    strategy: String,
    request: Option<String>,
    depth: Option<u32>,
    cache: Option<CacheState>,
    /// The operation in the syntax of `fullbore transform`.
    operation: String,
    #[serde(default)]
    output: OutputTarget,
    #[serde(default)]
    kernel: InnerLoop,
    /// Length of the file, if it differs from the run's.
    size: Option<Bytes>,
    /// Memory limit for the process and its page cache.
    memory_limit: Option<Bytes>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum InnerLoop {
    #[default]
    Simd,
    Scalar,
}

#[derive(Debug)]
struct TransformWorkload {
    spec: TransformSpec,
    requested: RequestedStrategy,
    plan: Option<Plan>,
    limit: Option<MemoryCgroup>,
}

pub(super) fn parse(given: Settings) -> ParsedWorkload {
    build(settings(given)?)
}

fn build(spec: TransformSpec) -> ParsedWorkload {
    operation::parse(&spec.operation, Kernel::Simd).map_err(|error| error.to_string())?;
    if spec.size == Some(Bytes(0)) {
        return Err("size: expected at least one byte".into());
    }
    if spec.memory_limit.is_some_and(|Bytes(limit)| limit < LEAST_MEMORY) {
        return Err(format!("memory_limit: expected at least {}", size::exact(LEAST_MEMORY)));
    }
    let requested = RequestedStrategy::or_contenders(&spec.strategy, spec.request.as_deref(), spec.depth)?;
    Ok(Box::new(TransformWorkload { spec, requested, plan: None, limit: None }))
}

impl TransformWorkload {
    /// Returns input, old output and length.
    fn files(&self, test_files: &TestFiles) -> Result<(File, File, u64)> {
        if let Some(Bytes(size)) = self.spec.size {
            return Ok((
                test_files.random_file("input", size)?,
                test_files.random_file("output", size)?,
                size,
            ));
        }
        let input = if self.spec.cache == Some(CacheState::Cold) {
            &test_files.cold_input
        } else {
            &test_files.input
        };
        Ok((input.clone(), File::open_write(&test_files.output)?, test_files.transform_len))
    }

    fn output(&self, test_files: &TestFiles, input: &File, old: &File) -> Result<Output> {
        match self.spec.output {
            OutputTarget::Existing => Output::create_with(old.path(), Placement::Overwrite, Some(input)),
            OutputTarget::New => Output::create_with(&test_files.fresh, Placement::Replace, Some(input)),
        }
    }

    /// Plans the run for the requested state of the input; the output remains as it is. Returns the input and its length, too.
    fn plan(&self, test_files: &TestFiles) -> Result<(Plan, File, u64)> {
        let (input, old, len) = self.files(test_files)?;
        Precondition::reading(self.spec.cache).establish(&input, &(0..len))?;
        let output = self.output(test_files, &input, &old)?;
        let plan = self.requested.plan(Purpose::Transform, &input, len, Some(&output))?;
        if self.spec.output == OutputTarget::Existing {
            output.commit_len(len, Durability::None)?;
        }
        Ok((plan, input, len))
    }

    fn run_once(&self, context: &RunContext<'_>) -> Result<fullbore::pattern::Stats> {
        let test_files = context.test_files();
        let (input, old, len) = self.files(test_files)?;
        let kernel = match self.spec.kernel {
            InnerLoop::Simd => Kernel::Simd,
            InnerLoop::Scalar => Kernel::Scalar,
        };
        let operation = operation::parse(&self.spec.operation, kernel)
            .map_err(|error| Error::new(ErrorKind::Invalid, "measure", input.path(), error.to_string()))?;
        let _inside = self.limit.as_ref().map(MemoryCgroup::enter).transpose()?;
        // As a tool runs it: a long run tries the contenders of its plan, unless the strategy is fixed.
        let input = input.stamped()?;
        let output = self.output(test_files, &input, &old)?;
        let plan = self.requested.plan(Purpose::Transform, &input, len, Some(&output))?;
        let input = plan.handle(&input);
        pattern::transform(&*operation, &input, output, &plan, Durability::None, context.progress)
    }
}

impl Workload for TransformWorkload {
    fn needs(&self) -> Needs {
        match self.spec.size {
            // Input and output of this length, as much again for all shorter ones, and a new output besides.
            Some(Bytes(size)) => Needs { extra: size.saturating_mul(5), ..Needs::default() },
            None => Needs { transformed: true, adaptive: self.requested.is_contenders(), ..Needs::default() },
        }
    }

    fn labels(&self) -> Labels {
        let state = if self.spec.output == OutputTarget::New { "extended" } else { "overwritten" };
        Labels {
            operation: self.spec.operation.as_str().into(),
            file_state: Some(state.into()),
            cache: self.spec.cache,
            order: Some("sequential".into()),
            file_bytes: self.spec.size.map(|size| size.0),
            memory_limit_bytes: self.spec.memory_limit.map(|limit| limit.0),
            variant: (self.spec.kernel == InnerLoop::Scalar).then(|| "scalar".into()),
            ..self.requested.labels(self.plan.as_ref(), true)
        }
    }

    fn open(&mut self, context: &RunContext<'_>) -> Result<()> {
        let test_files = context.test_files();
        context.check_device(self.spec.cache == Some(CacheState::Cold))?;
        test_files.has_files()?;
        if let Some(Bytes(bytes)) = self.spec.memory_limit {
            self.limit = Some(MemoryCgroup::with_memory_limit(bytes)?);
        }
        let (plan, input, len) = self.plan(test_files)?;
        if self.requested.is_contenders() {
            return Err(RequestedStrategy::no_contenders(input.path(), len));
        }
        self.plan = Some(plan);
        Ok(())
    }

    fn contenders(&self, context: &RunContext<'_>) -> Result<Option<Vec<Contender>>> {
        if !self.requested.is_contenders() {
            return Ok(None);
        }
        let test_files = context.test_files();
        test_files.has_files()?;
        let (plan, input, _) = self.plan(test_files)?;
        let spec = |strategy| TransformSpec { strategy, ..self.spec.clone() };
        contenders(&plan, input.path(), |strategy| build(spec(strategy))).map(Some)
    }

    fn strategy(&self) -> Option<String> {
        self.requested.planned(self.plan.as_ref())
    }

    fn elastic(&self) -> bool {
        false
    }

    fn prepare(&mut self, _iteration: Iteration, context: &RunContext<'_>) -> Result<ExpectedState> {
        let (input, old, len) = self.files(context.test_files())?;
        if self.spec.memory_limit.is_some() {
            // Pages are charged to the control group that read them; pages charged elsewhere would escape the limit.
            TestFiles::evict_from_cache(&old)?;
        }
        let _inside = self.limit.as_ref().map(MemoryCgroup::enter).transpose()?;
        let expected = Precondition::reading(self.spec.cache).prepare(vec![(input, 0..len)])?;
        Ok(expected.of_tool(&self.labels()))
    }

    fn run(&mut self, context: &RunContext<'_>) -> Result<RunResult> {
        let stats = self.run_once(context)?;
        Ok(RunResult { depth: Some(stats.reads.depth()), ..RunResult::of_tool(&stats) })
    }
}
