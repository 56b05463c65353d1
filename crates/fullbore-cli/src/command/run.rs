//! Common parts of the commands with one output: flags and the summary of a run.

use std::io::IsTerminal;

use clap::Args;
use fullbore::file::{Durability, Output};
use fullbore::pattern::Stats;
use fullbore::quote::Shown;
use fullbore::{Job, Result};
use fullbore_cli::common_args::{CommonArgs, plan_fields, trials};
use fullbore_cli::exit::Exit;
use fullbore_cli::values::durability;

/// The flags of a command with one output.
#[derive(Debug, Args)]
pub(crate) struct TransferArgs {
    /// Durability of the output when the command ends: none (the system writes it back later), data (fdatasync), full
    /// (fsync of the file and its directory)
    #[arg(long, value_name = "LEVEL", default_value = "none", value_parser = durability())]
    sync: Durability,

    /// Print a summary of the run as JSON (to standard error if the output is standard output)
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    common: CommonArgs,
}

impl TransferArgs {
    /// Fills `output` by `work`, headed `what` in the progress line, and prints the summary of the run: to standard error if
    /// the output is standard output.
    pub(crate) fn run(
        &self,
        what: &str,
        (output, to_stdout): (Output, bool),
        work: impl FnOnce(&Job, Output) -> Result<Stats>,
    ) -> std::result::Result<(), Exit> {
        let run = self.common.begin()?;
        // Output and progress line would overwrite each other.
        let (job, plan) = run.job_with_one_plan(what, to_stdout && std::io::stdout().is_terminal());
        let overwritten = output.overwrites().then(|| (output.file().clone(), output.file().stamp()));
        let stats = work(&job.durability(self.sync), output);
        run.clear_progress();
        if let (Err(_), Some((file, Ok(before)))) = (&stats, overwritten)
            && (file.check_unchanged(&before).is_err() || run.progress.bytes_done() > 0)
        {
            let path = Shown(file.path());
            Exit::eprint(&format!("fullbore: {path}: the run failed: the file may be part old, part new\n"));
        }
        let stats = stats?;
        if let Some(plan) = plan.get() {
            run.remark(trials(plan).trim_end());
        }
        let summary = run.end(stats.bytes);
        if let (true, Some(plan)) = (self.json, plan.get()) {
            let mut summary = summary.json();
            plan_fields(plan).into_iter().for_each(|(name, value)| summary[name] = value);
            summary["spec"] = plan.spec_text.clone().into();
            summary["read_requests"] = stats.reads.requests.into();
            summary["write_requests"] = stats.writes.requests.into();
            summary["read_depth"] = stats.reads.depth().into();
            summary["write_depth"] = stats.writes.depth().into();
            let summary = format!("{summary}\n");
            if to_stdout { Exit::eprint(&summary) } else { Exit::print(&summary)? }
        }
        Ok(())
    }
}
