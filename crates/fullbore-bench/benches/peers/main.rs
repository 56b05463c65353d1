//! Compares the program with its peers (`dd`, `cp`, fio), and reports which bounds are kept.
//!
//! `cargo bench -p fullbore-bench --bench peers` builds the release binary itself and runs every comparison.
//! Each comparison runs its commands once unmeasured, then in rounds, in random order within each round.
#![forbid(unsafe_code)]

mod files;
#[path = "../harness/mod.rs"]
mod harness;
mod meter;
mod processes;

use std::process::ExitCode;

use clap::Parser;

use harness::commands::Bench;
use harness::options::{CommandOptions, EXIT_STATUS, TextOptions};

/// Compares fullbore with dd, cp and fio.
#[derive(Parser)]
#[command(bin_name = "cargo bench -p fullbore-bench --bench peers --", after_help = EXIT_STATUS)]
#[command(args_override_self = true)]
struct Options {
    #[command(flatten)]
    commands: CommandOptions,
}

fn main() -> ExitCode {
    if let Some(status) = harness::command::run_as_parent() {
        return status;
    }
    let Options { commands } = Options::parse();
    let common = commands.common.clone();
    let cases = [processes::CASES, files::CASES, meter::CASES].concat();
    let make = || {
        let data = format!("file: {}", fullbore::size::human(commands.size));
        let programs: (&[_], &[_]) = (&["transform"], &["dd", "cp", "fio"]);
        Bench::make("peers", commands, TextOptions::default(), programs, &data)
    };
    harness::run("peers", &common, &cases, make, |bench| &mut bench.findings)
}
