//! How the tools read: the flags they have in common, the crew made from them, and the account of a run.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use clap::{Args, ValueEnum};
use fullbore::engine::Cache;
use fullbore::pattern::{Crew, Monitor};
use fullbore::probe::ProcessUsage;
use fullbore::size;
use fullbore::strategy::{Plan, Profile, Wish};
use serde_json::json;

use super::run::{load_profile, strategies};
use crate::exit::Exit;
use crate::progress::{Progress, When};

/// The flags of every tool that reads files.
#[derive(Debug, Args)]
#[command(next_help_heading = "How the bytes move")]
pub(crate) struct Ways {
    #[arg(long, value_name = "STRATEGY", default_value = "auto", help = strategies())]
    strategy: String,

    /// What becomes of the page cache: keep what is read in it, drop it, or pass it by [default: keep]
    #[arg(long, value_enum, value_name = "POLICY")]
    cache: Option<CachePolicy>,

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
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto")]
    progress: When,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum CachePolicy {
    Keep,
    Drop,
    Direct,
}

fn memory(text: &str) -> Result<u64, String> {
    let bytes = size::parse(text).map_err(|error| error.to_string())?;
    if bytes < 1 << 20 { Err("it can be no less than 1M".into()) } else { Ok(bytes) }
}

/// A run of a tool: what it was told of how bytes move, and what others see of it.
pub(crate) struct Running<'w> {
    ways: &'w Ways,
    wish: Wish,
    profile: Option<Profile>,
    monitor: Arc<Monitor>,
    start: Instant,
    before: ProcessUsage,
    plans: Mutex<Vec<serde_json::Value>>,
}

impl Ways {
    /// Begins a run.
    pub(crate) fn begin(&self) -> Result<Running<'_>, Exit> {
        let mut wish: Wish =
            self.strategy.parse().map_err(|error| Exit::trouble(format!("--strategy: {error}")))?;
        if let Some(policy) = self.cache {
            let policy = match policy {
                CachePolicy::Keep => Cache::Keep,
                CachePolicy::Drop => Cache::Drop,
                CachePolicy::Direct => Cache::Direct,
            };
            (wish.read_cache, wish.write_cache) = (Some(policy), Some(policy));
        }
        wish.workers = self.workers.map(|workers| workers as usize).or(wish.workers);
        wish.budget = self.memory.or(wish.budget);
        Ok(Running {
            ways: self,
            wish,
            profile: load_profile(),
            monitor: Arc::new(Monitor::default()),
            start: Instant::now(),
            before: ProcessUsage::now().unwrap_or_default(),
            plans: Mutex::default(),
        })
    }
}

impl Running<'_> {
    /// Runs `job` with the crew that was asked for. A line of progress, headed `what`, follows it to `len` bytes, if
    /// that is known; `quiet`: what the job prints goes to the terminal, where a line would be in its way.
    pub(crate) fn with_crew<T>(
        &self,
        what: &str,
        len: Option<u64>,
        quiet: bool,
        job: impl FnOnce(&Crew<'_>) -> T,
    ) -> T {
        let progress = match self.ways.progress {
            When::Auto if quiet => When::Never,
            when => when,
        };
        let _line = Progress::follow(progress, what, len, &self.monitor);
        let explain = |path: &Path, plan: &Plan| self.explain(path, plan);
        let crew = Crew::new(&self.wish, &self.monitor).with_profile(self.profile.as_ref());
        match self.ways.explain {
            true => job(&crew.explained(&explain, self.asked())),
            false => job(&crew),
        }
    }

    /// What moves bytes otherwise than a crew does is told here what was asked for.
    pub(crate) fn wish(&self) -> &Wish {
        &self.wish
    }

    /// The words of `--strategy`, if it was given.
    pub(crate) fn asked(&self) -> Option<&str> {
        (self.ways.strategy != "auto").then_some(self.ways.strategy.as_str())
    }

    /// What was measured on this machine.
    pub(crate) fn profile(&self) -> Option<&Profile> {
        self.profile.as_ref()
    }

    /// What others see of the run.
    pub(crate) fn monitor(&self) -> &Arc<Monitor> {
        &self.monitor
    }

    /// When progress is to be shown.
    pub(crate) fn progress(&self) -> When {
        self.ways.progress
    }

    /// Says how `path` is read, if that is asked for, and keeps it for the account.
    pub(crate) fn explain(&self, path: &Path, plan: &Plan) {
        if !self.ways.explain {
            return;
        }
        let mut text = format!("{}:\n", path.display());
        for line in plan.to_string().lines() {
            let _ = writeln!(text, "  {line}");
        }
        Exit::say(&text);
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
    pub(crate) fn remark(&self, text: &str) {
        if self.ways.explain {
            Exit::say(&format!("{text}\n"));
        }
    }

    /// Ends the run: prints its times, if asked for, and returns what `--json` says of it.
    pub(crate) fn end(&self, bytes: u64) -> serde_json::Value {
        let real = self.start.elapsed().as_secs_f64();
        let usage = ProcessUsage::now().unwrap_or_default().since(&self.before);
        let rate = bytes as f64 / real;
        if self.ways.time {
            Exit::say(&format!(
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
