//! `fullbore bench`: measure the storage, report it, and save what the other commands use.

mod export;
mod list;
mod live;
mod results;
mod run;

use clap::{Args, Subcommand};

use crate::exit::Exit;

/// Measure what an application gets from this storage, and save the best strategies
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Alone it makes the quick run of some 90 seconds. A run that is stopped leaves what it measured in its results \
                  folder: `fullbore bench run --resume FOLDER` goes on with it."
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
