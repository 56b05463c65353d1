//! Parses the flags by clap, and applies them in command-line order: of flags that exclude each other the last counts, as
//! with `rg`.

use std::ffi::OsString;

use clap::builder::OsStringValueParser;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use super::args::{Flag, FlagEffect, GrepArgs};
use super::flags::FLAGS;

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
