//! Help, versions and command-line errors: in the wording of GNU's `getopt_long` and `argmatch` under a tool's own
//! name.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use fullbore::quote::printable;
use fullbore_cli::values::is_ambiguous;

use super::peers::Invocation;
use crate::command::report::may_colour;
use crate::exit::{self, Exit};

/// Prints clap's result that is not a command, and returns the exit code.
pub(super) fn print(error: &clap::Error, called: &Invocation) -> ExitCode {
    let is_help = matches!(error.kind(), ErrorKind::DisplayHelp);
    if is_help || error.kind() == ErrorKind::DisplayVersion {
        let text =
            if is_help { shown(error, may_colour(&std::io::stdout())) } else { version(error, called) };
        return fullbore_cli::main(|| Exit::print_raw(&own_name(&text, called)));
    }
    let text = match called.peer {
        Some(peer) if peer != "rg" => gnu(error, called)
            .map(|text| format!("{peer}: {text}\nTry '{peer} --help' for more information.\n")),
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
fn gnu(error: &clap::Error, called: &Invocation) -> Option<String> {
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
    let name = flag.split([' ', '=', '[']).next().unwrap_or(flag);
    let value = text(ContextKind::InvalidValue);
    match (error.kind(), value) {
        (ErrorKind::UnknownArgument, _) => Some(match name.strip_prefix("--") {
            Some(_) => {
                let mut words = called.words.iter().filter_map(|word| word.to_str());
                let whole = words.find(|word| word.split('=').next() == Some(name));
                format!("unrecognized option '{}'", whole.unwrap_or(flag))
            }
            None => format!("invalid option -- '{}'", name.trim_start_matches('-')),
        }),
        (ErrorKind::InvalidValue, None | Some(""))
        | (ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues, _) => {
            Some(format!("option '{name}' requires an argument"))
        }
        (ErrorKind::InvalidValue, Some(value)) => {
            let what = if is_ambiguous(error) { "ambiguous" } else { "invalid" };
            let mut said = format!("{what} argument '{value}' for '{name}'\nValid arguments are:");
            if let Some(ContextValue::Strings(names)) = error.get(ContextKind::ValidValue) {
                said.extend(names.iter().map(|name| format!("\n  - '{name}'")));
            }
            Some(said)
        }
        (ErrorKind::ValueValidation, Some(value)) if name == "--length" => {
            Some(format!("invalid length: '{value}'"))
        }
        (ErrorKind::TooManyValues, _) => Some(format!("option '{name}' doesn't allow an argument")),
        _ => None,
    }
}
