//! The command `fullbore`: flags in, exit code out. The work is done by the library and the meter.
#![forbid(unsafe_code)]

mod cli;
mod command;
mod environment;

use std::process::ExitCode;

// The exit of every command.
pub(crate) use fullbore_cli::exit;

fn main() -> ExitCode {
    match cli::Cli::read() {
        Ok(cli) => fullbore_cli::main(|| cli.run()),
        Err(code) => code,
    }
}
