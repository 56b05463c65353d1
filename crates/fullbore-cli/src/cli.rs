//! The command line as a whole: one variant a subcommand.

use std::env::args_os;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

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
    Report(command::report::Report),
    Wc(command::wc::Wc),
    Grep(Box<command::grep::Grep>),
    Cmp(command::cmp::Cmp),
    #[command(visible_alias = "cp")]
    Copy(command::copy::Copy),
    Sum(command::sum::Sum),
    Dedupe(command::dedupe::Dedupe),
    Transform(command::transform::Transform),
    Gen(command::generate::Generate),
    Probe(command::probe::Probe),
    Profile(command::profile::Profile),
    Completions(command::completions::Completions),
    Man(command::man::Man),
}

impl Command {
    /// The command, if it is one of the tools and nothing is wrong with its flags. Those of the other commands need not be
    /// made then, which takes a tenth of a millisecond: as long as a tool takes for a small file.
    fn of_a_tool() -> Option<Self> {
        fn only<T: Args>(tool: fn(T) -> Command) -> Option<Command> {
            let command = T::augment_args(clap::Command::new("fullbore"));
            let matches = command.try_get_matches_from(args_os().skip(1)).ok()?;
            T::from_arg_matches(&matches).ok().map(tool)
        }
        match args_os().nth(1)?.to_str()? {
            "wc" => only(Self::Wc),
            "grep" => only(Self::Grep),
            "cmp" => only(Self::Cmp),
            "copy" | "cp" => only(Self::Copy),
            "sum" => only(Self::Sum),
            "dedupe" => only(Self::Dedupe),
            "transform" => only(Self::Transform),
            _ => None,
        }
    }
}

impl Cli {
    /// Reads the command line of this process; what is wrong with it is said, with the exit code that the peer of the
    /// command has for that.
    pub(crate) fn read() -> Result<Self, ExitCode> {
        if let Some(command) = Command::of_a_tool() {
            return Ok(Self { command });
        }
        Self::try_parse().map_err(|error| {
            // If even that cannot be said, the exit code still does.
            let _ = error.print();
            let peer_exits_with_1 = |command| ["wc", "copy", "cp"].iter().any(|name| command == *name);
            match error.exit_code() {
                2 if args_os().nth(1).is_some_and(peer_exits_with_1) => ExitCode::from(1),
                code => ExitCode::from(code as u8),
            }
        })
    }

    pub(crate) fn run(self) -> Result<(), Exit> {
        match self.command {
            Command::Bench(command) => command.run(),
            Command::Report(command) => command.run(),
            Command::Wc(command) => command.run(),
            Command::Grep(command) => command.run(),
            Command::Cmp(command) => command.run(),
            Command::Copy(command) => command.run(),
            Command::Sum(command) => command.run(),
            Command::Dedupe(command) => command.run(),
            Command::Transform(command) => command.run(),
            Command::Gen(command) => command.run(),
            Command::Probe(command) => command.run(),
            Command::Profile(command) => command.run(),
            Command::Completions(command) => command.run(),
            Command::Man(command) => command.run(),
        }
    }
}
