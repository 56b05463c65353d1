//! The command line as a whole: one variant a subcommand.

use clap::{Parser, Subcommand};

use crate::command;
use crate::exit::Exit;

/// Find how fast this machine can move a file's bytes, then move them that fast.
#[derive(Debug, Parser)]
#[command(
    name = "fullbore",
    version,
    max_term_width = 100,
    after_help = "Exit status: 0 done, 1 \"no\" (differs, not found), 2 trouble, 3 an input changed while it was read, \
                  130 interrupted (143 by SIGTERM), 141 the reader of the output went away."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Bench(command::bench::Bench),
    Transform(command::transform::Transform),
    Sum(command::sum::Sum),
    Dedupe(command::dedupe::Dedupe),
    Cmp(command::cmp::Cmp),
    #[command(visible_alias = "cp")]
    Copy(command::copy::Copy),
    Gen(command::generate::Generate),
    Grep(Box<command::grep::Grep>),
    Probe(command::probe::Probe),
    Profile(command::profile::Profile),
    Completions(command::completions::Completions),
    Wc(command::wc::Wc),
    Man(command::man::Man),
}

impl Cli {
    pub(crate) fn run(self) -> Result<(), Exit> {
        match self.command {
            Command::Bench(command) => command.run(),
            Command::Transform(command) => command.run(),
            Command::Sum(command) => command.run(),
            Command::Dedupe(command) => command.run(),
            Command::Cmp(command) => command.run(),
            Command::Copy(command) => command.run(),
            Command::Gen(command) => command.run(),
            Command::Grep(command) => command.run(),
            Command::Probe(command) => command.run(),
            Command::Profile(command) => command.run(),
            Command::Completions(command) => command.run(),
            Command::Wc(command) => command.run(),
            Command::Man(command) => command.run(),
        }
    }
}
