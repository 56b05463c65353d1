//! The command `fullbore`: flags in, exit code out. What it does is in the library and the meter.
#![forbid(unsafe_code)]

mod cli;
mod command;
mod grep;
mod locale;

use std::process::ExitCode;

// What all commands end with.
pub(crate) use fullbore_cli::exit;

fn main() -> ExitCode {
    match cli::Cli::read() {
        Ok(cli) => exit::main(|| cli.run()),
        Err(code) => code,
    }
}
