//! Transforms a whole file by an operation into another file.

use std::ops::Range;

use fullbore::error::{Error, ErrorKind};
use fullbore::file::{Durability, File, Output, Placement};
use fullbore::operation::{self, Kernel};
use fullbore::strategy::{Planner, Purpose, Strategy};
use fullbore::{Result, pattern, size};
use serde::Deserialize;

use super::context::RunContext;
use super::precondition::Precondition;
use super::requested_strategy::RequestedStrategy;
use super::workload::{ExpectedState, Iteration, ParsedWorkload, RunResult, Settings, Workload, settings};
use crate::cgroup::MemoryCgroup;
use crate::document::{CacheState, Labels};
use crate::test_files::{Needs, TestFiles};

/// Settings of a transformation.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct TransformSpec {
    /// In the syntax of `--strategy`.
    #[serde(default = "auto")]
    strategy: String,
    /// Request size.
    request: Option<String>,
    /// Requests in flight per worker.
    depth: Option<u32>,
    /// Page-cache state of the input.
    cache: Option<CacheState>,
    /// In the syntax of `fullbore transform`.
    operation: String,
    #[serde(default)]
    output: OutputTarget,
    #[serde(default)]
    kernel: InnerLoop,
    /// Length of the file, if it differs from the run's.
    size: Option<String>,
    /// Memory limit for the process and its page cache.
    memory_limit: Option<String>,
}

fn auto() -> String {
    "auto".into()
}

/// Destination of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum OutputTarget {
    /// The blocks of an existing file.
    #[default]
    Existing,
    /// A new file.
    New,
}

/// Inner loop of the operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum InnerLoop {
    /// The processor's vector instructions.
    #[default]
    Simd,
    /// The scalar loop.
    Scalar,
}

#[derive(Debug)]
struct TransformWorkload {
    spec: TransformSpec,
    requested: RequestedStrategy,
    size: Option<u64>,
    memory: Option<u64>,
    strategy: Option<Strategy>,
    limit: Option<MemoryCgroup>,
}

pub(super) fn parse(given: Settings) -> ParsedWorkload {
    let spec: TransformSpec = settings(given)?;
    operation::parse(&spec.operation, Kernel::Simd).map_err(|error| error.to_string())?;
    let requested = RequestedStrategy::new(&spec.strategy, spec.request.as_deref(), spec.depth)?;
    let bytes = |text: &Option<String>| match text {
        Some(text) => size::parse(text).map(Some).map_err(|error| error.to_string()),
        None => Ok(None),
    };
    let (size, memory) = (bytes(&spec.size)?, bytes(&spec.memory_limit)?);
    Ok(Box::new(TransformWorkload { spec, requested, size, memory, strategy: None, limit: None }))
}

impl TransformWorkload {
    /// Returns input, old output and length.
    fn files(&self, test_files: &TestFiles) -> Result<(File, File, u64)> {
        if let Some(size) = self.size {
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

    fn run_once(&self, context: &RunContext<'_>) -> Result<fullbore::pattern::Stats> {
        let test_files = context.test_files();
        let (input, old, _) = self.files(test_files)?;
        let kernel = match self.spec.kernel {
            InnerLoop::Simd => Kernel::Simd,
            InnerLoop::Scalar => Kernel::Scalar,
        };
        let operation = operation::parse(&self.spec.operation, kernel)
            .map_err(|error| Error::new(ErrorKind::Invalid, "measure", input.path(), error.to_string()))?;
        let (path, placement) = match self.spec.output {
            OutputTarget::Existing => (old.path().to_owned(), Placement::Overwrite),
            OutputTarget::New => (test_files.fresh.clone(), Placement::Replace),
        };
        let output = Output::create(&path, placement, Some(&input))?;
        let strategy = self.strategy.clone().unwrap_or_else(|| self.requested.plain());
        let _inside = self.limit.as_ref().map(MemoryCgroup::enter).transpose()?;
        pattern::transform(&*operation, &input, output, &strategy, Durability::None, context.progress)
    }
}

impl Workload for TransformWorkload {
    fn needs(&self) -> Needs {
        match self.size {
            // Input and output of this length, as much again for all shorter ones, and a new output besides.
            Some(size) => Needs { extra: 5 * size, ..Needs::default() },
            None => Needs { transformed: true, ..Needs::default() },
        }
    }

    fn labels(&self) -> Labels {
        let strategy = self.strategy.clone().unwrap_or_else(|| self.requested.plain());
        let method = match strategy.read == strategy.write {
            true => strategy.read.name.to_owned(),
            false => format!("{}+{}", strategy.read.name, strategy.write.name),
        };
        let state = if self.spec.output == OutputTarget::New { "extended" } else { "overwritten" };
        Labels {
            operation: self.spec.operation.clone(),
            method,
            request_bytes: Some(strategy.request as u64),
            depth: Some(strategy.depth as u32),
            workers: Some(strategy.workers as u32),
            model: Some(strategy.model.to_string()),
            allocation: Some(strategy.allocation.to_string()),
            cache_policy: Some(strategy.read_cache.to_string()),
            file_state: Some(state.into()),
            cache: self.spec.cache,
            order: Some("sequential".into()),
            strategy: Some(self.requested.text.clone()),
            file_bytes: self.size,
            memory_limit_bytes: self.memory,
            variant: (self.spec.kernel == InnerLoop::Scalar).then(|| "scalar".into()),
            ..Labels::default()
        }
    }

    fn open(&mut self, context: &RunContext<'_>) -> Result<()> {
        let test_files = context.test_files();
        if test_files.in_memory && self.spec.cache == Some(CacheState::Cold) {
            return Err(context.no_device());
        }
        test_files.has_files()?;
        if let Some(bytes) = self.memory {
            self.limit = Some(MemoryCgroup::with_memory_limit(bytes)?);
        }
        let (input, old, len) = self.files(test_files)?;
        let output = Output::create(old.path(), Placement::Overwrite, Some(&input))?;
        let RequestedStrategy { spec, text } = &self.requested;
        let planned = Planner::new(spec).with_text(Some(text)).plan(
            Purpose::Transform,
            Some(&input),
            Some(len),
            Some(&output),
        )?;
        output.commit_len(len, Durability::None)?;
        self.requested.check_granted(&planned, input.path())?;
        self.strategy = Some(planned.strategy);
        Ok(())
    }

    fn strategy(&self) -> Option<String> {
        self.strategy.as_ref().map(ToString::to_string)
    }

    fn elastic(&self) -> bool {
        false
    }

    fn prepare(&mut self, _iteration: Iteration, context: &RunContext<'_>) -> Result<ExpectedState> {
        let (input, old, len) = self.files(context.test_files())?;
        let whole: Range<u64> = 0..len;
        if self.memory.is_some() {
            // Pages are charged to the control group that read them; pages charged elsewhere would escape the limit.
            TestFiles::evict_from_cache(&old)?;
        }
        let cache = self.spec.cache;
        // The precondition of the input, independent of its access method.
        let precondition = Precondition { writes: false, direct: false, flush: false, cache };
        {
            let _inside = self.limit.as_ref().map(MemoryCgroup::enter).transpose()?;
            precondition.establish(&input, &whole)?;
        }
        let ranges = if cache.is_some() { vec![(input, whole)] } else { Vec::new() };
        Ok(ExpectedState { ranges, cache, device: precondition.device() })
    }

    fn ramp_up(&mut self, seconds: f64, context: &RunContext<'_>) -> Result<()> {
        let clock = std::time::Instant::now();
        while clock.elapsed().as_secs_f64() < seconds {
            self.run_once(context)?;
        }
        Ok(())
    }

    fn run(&mut self, context: &RunContext<'_>) -> Result<RunResult> {
        let stats = self.run_once(context)?;
        Ok(RunResult {
            bytes: stats.bytes,
            // A tool's user waits for opening and committing, too; the surrounding clock includes them.
            seconds: None,
            requests: stats.reads.requests + stats.writes.requests,
            depth: Some(stats.reads.depth()),
            ..RunResult::default()
        })
    }

    fn clean_up(&mut self, context: &RunContext<'_>) -> Result<()> {
        if self.spec.output == OutputTarget::New {
            let _ = std::fs::remove_file(&context.test_files().fresh);
        }
        Ok(())
    }
}
