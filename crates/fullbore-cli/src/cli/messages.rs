//! Help, versions and command-line errors: in the wording of GNU's `getopt_long` and `argmatch` under a tool's own
//! name.

use std::borrow::Cow;
use std::error::Error;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};
use fullbore::quote::printable;
use fullbore_cli::values::is_ambiguous;

use super::flags;
use super::peers::Invocation;
use crate::command::report::may_colour;
use crate::exit::{self, Exit};

/// Prints the result of `parsed` that is not a command, and returns the exit code.
pub(super) fn print(error: &clap::Error, called: &Invocation, parsed: &Command) -> ExitCode {
    let is_help = matches!(error.kind(), ErrorKind::DisplayHelp);
    if is_help || error.kind() == ErrorKind::DisplayVersion {
        let text =
            if is_help { shown(error, may_colour(&std::io::stdout())) } else { version(error, called) };
        return fullbore_cli::main(|| Exit::print_raw(&own_name(&text, called)));
    }
    let text = match called.peer {
        Some(peer) if peer != "rg" => gnu(error, called, parsed).map(|text| {
            let hint = match (error.kind(), peer) {
                (ErrorKind::ValueValidation, _) => String::new(),
                (_, "cmp") => "cmp: Try 'cmp --help' for more information.\n".to_owned(),
                _ => format!("Try '{peer} --help' for more information.\n"),
            };
            format!("{peer}: {text}\n{hint}")
        }),
        _ => None,
    };
    match text {
        Some(text) => Exit::eprint(&text),
        // Colours are clap's, unless an argument contains escape sequences.
        None => {
            let plain = own_name(&shown(error, false), called);
            // clap removes the escape sequences of arguments from the plain text alone.
            let is_printable =
                |word: &OsString| matches!(printable(&word.to_string_lossy()), Cow::Borrowed(_));
            let safe = called.words.iter().all(is_printable);
            match safe && may_colour(&std::io::stderr()) {
                true => drop(std::io::stderr().write_all(own_name(&shown(error, true), called).as_bytes())),
                false => Exit::eprint(&plain),
            }
        }
    }
    ExitCode::from(exit::failure_code())
}

fn shown(error: &clap::Error, colour: bool) -> String {
    if colour { error.render().ansi().to_string() } else { error.render().to_string() }
}

/// "fullbore 0.1.0", or "wc (fullbore) 0.1.0".
fn version(error: &clap::Error, called: &Invocation) -> String {
    let text = error.render().to_string();
    let (name, version) = text.trim_end().rsplit_once(' ').unwrap_or_default();
    match (called.peer, name.strip_prefix("fullbore-")) {
        (Some(peer), _) => format!("{peer} (fullbore) {version}\n"),
        (None, Some(command)) => format!("{} (fullbore) {version}\n", command.replace('-', " ")),
        (None, None) => text,
    }
}

/// Replaces the program name in a text by the name under which the binary was called.
fn own_name(text: &str, called: &Invocation) -> String {
    match called.peer {
        Some(peer) => text.replace(&format!("fullbore {}", called.command()), peer),
        None => text.to_owned(),
    }
}

/// Returns an error in GNU's wording where GNU has such an error.
fn gnu(error: &clap::Error, called: &Invocation, parsed: &Command) -> Option<String> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    if error.kind() == ErrorKind::ArgumentConflict && called.command() == "sum" {
        let name = |kind| text(kind).and_then(|flag| flag.split([' ', '=']).next());
        let what = match [name(ContextKind::InvalidArg)?, name(ContextKind::PriorArg)?] {
            ["--check", other] | [other, "--check"] => match other {
                "--binary" | "--text" => "the --binary and --text options are meaningless",
                "--tag" => "the --tag option is meaningless",
                "--zero" => "the --zero option is not supported",
                _ => return None,
            },
            _ => return None,
        };
        return Some(format!("{what} when verifying checksums"));
    }
    let flag = text(ContextKind::InvalidArg)?;
    // Takes the name from "--total <WHEN>" and "--total[=<WHEN>]".
    let name = match flag.starts_with("--") {
        true => flag.split([' ', '=', '[']).next().unwrap_or(flag),
        false => flag,
    };
    let command = parsed.find_subcommand(called.command())?;
    let arg = command.get_arguments().find(|arg| arg.get_long() == name.strip_prefix("--"));
    let words: Vec<_> = called.words.iter().filter_map(|word| word.to_str()).collect();
    // A flag, perhaps abbreviated, with a value after `=`.
    let with_value =
        || words.iter().filter_map(|word| word.split_once('=').filter(|(flag, _)| flag.len() > 2));
    let value = text(ContextKind::InvalidValue);
    let is_empty = || with_value().any(|(flag, value)| value.is_empty() && name.starts_with(flag));
    match (error.kind(), value) {
        (ErrorKind::UnknownArgument, _) if name.starts_with("--") => {
            let whole = words.iter().find(|word| word.split('=').next() == Some(name)).unwrap_or(&flag);
            Some(match &flags::possibilities(command, name)[..] {
                [] | [_] => format!("unrecognized option '{whole}'"),
                several => {
                    format!("option '{whole}' is ambiguous; possibilities: '{}'", several.join("' '"))
                }
            })
        }
        (ErrorKind::UnknownArgument, _) => {
            Some(format!("invalid option -- '{}'", name.trim_start_matches('-')))
        }
        (ErrorKind::InvalidValue, None | Some("")) if !is_empty() => Some(missing(name, &words)),
        (ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues, _) => Some(missing(name, &words)),
        (ErrorKind::InvalidValue, Some(value)) => {
            let wrong = if is_ambiguous(error) { "ambiguous" } else { "invalid" };
            let name = if name == "--backup" { "backup type" } else { name };
            let mut said = format!("{wrong} argument '{value}' for '{name}'\nValid arguments are:");
            let values = arg.map(Arg::get_possible_values).unwrap_or_default();
            for value in values.iter().filter(|value| !value.is_hide_set()) {
                let names: Vec<_> = value.get_name_and_aliases().collect();
                said += &format!("\n  - '{}'", names.join("', '"));
            }
            Some(said)
        }
        (ErrorKind::ValueValidation, Some(value)) if name == "--length" => {
            Some(format!("invalid length: '{value}'"))
        }
        (ErrorKind::ValueValidation, Some(value)) => {
            let reason = error.source().map(|reason| format!(": {reason}")).unwrap_or_default();
            Some(format!("invalid argument '{value}' for '{name}'{reason}"))
        }
        (ErrorKind::TooManyValues, _) => {
            let spelt = |(flag, _)| flags::completions(arg.into_iter(), flag).into_iter().next();
            let whole = with_value().find_map(spelt);
            Some(format!("option '{}' doesn't allow an argument", whole.as_deref().unwrap_or(name)))
        }
        _ => None,
    }
}

/// Returns the error of a flag, the last word, whose value is missing.
fn missing(name: &str, words: &[&str]) -> String {
    match words.last().filter(|word| !word.starts_with("--")).and_then(|word| word.chars().last()) {
        Some(short) => format!("option requires an argument -- '{short}'"),
        None => format!("option '{name}' requires an argument"),
    }
}
