//! The common part of the benchmarks that compare fullbore with its peers: bounds, the order of a round, runs of whole
//! commands and the states before them, the noise of the machine, a directory removed at the end.
#![allow(dead_code, reason = "each benchmark uses its part")]

pub(crate) mod account;
pub(crate) mod binary;
pub(crate) mod command;
pub(crate) mod directory;
pub(crate) mod finding;
pub(crate) mod order;
pub(crate) mod quiet;
pub(crate) mod rounds;
pub(crate) mod runs;
pub(crate) mod states;
pub(crate) mod words;

use std::path::Path;
use std::process::ExitCode;

/// An error of a benchmark: reported, it ends the comparison.
pub(crate) type BenchError = Box<dyn std::error::Error>;
pub(crate) type Attempt<T> = Result<T, BenchError>;

/// The exit status of a benchmark: 0 if every bound was kept, 1 if one was not, 2 on an error, which is reported.
pub(crate) fn exit(program: &str, outcome: Attempt<bool>) -> ExitCode {
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("{program}: {error}");
            ExitCode::from(2)
        }
    }
}

/// The storage of the file at `path`, and the machine.
pub(crate) fn place(path: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(found) = fullbore::probe::facts(path).ok().and_then(|facts| facts.file_system) {
        lines.push(format!("file system: {} ({})", found.kind, found.mount_options.join(",")));
    }
    lines.push(fullbore::probe::human_machine(&fullbore::probe::machine()).trim_end().to_owned());
    lines
}
