//! Compares the tools (`wc`, `grep`, `cmp`, `copy`, `sum`, `dedupe`, `transform`) and the meter with their peers, and reports
//! which bounds are kept.
//!
//! `cargo bench -p fullbore-bench --bench tools` builds the release binary itself, makes its data and runs every case:
//! whole commands, once unmeasured and then in rounds, in random order within each round. A figure is the median of the
//! rounds' own ratios. The output of the commands is compared too: a tool with another result is not measured.
#![forbid(unsafe_code)]

mod cases;
#[path = "../harness/mod.rs"]
mod harness;

use std::process::ExitCode;

use clap::Parser;

use harness::commands::{Bench, LOCALE};
use harness::options::{CommandOptions, EXIT_STATUS, TextOptions};
use harness::{Attempt, finding, race, states, tree};

const TOOLS: &[&str] = &["wc", "grep", "cmp", "copy", "sum", "dedupe", "transform"];

const PEERS: &[&str] =
    &["wc", "cat", "rg", "grep", "cmp", "cp", "dd", "b3sum", "sha256sum", "fclones", "fio"];

const NOTES: &str = "Reflinks are measured in DIR or in a directory of FULLBORE_TEST_DIRS that supports them; scripts/file-systems makes \
     some.\n\n";

/// Compares fullbore's tools with wc, cat, rg, cmp, cp, dd, b3sum, sha256sum, fclones, and with their own strategies, and the meter with fio.
#[derive(Parser)]
#[command(bin_name = "cargo bench -p fullbore-bench --bench tools --", args_override_self = true)]
#[command(after_help = [NOTES, EXIT_STATUS].concat())]
struct Options {
    #[command(flatten)]
    commands: CommandOptions,
    #[command(flatten)]
    text: TextOptions,
}

fn main() -> ExitCode {
    if let Some(status) = harness::command::run_as_parent() {
        return status;
    }
    let Options { mut commands, text } = Options::parse();
    let common = commands.common.clone();
    let make = || {
        let source = match &text.text {
            Some(path) => {
                commands.size = std::fs::metadata(path)?.len();
                path.display().to_string()
            }
            None => "generated words".to_owned(),
        };
        let size = fullbore::size::human(commands.size);
        let data = format!("text: {source}, {size}; {} files in the largest tree", text.files);
        Bench::make(commands, text, (TOOLS, PEERS), &data)
    };
    harness::run("tools", &common, &cases::all(), make, |bench| &mut bench.findings)
}
