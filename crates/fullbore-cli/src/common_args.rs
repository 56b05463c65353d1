//! How the tools read: the flags they have in common, the executor made from them, and the account of a run.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use clap::{Args, ValueEnum};
use fullbore::engine::CachePolicy;
use fullbore::pattern::{Executor, Progress};
use fullbore::probe::ProcessUsage;
use fullbore::quote::Shown;
use fullbore::size;
use fullbore::strategy::{BUDGET, NAMED, Plan, Profile, StrategySpec};
use serde_json::json;

use crate::exit::{Exit, program};
use crate::output::Output;
use crate::progress::{ProgressLine, When};
use crate::values::names;

/// The flags of every tool that reads files.
#[derive(Debug, Args)]
#[command(next_help_heading = "How the bytes move")]
pub struct CommonArgs {
    #[arg(long, value_name = "STRATEGY", default_value = "auto", help = strategies())]
    strategy: String,

    /// What becomes of the page cache: keep what is read in it, drop it, or pass it by [default: keep]
    #[arg(long, value_parser = names::<CacheArg>(), value_name = "POLICY")]
    cache: Option<CacheArg>,

    /// How many threads work [default: as many as processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=256))]
    workers: Option<u64>,

    /// How much memory buffers and waiting results may take [default: 64M]
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    memory: Option<u64>,

    /// Say on standard error which strategy runs, why, and what it beat
    #[arg(long)]
    explain: bool,

    /// Print real, user and system time and the rate, on standard error
    #[arg(long)]
    time: bool,

    /// When to show progress
    #[arg(long, value_parser = names::<When>(), value_name = "WHEN", default_value = "auto")]
    progress: When,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum CacheArg {
    Keep,
    Drop,
    Direct,
}

fn memory(text: &str) -> Result<u64, String> {
    let bytes = size::parse(text).map_err(|error| error.to_string())?;
    if bytes < 1 << 20 { Err("it can be no less than 1M".into()) } else { Ok(bytes) }
}

/// A run of a tool: what it was told of how bytes move, and what others see of it.
#[derive(Debug)]
pub struct CliRun<'w> {
    common: &'w CommonArgs,
    spec: StrategySpec,
    profile: Option<Profile>,
    progress: Arc<Progress>,
    start: Instant,
    before: ProcessUsage,
    plans: Mutex<Vec<serde_json::Value>>,
    output: Arc<Output>,
}

impl CommonArgs {
    /// What a tool has flags of its own for: how many threads work, if that was not said otherwise.
    pub fn prefer_workers(&mut self, workers: Option<u64>) {
        self.workers = self.workers.or(workers.map(|workers| workers.min(256)));
    }

    /// How much memory a run may take, in bytes.
    pub fn budget(&self) -> u64 {
        let budget = || self.strategy.parse::<StrategySpec>().ok()?.budget;
        self.memory.or_else(budget).unwrap_or(BUDGET)
    }

    /// As [`prefer_workers`](Self::prefer_workers), of the strategy.
    pub fn prefer_strategy(&mut self, strategy: &str) {
        if self.strategy == "auto" {
            strategy.clone_into(&mut self.strategy);
        }
    }

    /// Begins a run.
    ///
    /// # Errors
    /// If the strategy is none.
    pub fn begin(&self) -> Result<CliRun<'_>, Exit> {
        let mut spec: StrategySpec =
            self.strategy.parse().map_err(|error| Exit::failure(format!("--strategy: {error}")))?;
        if let Some(policy) = self.cache {
            let policy = match policy {
                CacheArg::Keep => CachePolicy::Keep,
                CacheArg::Drop => CachePolicy::DontCache,
                CacheArg::Direct => CachePolicy::Direct,
            };
            (spec.read_cache, spec.write_cache) = (Some(policy), Some(policy));
        }
        spec.workers = self.workers.map(|workers| workers as usize).or(spec.workers);
        spec.budget = self.memory.or(spec.budget);
        Ok(CliRun {
            common: self,
            spec,
            profile: load_profile(),
            progress: Arc::new(Progress::default()),
            start: Instant::now(),
            before: ProcessUsage::now().unwrap_or_default(),
            plans: Mutex::default(),
            output: Output::new(),
        })
    }
}

impl CliRun<'_> {
    /// Runs `job` with the executor that was asked for. A line of progress, headed `what`, follows it to `len` bytes, if
    /// that is known; what is [printed](Self::print) meanwhile takes it aside.
    pub fn with_executor<T>(&self, what: &str, len: Option<u64>, job: impl FnOnce(&Executor<'_>) -> T) -> T {
        self.follow(what, len);
        let explain = |path: &Path, plan: &Plan| self.print_plan(path, plan);
        let executor = Executor::new(&self.spec, &self.progress).with_profile(self.profile.as_ref());
        let result = match self.common.explain {
            true => job(&executor.explained(&explain, self.spec_text())),
            false => job(&executor),
        };
        *self.output.line() = None;
        result
    }

    /// Shows progress from now on to the end of the run, headed `what`, to `len` bytes, if that is known.
    pub fn follow(&self, what: &str, len: Option<u64>) {
        *self.output.line() = Some(ProgressLine::follow(self.common.progress, what, len, &self.progress));
    }

    /// Takes the line of progress away: what it followed is over.
    pub fn clear_progress(&self) {
        *self.output.line() = None;
    }

    /// Prints on standard output: at once to a terminal, with the line of progress taken aside, else within a moment.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn print(&self, text: impl AsRef<[u8]>) -> Result<(), Exit> {
        self.output.print(text.as_ref())
    }

    /// As [`print`](Self::print), of text that may act on a terminal.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn print_raw(&self, text: impl AsRef<[u8]>) -> Result<(), Exit> {
        self.output.print_raw(text.as_ref())
    }

    /// Writes what [`print`](Self::print) holds back. Nobody else does: a run that is interrupted has printed a part.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn flush(&self) -> Result<(), Exit> {
        self.output.flush()
    }

    /// Writes to the terminal, with the line of progress taken aside.
    pub fn without_progress_line<T>(&self, write: impl FnOnce() -> T) -> T {
        self.output.without_progress_line(write)
    }

    /// Says something on standard error, after what was printed before it.
    pub fn eprint(&self, text: &str) {
        self.output.eprint(text);
    }

    /// What moves bytes otherwise than an executor does is told here what was asked for.
    pub fn spec(&self) -> &StrategySpec {
        &self.spec
    }

    /// The words of `--strategy`, if it was given.
    pub fn spec_text(&self) -> Option<&str> {
        (self.common.strategy != "auto").then_some(self.common.strategy.as_str())
    }

    /// What was measured on this machine.
    pub fn profile(&self) -> Option<&Profile> {
        self.profile.as_ref()
    }

    /// What others see of the run.
    pub fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }

    /// When progress is to be shown.
    pub fn when(&self) -> When {
        self.common.progress
    }

    /// Says how `path` is read, if that is asked for, and keeps it for the account.
    pub fn print_plan(&self, path: &Path, plan: &Plan) {
        if !self.common.explain {
            return;
        }
        let mut text = format!("{}:\n", Shown(path));
        for line in plan.to_string().lines() {
            let _ = writeln!(text, "  {line}");
        }
        self.without_progress_line(|| Exit::eprint(&text));
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        plans.push(json!({
            "path": path.to_string_lossy(),
            "strategy": plan.strategy.to_string(),
            "evidence": plan.decision.evidence,
            "notes": plan.notes,
            "alternatives": plan.decision.alternatives,
        }));
    }

    /// Says in a line what `--explain` asks for where there is no plan.
    pub fn remark(&self, text: &str) {
        if self.common.explain {
            Exit::eprint(&format!("{text}\n"));
        }
    }

    /// Prints an account of the run in a line, where times or explanations are asked for.
    pub fn summarize(&self, text: &str) {
        if self.common.explain || self.common.time {
            Exit::eprint(&format!("{text}\n"));
        }
    }

    /// Ends the run: prints its times, if asked for, and returns what `--json` says of it.
    pub fn end(&self, bytes: u64) -> serde_json::Value {
        let real = self.start.elapsed().as_secs_f64();
        let usage = ProcessUsage::now().unwrap_or_default().since(&self.before);
        let rate = bytes as f64 / real;
        if self.common.time {
            Exit::eprint(&format!(
                "real {real:9.3} s\nuser {:9.3} s\nsys  {:9.3} s\n{} in all, {}\n",
                usage.user,
                usage.system,
                size::human(bytes),
                size::rate(rate)
            ));
        }
        let mut account = json!({
            "bytes": bytes,
            "real_seconds": real,
            "user_seconds": usage.user,
            "system_seconds": usage.system,
            "peak_memory_bytes": fullbore::probe::peak_memory(),
            "bytes_per_second": rate,
        });
        let plans = std::mem::take(&mut *self.plans.lock().unwrap_or_else(PoisonError::into_inner));
        if !plans.is_empty() {
            account["plans"] = plans.into();
        }
        account
    }
}

/// The help of `--strategy`.
pub fn strategies() -> String {
    let names: Vec<_> = NAMED.iter().map(|named| named.name).collect();
    format!(
        "How the bytes move: auto, a name ({}), fields, or a name and fields, joined by commas: method=mmap (or read= \
         and write=), request=256K, depth=8, workers=2, model=serial|striped|pool, stripe=4M, window=16M|whole, \
         alloc=extend|size|preallocate, cache=keep|drop|direct (or read-cache= and write-cache=), \
         completion=any|ordered, budget=64M",
        names.join(", ")
    )
}

/// The profile, if there is one that can be read. A broken one is said and done without: the command does its
/// job all the same.
pub fn load_profile() -> Option<Profile> {
    match Profile::load(&Profile::path()?) {
        Ok(profile) => Some(profile),
        Err(error) => {
            Exit::eprint(&format!("{}: {error}; going on without it\n", program("")));
            None
        }
    }
}
