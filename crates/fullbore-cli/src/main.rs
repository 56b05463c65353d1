//! The command `fullbore`: flags in, exit code out. What it does is in the library and the meter.
#![forbid(unsafe_code)]

mod cli;
mod command;
mod exit;
mod progress;
mod signals;

use std::process::ExitCode;

fn main() -> ExitCode {
    exit::run()
}
