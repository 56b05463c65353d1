//! The command `fullbore`: reads the flags, calls the library and the meter, and returns the exit code.
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
