//! Bringing a whole file through an operation to another file.

use std::ops::Range;

use fullbore::error::{Error, Kind};
use fullbore::file::{Durability, File, Output, Placement};
use fullbore::operation::{self, Kernel};
use fullbore::strategy::{Strategy, plan};
use fullbore::{Result, pattern, size};
use serde::Deserialize;

use super::condition::Condition;
use super::wished::Wished;
use super::{Claim, Done, Parsed, Settings, Turn, Work, settings};
use crate::bed::{Bed, Needs};
use crate::cgroup::Limit;
use crate::document::{CacheState, Labels};
use crate::sample::Place;

/// What a grid may say of a transformation.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    /// As `--strategy` takes it.
    #[serde(default = "auto")]
    strategy: String,
    /// Request size.
    request: Option<String>,
    /// Requests in flight a worker.
    depth: Option<u32>,
    /// How much of the input the page cache holds.
    cache: Option<CacheState>,
    /// As `fullbore transform` takes it.
    operation: String,
    #[serde(default)]
    output: Target,
    #[serde(default)]
    kernel: Inner,
    /// The length of the file, where it is not that of the run.
    size: Option<String>,
    /// The memory that the process and its page cache may have.
    memory_limit: Option<String>,
}

fn auto() -> String {
    "auto".into()
}

/// Where the output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum Target {
    /// Over the blocks of an existing file.
    #[default]
    Existing,
    /// To a new file.
    New,
}

/// The inner loop of the operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum Inner {
    /// The processor's vector instructions.
    #[default]
    Simd,
    /// The plain loop.
    Scalar,
}

#[derive(Debug)]
struct Trial {
    asked: Asked,
    wished: Wished,
    size: Option<u64>,
    memory: Option<u64>,
    strategy: Option<Strategy>,
    limit: Option<Limit>,
}

pub(super) fn parse(given: Settings) -> Parsed {
    let asked: Asked = settings(given)?;
    operation::parse(&asked.operation, Kernel::Simd).map_err(|error| error.to_string())?;
    let wished = Wished::new(&asked.strategy, asked.request.as_deref(), asked.depth)?;
    let bytes = |text: &Option<String>| match text {
        Some(text) => size::parse(text).map(Some).map_err(|error| error.to_string()),
        None => Ok(None),
    };
    let (size, memory) = (bytes(&asked.size)?, bytes(&asked.memory_limit)?);
    Ok(Box::new(Trial { asked, wished, size, memory, strategy: None, limit: None }))
}

impl Trial {
    /// Input, old output and length.
    fn files(&self, bed: &Bed) -> Result<(File, File, u64)> {
        if let Some(size) = self.size {
            return Ok((bed.sized("input", size)?, bed.sized("output", size)?, size));
        }
        let input = if self.asked.cache == Some(CacheState::Cold) { &bed.cold_input } else { &bed.input };
        Ok((input.clone(), File::open_write(&bed.output)?, bed.transform_len))
    }

    fn once(&self, place: &Place<'_>) -> Result<fullbore::pattern::Outcome> {
        let bed = place.bed();
        let (input, old, _) = self.files(bed)?;
        let kernel = match self.asked.kernel {
            Inner::Simd => Kernel::Simd,
            Inner::Scalar => Kernel::Scalar,
        };
        let operation = operation::parse(&self.asked.operation, kernel)
            .map_err(|error| Error::new(Kind::Invalid, "measure", input.path(), error.to_string()))?;
        let (path, placement) = match self.asked.output {
            Target::Existing => (old.path().to_owned(), Placement::Overwrite),
            Target::New => (bed.fresh.clone(), Placement::Replace),
        };
        let output = Output::create(&path, placement, Some(&input))?;
        let strategy = self.strategy.clone().unwrap_or_else(|| self.wished.plain());
        let _inside = self.limit.as_ref().map(Limit::enter).transpose()?;
        pattern::transform(&*operation, &input, output, &strategy, Durability::Process, place.monitor)
    }
}

impl Work for Trial {
    fn needs(&self) -> Needs {
        match self.size {
            // Input and output of that length, as much again for all shorter ones, and a new output beside them.
            Some(size) => Needs { extra: 5 * size, ..Needs::default() },
            None => Needs { transformed: true, ..Needs::default() },
        }
    }

    fn labels(&self) -> Labels {
        let strategy = self.strategy.clone().unwrap_or_else(|| self.wished.plain());
        let method = match strategy.read == strategy.write {
            true => strategy.read.name.to_owned(),
            false => format!("{}+{}", strategy.read.name, strategy.write.name),
        };
        let state = if self.asked.output == Target::New { "extended" } else { "overwritten" };
        Labels {
            operation: self.asked.operation.clone(),
            method,
            request_bytes: Some(strategy.request as u64),
            depth: Some(strategy.depth as u32),
            workers: Some(strategy.workers as u32),
            model: Some(strategy.model.to_string()),
            allocation: Some(strategy.allocation.to_string()),
            cache_policy: Some(strategy.read_cache.to_string()),
            file_state: Some(state.into()),
            cache: self.asked.cache,
            order: Some("sequential".into()),
            strategy: Some(self.wished.text.clone()),
            file_bytes: self.size,
            memory_limit_bytes: self.memory,
            variant: (self.asked.kernel == Inner::Scalar).then(|| "scalar".into()),
            ..Labels::default()
        }
    }

    fn open(&mut self, place: &Place<'_>) -> Result<()> {
        let bed = place.bed();
        if bed.in_memory && self.asked.cache == Some(CacheState::Cold) {
            return Err(place.no_device());
        }
        bed.has_files()?;
        if let Some(bytes) = self.memory {
            self.limit = Some(Limit::of_memory(bytes)?);
        }
        let (input, old, len) = self.files(bed)?;
        let output = Output::create(old.path(), Placement::Overwrite, Some(&input))?;
        let Wished { wish, text } = &self.wished;
        let planned = plan(Some(&input), Some(len), Some(&output), wish, Some(text), None)?;
        output.commit_len(len, Durability::Process)?;
        self.wished.granted(&planned, input.path())?;
        self.strategy = Some(planned.strategy);
        Ok(())
    }

    fn strategy(&self) -> Option<String> {
        self.strategy.as_ref().map(ToString::to_string)
    }

    fn elastic(&self) -> bool {
        false
    }

    fn prepare(&mut self, _turn: Turn, place: &Place<'_>) -> Result<Claim> {
        let (input, old, len) = self.files(place.bed())?;
        let whole: Range<u64> = 0..len;
        if self.memory.is_some() {
            // Pages belong to whoever brought them: what is outside the limit would not feel it.
            Bed::cool_down(&old)?;
        }
        let cache = self.asked.cache;
        // Of the input, which is read by whatever way.
        let condition = Condition { writes: false, direct: false, flush: false, cache };
        {
            let _inside = self.limit.as_ref().map(Limit::enter).transpose()?;
            condition.bring(&input, &whole)?;
        }
        let about = if cache.is_some() { vec![(input, whole)] } else { Vec::new() };
        Ok(Claim { about, cache, device: condition.device() })
    }

    fn ramp_up(&mut self, seconds: f64, place: &Place<'_>) -> Result<()> {
        let clock = std::time::Instant::now();
        while clock.elapsed().as_secs_f64() < seconds {
            self.once(place)?;
        }
        Ok(())
    }

    fn run(&mut self, place: &Place<'_>) -> Result<Done> {
        let outcome = self.once(place)?;
        Ok(Done {
            bytes: outcome.bytes,
            // A tool's user waits for opening and committing too: the clock around this tells.
            seconds: None,
            requests: outcome.reads.requests + outcome.writes.requests,
            depth: Some(outcome.reads.depth()),
            ..Done::default()
        })
    }

    fn clear(&mut self, place: &Place<'_>) -> Result<()> {
        if self.asked.output == Target::New {
            let _ = std::fs::remove_file(&place.bed().fresh);
        }
        Ok(())
    }
}
