//! The whole command line: one variant per subcommand.

mod flags;
mod messages;
mod peers;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use self::peers::Invocation;
use crate::command;
use crate::exit::{self, Exit};

/// Run familiar file operations on the I/O path that `bench` found fastest, with the output of the standard tools
#[derive(Debug, Parser)]
#[command(
    name = "fullbore",
    version,
    max_term_width = 100,
    after_help = "Exit status: 0 done; 1 negative result (differs, not found), or an error of wc, copy, sum or dedupe; 2 error; \
                  3 an input changed while it was read (dedupe: 1); 129, 130, 143 ended by SIGHUP, SIGINT, SIGTERM; \
                  141 the output pipe was closed."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Bench(command::bench::Bench),
    Report(command::report::Report),
    Predict(command::predict::Predict),
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
    Completions(command::documents::Completions),
    Man(command::documents::Man),
}

impl Command {
    /// Parses the command if it is one of the tools and its flags are valid. The flags of the other commands need not
    /// be built then; building them takes 0.1 ms, as long as a tool takes for a small file.
    fn of_a_tool(words: &mut Vec<OsString>) -> Option<Self> {
        match words.first()?.to_str()? {
            "wc" => Self::with_files(Self::Wc, |wc| &mut wc.files, words),
            "grep" => Self::with_files(Self::Grep, |grep| &mut grep.arguments, words),
            "cmp" => Self::only(Self::Cmp, words),
            "copy" | "cp" => Self::with_files(Self::Copy, command::copy::Copy::paths, words),
            "sum" => Self::with_files(Self::Sum, |sum| &mut sum.files, words),
            "dedupe" => Self::only(Self::Dedupe, words),
            "transform" => Self::only(Self::Transform, words),
            _ => None,
        }
    }

    fn only<T: Args>(tool: fn(T) -> Self, words: &[OsString]) -> Option<Self> {
        Self::parse(words).map(tool)
    }

    fn parse<T: Args>(words: &[OsString]) -> Option<T> {
        let command = flags::of_a_tool(T::augment_args(clap::Command::new("fullbore")), &words[0]);
        let mut matches = command.try_get_matches_from(words).ok()?;
        T::from_arg_matches_mut(&mut matches).ok()
    }

    /// Parses a tool whose operands are files. A long list of them is moved from `words`: clap takes 0.4 µs for each.
    fn with_files<T: Args, P: From<OsString>>(
        tool: fn(T) -> Self,
        files: fn(&mut T) -> &mut Vec<P>,
        words: &mut Vec<OsString>,
    ) -> Option<Self> {
        let rest = words.split_off(flags::operands_from(words));
        let Some(mut parsed) = Self::parse(words) else {
            words.extend(rest);
            return None;
        };
        files(&mut parsed).extend(rest.into_iter().map(P::from));
        Some(tool(parsed))
    }
}

impl Cli {
    /// Returns the flags of all commands as they are parsed.
    pub(crate) fn flags() -> clap::Command {
        flags::of_all(Self::command())
    }

    /// Parses the command line of this process. Errors in it are printed and end the process with the peer's exit code.
    pub(crate) fn read() -> Result<Self, ExitCode> {
        let mut called = Invocation::now();
        if ["wc", "copy", "cp", "sum"].contains(&called.command()) {
            exit::set_failure_code(1);
        }
        let mut command = Command::of_a_tool(&mut called.words);
        if let Some(Command::Grep(grep)) = &command
            && let Some(config) = grep.config()
        {
            // The operands were moved.
            called.words = config.insert(Invocation::now().words);
            command = Command::of_a_tool(&mut called.words);
            // The flags of the command line were right.
            if !matches!(&command, Some(Command::Grep(grep)) if !grep.is_wrong()) {
                config.print_origin();
            }
        }
        if let Some(command) = command {
            return Ok(Self { command });
        }
        let words = std::iter::once("fullbore".into()).chain(called.words.iter().cloned());
        let mut flags = Self::flags();
        let parsed = flags.try_get_matches_from_mut(words);
        let parsed = parsed
            .and_then(|matches| Self::from_arg_matches(&matches).map_err(|error| error.format(&mut flags)));
        parsed.map_err(|error| messages::print(&error, &called, &flags))
    }

    pub(crate) fn run(self) -> Result<(), Exit> {
        match self.command {
            Command::Bench(command) => command.run(),
            Command::Report(command) => command.run(),
            Command::Predict(command) => command.run(),
            Command::Wc(command) => command.run(),
            Command::Grep(command) => command.run(Self::flags),
            Command::Cmp(command) => command.run(),
            Command::Copy(command) => command.run(),
            Command::Sum(command) => command.run(),
            Command::Dedupe(command) => command.run(),
            Command::Transform(command) => command.run(),
            Command::Gen(command) => command.run(),
            Command::Probe(command) => command.run(),
            Command::Profile(command) => command.run(),
            Command::Completions(command) => command.run(Self::flags()),
            Command::Man(command) => command.run(Self::flags()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moved_operands_are_those_that_clap_finds() {
        for line in [
            "wc",
            "wc a b c d e",
            "wc a b c -l d e f g",
            "wc -- a -l b c d",
            "wc --total never a b c d",
            "wc --files0-from list a b c",
            "wc - - a b  c",
            "sum -a md5 a b c d",
            "sum a b c d -a",
            "sum -a a b c d",
            "sum --check a b c --strict d e f",
            "copy a b c d -t e f g h",
            "copy --preserve=links a b c d",
            "copy -S -x a b c d",
            "copy --nosuch a b c d",
            "grep -e a b c d e f",
            "grep -A 3 a b c d",
            "grep a b c -- -d e f g",
        ] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let by_clap = match words[0].to_str().unwrap() {
                "wc" => Command::only(Command::Wc, &words),
                "sum" => Command::only(Command::Sum, &words),
                "copy" => Command::only(Command::Copy, &words),
                _ => Command::only(Command::Grep, &words),
            };
            let mut left = words.clone();
            let found = Command::of_a_tool(&mut left);
            assert_eq!(format!("{found:?}"), format!("{by_clap:?}"), "{line}");
            assert!(found.is_some() || left == words, "{line}");
        }
    }
}
