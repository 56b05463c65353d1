//! `fullbore bench`: measures the storage, reports it, and saves the profile for the other commands.

mod export;
mod list;
mod live;
mod results;
mod run;

use clap::{Args, Subcommand};

pub(crate) use self::export::latest;
use crate::exit::Exit;

/// Measure the storage speed available to an application, and save the fastest strategies
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Without a subcommand: the quick run, at most 90 seconds. An interrupted run keeps its measurements \
                  in its results folder: `fullbore bench run --resume FOLDER` continues it.\n\n\
                  Exit status: 0 done, 2 error."
)]
pub(crate) struct Bench {
    #[command(subcommand)]
    what: Option<BenchCommand>,

    #[command(flatten)]
    quick: run::MeasureArgs,
}

#[derive(Debug, Subcommand)]
enum BenchCommand {
    List(list::List),
    Show(list::Show),
    Run(run::Run),
    Export(export::Export),
}

impl Bench {
    pub(crate) fn run(self) -> Result<(), Exit> {
        match self.what {
            None => self.quick.quick(),
            Some(BenchCommand::List(list)) => list.run(),
            Some(BenchCommand::Show(show)) => show.run(),
            Some(BenchCommand::Run(run)) => run.run(),
            Some(BenchCommand::Export(export)) => export.run(),
        }
    }
}
