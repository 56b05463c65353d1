//! Common parts of the commands that move bytes: flags, summary of a run, profile.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use fullbore::file::{Durability, File, Output};
use fullbore::pattern::{Progress, Stats};
use fullbore::probe::ProcessUsage;
use fullbore::strategy::{Plan, Planner, Purpose, StrategySpec};
use fullbore::{Result, size};
use serde_json::json;

use fullbore_cli::common_args::{load_profile, strategies};
use fullbore_cli::exit::Exit;
use fullbore_cli::progress::{ProgressLine, When};
use fullbore_cli::values::{names, words};

/// The common flags.
#[derive(Debug, Args)]
pub(crate) struct TransferArgs {
    #[arg(long, value_name = "STRATEGY", default_value = "auto", help = strategies())]
    pub(crate) strategy: String,

    /// Durability of the output when the command ends: none (the system writes it back later), data (fdatasync), full
    /// (fsync of the file and its directory)
    #[arg(long, value_name = "LEVEL", default_value = "none", value_parser = words(&["none", "data", "full"]))]
    sync: String,

    /// Print the strategy that runs, the reasons and the rejected alternatives to standard error
    #[arg(long)]
    explain: bool,

    /// Print a summary of the run as JSON (to standard error if the output is standard output)
    #[arg(long)]
    json: bool,

    /// Print real, user and system time and the throughput to standard error
    #[arg(long)]
    time: bool,

    /// When to show progress
    #[arg(long, value_parser = names::<When>(), value_name = "WHEN", default_value = "auto")]
    progress: When,
}

/// The input and output of a run.
pub(crate) struct Endpoints<'a> {
    /// The input, if there is one.
    pub(crate) input: Option<&'a File>,
    /// The length in bytes, if known.
    pub(crate) len: Option<u64>,
    /// The output.
    pub(crate) output: Output,
}

impl TransferArgs {
    /// Plans and runs `job`, and returns the summary of the run.
    pub(crate) fn run(
        &self,
        what: &str,
        endpoints: Endpoints<'_>,
        job: impl FnOnce(Output, &Plan, Durability, &Progress) -> Result<Stats>,
    ) -> std::result::Result<(), Exit> {
        let spec: StrategySpec =
            self.strategy.parse().map_err(|error| Exit::failure(format!("--strategy: {error}")))?;
        let durability: Durability = self.sync.parse().map_err(Exit::Failure)?;
        let profile = load_profile();
        let spec_text = (self.strategy != "auto").then_some(self.strategy.as_str());
        let (start, before) = (Instant::now(), ProcessUsage::now().unwrap_or_default());
        let purpose = if endpoints.input.is_some() { Purpose::Transform } else { Purpose::Generate };
        let planner = Planner::new(&spec).with_text(spec_text).with_profile(profile.as_ref());
        let plan = planner.plan(purpose, endpoints.input, endpoints.len, Some(&endpoints.output))?;
        if self.explain {
            Exit::eprint(&plan.to_string());
        }
        let to_stdout =
            !endpoints.output.seekable() && endpoints.output.file().path() == Path::new("standard output");
        let progress = Arc::new(Progress::default());
        let when = match (self.progress, to_stdout && std::io::stdout().is_terminal()) {
            // Output and progress line would overwrite each other.
            (When::Auto, true) => When::Never,
            (when, _) => when,
        };
        let line = ProgressLine::follow(when, what, endpoints.len, &progress);
        let stats = job(endpoints.output, &plan, durability, &progress);
        drop(line);
        let stats = stats?;
        let real = start.elapsed().as_secs_f64();
        let usage = ProcessUsage::now().unwrap_or_default().since(&before);
        if self.time {
            Exit::eprint(&format!(
                "real {real:9.3} s\nuser {:9.3} s\nsys  {:9.3} s\n{} in all, {}\n",
                usage.user,
                usage.system,
                size::human(stats.bytes),
                size::rate(stats.bytes as f64 / real)
            ));
        }
        if self.json {
            let account = format!("{}\n", account(&plan, &stats, real, &usage));
            if to_stdout { Exit::eprint(&account) } else { Exit::print(&account)? }
        }
        Ok(())
    }
}

fn account(plan: &Plan, stats: &Stats, real: f64, usage: &ProcessUsage) -> serde_json::Value {
    json!({
        "bytes": stats.bytes,
        "real_seconds": real,
        "user_seconds": usage.user,
        "system_seconds": usage.system,
        "peak_memory_bytes": fullbore::probe::peak_memory(),
        "bytes_per_second": stats.bytes as f64 / real,
        "strategy": plan.strategy.to_string(),
        "asked": plan.spec_text,
        "evidence": plan.decision.evidence,
        "notes": plan.notes,
        "alternatives": plan.decision.alternatives,
        "read_requests": stats.reads.requests,
        "write_requests": stats.writes.requests,
        "read_depth": stats.reads.depth(),
        "write_depth": stats.writes.depth(),
    })
}
