//! Compares the tools (`wc`, `grep`, `cmp`, `copy`, `sum`, `dedupe`, `transform`) and the meter with their peers, and reports
//! which bounds are kept.
//!
//! `cargo bench -p fullbore-bench --bench tools` builds the release binary itself, makes its data and runs every case:
//! whole commands, once unmeasured and then in rounds, in random order within each round. A figure is the median of the
//! rounds' own ratios. The output of the commands is compared too: a tool with another result is not measured.
#![forbid(unsafe_code)]

mod cases;
mod command;
mod commands;
mod data;
#[path = "../harness/mod.rs"]
mod harness;
mod options;
mod race;
mod states;
mod text;
mod tree;

use std::process::ExitCode;

use clap::Parser;

use commands::Bench;
use options::Options;

fn main() -> ExitCode {
    if let Some(status) = command::run_as_parent() {
        return status;
    }
    let options = Options::parse();
    let common = options.common.clone();
    let make = || Bench::make(options);
    harness::run("tools", &common, &cases::all(), make, |bench| &mut bench.findings)
}
