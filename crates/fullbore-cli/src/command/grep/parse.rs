//! Parses the flags by clap, and applies them in command-line order: of flags that exclude each other the last counts, as
//! with `rg`. The flags of the configuration file, one per line, precede those of the command line.

use std::ffi::{OsStr, OsString};
use std::{env, fs};

use clap::builder::OsStringValueParser;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use fullbore::sys::OsStrExt;

use super::args::{Flag, FlagEffect, GrepArgs};
use super::flags::FLAGS;
use crate::exit::{Exit, program};

fn argument(flag: &Flag) -> Arg {
    let argument = Arg::new(flag.long).long(flag.long).help(flag.help).action(ArgAction::Append);
    let argument = argument.short(flag.short).alias(flag.alias);
    match flag.set {
        FlagEffect::Switch(_) => argument.num_args(0).default_missing_value(""),
        FlagEffect::Value(name, _) => {
            let argument = argument.num_args(1).value_name(name).allow_hyphen_values(true);
            argument.value_parser(OsStringValueParser::new())
        }
    }
}

fn negation(name: &'static str, flag: &Flag) -> Arg {
    let argument = Arg::new(name).long(name).help(format!("Negate --{}", flag.long));
    argument.action(ArgAction::Append).num_args(0).default_missing_value("").hide(true)
}

impl Args for GrepArgs {
    fn augment_args(command: Command) -> Command {
        command.args(FLAGS.iter().flat_map(|flag| {
            std::iter::once(argument(flag)).chain(flag.negated.map(|name| negation(name, flag)))
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for GrepArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |name: &&str| matches.value_source(name) == Some(ValueSource::CommandLine);
        let mut found: Vec<(usize, &Flag, bool, Option<OsString>)> = Vec::new();
        for flag in FLAGS {
            for (name, yes) in [(Some(flag.long), true), (flag.negated, false)] {
                let Some(name) = name.filter(given) else { continue };
                let indices = matches.indices_of(name).into_iter().flatten();
                if yes && matches!(flag.set, FlagEffect::Value(..)) {
                    let values = matches.get_many::<OsString>(name).into_iter().flatten();
                    found.extend(indices.zip(values).map(|(at, value)| (at, flag, yes, Some(value.clone()))));
                } else {
                    found.extend(indices.map(|at| (at, flag, yes, None)));
                }
            }
        }
        found.sort_by_key(|(at, ..)| *at);
        let mut args = Self::default();
        for (_, flag, yes, value) in found {
            let result = match flag.set {
                FlagEffect::Switch(set) => {
                    set(&mut args, yes);
                    Ok(())
                }
                FlagEffect::Value(_, set) => set(&mut args, value.as_deref()),
            };
            if let Err(error) = result {
                args.wrong = Some(format!("error parsing flag --{}: {error}", flag.long));
                break;
            }
        }
        Ok(args)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The variable that names the file. When called as `rg`, the program also obeys ripgrep's variable.
const VARIABLE: &str = "FULLBORE_GREP_CONFIG_PATH";
const VARIABLE_OF_RG: &str = "RIPGREP_CONFIG_PATH";

/// The words of the configuration file.
#[derive(Debug)]
pub(crate) struct Config {
    words: Vec<OsString>,
    path: OsString,
    variable: &'static str,
}

impl Config {
    /// Reads the file; `None` without one.
    pub(super) fn read() -> Option<Self> {
        let as_rg = program("") == "rg";
        let variable = if as_rg && env::var_os(VARIABLE).is_none() { VARIABLE_OF_RG } else { VARIABLE };
        let path = env::var_os(variable).filter(|path| !path.is_empty())?;
        match fs::read(&path) {
            Ok(text) => Some(Self { words: lines(&text).collect(), path, variable }),
            Err(error) => {
                let path = path.to_string_lossy();
                let text = format!("failed to read the file specified in {variable}: {path}: {error}");
                Exit::eprint(&format!("{}: {text}\n", program("")));
                None
            }
        }
    }

    /// Returns the command line with the words of the file after the command, its first word.
    pub(crate) fn insert(&self, command_line: Vec<OsString>) -> Vec<OsString> {
        let mut rest = command_line.into_iter();
        let first = rest.next();
        first.into_iter().chain(self.words.iter().cloned()).chain(rest).collect()
    }

    /// Names the file before the message about a wrong flag in it.
    pub(crate) fn print_origin(&self) {
        let (name, path, variable) = (program(""), self.path.to_string_lossy(), self.variable);
        Exit::eprint(&format!("{name}: {path}: wrong flag in the file specified in {variable}\n"));
    }
}

fn lines(text: &[u8]) -> impl Iterator<Item = OsString> {
    let lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    lines
        .filter(|line| !line.is_empty() && !line.starts_with(b"#"))
        .map(|line| OsStr::from_bytes(line).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_a_word() {
        let text = b"# colours\n--colors=match:fg:red\n\n  -g\r\n!*.min js\n  # not this\n--\xff";
        let words: Vec<OsString> = lines(text).collect();
        let expected: [&[u8]; 4] = [b"--colors=match:fg:red", b"-g", b"!*.min js", b"--\xff"];
        assert_eq!(words, expected.map(|word| OsStr::from_bytes(word).to_owned()));
    }
}
