//! Reads many small files on a worker pool, as the tools do.

use std::ops::ControlFlow;

use fullbore::file::File;
use fullbore::pattern::{Executor, Progress};
use fullbore::{Result, op, size};
use serde::Deserialize;

use super::context::RunContext;
use super::precondition::Precondition;
use super::requested_strategy::RequestedStrategy;
use super::workload::{
    ExpectedState, Iteration, ParsedWorkload, Ramp, RunResult, Settings, Workload, repeat_until, settings,
};
use crate::document::{CacheState, Labels};
use crate::test_files::Needs;

/// Number of files: enough for a pool of workers to grow, few enough to be created for a run.
const FILES: u64 = 256;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct SmallFilesSpec {
    /// In the syntax of `--strategy`; `auto` determines the number of workers during the run.
    #[serde(default = "auto")]
    strategy: String,
    #[serde(default = "sixteen")]
    size: String,
    cache: Option<CacheState>,
}

fn auto() -> String {
    "auto".into()
}

fn sixteen() -> String {
    "16K".into()
}

#[derive(Debug)]
struct SmallFilesWorkload {
    spec: SmallFilesSpec,
    requested: RequestedStrategy,
    len: u64,
    files: Vec<File>,
}

pub(super) fn parse(given: Settings) -> ParsedWorkload {
    let spec: SmallFilesSpec = settings(given)?;
    let requested = RequestedStrategy::new(&spec.strategy, None, None)?;
    let len = size::parse(&spec.size).map_err(|error| error.to_string())?;
    Ok(Box::new(SmallFilesWorkload { spec, requested, len, files: Vec::new() }))
}

impl SmallFilesWorkload {
    fn precondition(&self) -> Precondition {
        Precondition { writes: false, direct: false, flush: false, cache: self.spec.cache }
    }

    /// Counts the lines of every file; returns the number of bytes read.
    fn read_all(&self, progress: &Progress) -> Result<u64> {
        let mut bytes = 0;
        Executor::new(&self.requested.spec, progress).map_ordered(
            self.files.iter().map(File::path),
            |path, sender, worker, executor| {
                let (stats, lines) = executor.fold(&op::count_lines(), &worker.open(path)?, worker)?;
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
        Needs { extra: FILES * self.len, ..Needs::default() }
    }

    fn labels(&self) -> Labels {
        let adaptive = self.requested.spec.workers.is_none();
        Labels {
            operation: "small files".into(),
            method: if adaptive { "auto" } else { "buffered" }.into(),
            workers: self.requested.spec.workers.map(|workers| workers as u32),
            cache: self.spec.cache,
            file_bytes: Some(self.len),
            strategy: Some(self.requested.text.clone()),
            ..Labels::default()
        }
    }

    fn open(&mut self, context: &RunContext<'_>) -> Result<()> {
        let test_files = context.test_files();
        test_files.has_files()?;
        if test_files.in_memory && self.spec.cache == Some(CacheState::Cold) {
            return Err(context.no_device());
        }
        self.files = test_files.small_files(FILES, self.len)?;
        Ok(())
    }

    fn elastic(&self) -> bool {
        false
    }

    fn prepare(&mut self, _iteration: Iteration, _context: &RunContext<'_>) -> Result<ExpectedState> {
        let precondition = self.precondition();
        let whole = 0..self.len;
        match self.spec.cache {
            // The files are on the device since they were made; flushing each again would take longer than the sample.
            Some(CacheState::Cold) => self.files.iter().try_for_each(File::drop_cache)?,
            _ => self.files.iter().try_for_each(|file| precondition.establish(file, &whole))?,
        }
        Ok(ExpectedState {
            ranges: self.files.iter().map(|file| (file.clone(), whole.clone())).collect(),
            cache: self.spec.cache,
            device: precondition.device(),
        })
    }

    fn ramp_up(&mut self, ramp: Ramp<'_>, context: &RunContext<'_>) -> Result<()> {
        repeat_until(ramp.enough, || self.read_all(context.progress).map(drop))
    }

    fn run(&mut self, context: &RunContext<'_>) -> Result<RunResult> {
        let bytes = self.read_all(context.progress)?;
        Ok(RunResult { bytes, requests: FILES, ..RunResult::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_labelled_and_auto_has_none() {
        let labels = |text: &str| parse(toml::from_str(text).unwrap()).unwrap().labels();
        let fixed = labels("strategy = 'workers=3'\ncache = 'cold'\nsize = '4K'");
        assert_eq!(
            (fixed.method.as_str(), fixed.workers, fixed.file_bytes),
            ("buffered", Some(3), Some(4096))
        );
        let auto = labels("cache = 'warm'");
        assert_eq!((auto.method.as_str(), auto.workers, auto.file_bytes), ("auto", None, Some(16 << 10)));
    }
}
