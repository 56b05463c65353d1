//! Counts system calls per operation: the benchmark starts itself under `strace -f -c`, once for some operations and once
//! for twice as many; the difference of the two counts belongs to the operations.
//!
//! All calls of all threads count, also those of sleeping and waking. `strace` changes the timing of threads, so the counts
//! of contenders with threads are approximate, and those of one thread exact.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::case::Case;
use super::files::BenchFiles;
use super::harness::Attempt;
use super::harness::directory::{peer, start};
use super::interleaving::SharedBuffer;

/// First argument of such a start; then the case, the contender, the number of operations and the directory.
pub(crate) const WORD: &str = "--operations-of";

/// Operations that move more than this many bytes are not counted: each makes many calls, which tracing slows down.
pub(crate) const MOST_BYTES: u64 = 16 << 20;

/// Operations of the shorter run, for small ones; a multiple of every depth.
const MANY: u64 = 256;
/// Operations of the shorter run, for those that move [`FEW_BYTES`] or more.
const FEW: u64 = 4;
/// Limit for [`FEW`].
const FEW_BYTES: u64 = 128 << 10;

pub(crate) struct Counter {
    strace: PathBuf,
    itself: PathBuf,
}

impl Counter {
    pub(crate) fn find() -> Result<Self, String> {
        let strace = peer(&[], "strace").ok_or("strace is not installed (Debian: apt install strace)")?;
        let itself = std::env::current_exe().map_err(|error| error.to_string())?;
        let works = Command::new(&strace)
            .args(["-f", "-c", "true"])
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        if works {
            Ok(Self { strace, itself })
        } else {
            Err("strace is not permitted to trace here".to_owned())
        }
    }

    pub(crate) fn count(&self, case: &Case, label: &str, files: &BenchFiles) -> Attempt<f64> {
        let count = if case.bytes >= FEW_BYTES { FEW } else { MANY };
        let some = self.run(case, label, count, files)?;
        let twice = self.run(case, label, 2 * count, files)?;
        Ok((twice as f64 - some as f64) / count as f64)
    }

    fn run(&self, case: &Case, label: &str, count: u64, files: &BenchFiles) -> Attempt<u64> {
        let table = files.path().join("calls");
        let mut command = Command::new(&self.strace);
        command.args(["-f", "-c", "-o"]).arg(&table).arg("--").arg(&self.itself);
        command.args([WORD, &case.name, label, &count.to_string()]).arg(files.path());
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let status = start(&mut command)?.wait()?;
        if !status.success() {
            return Err(format!("strace of {} by {label} ended with {status}", case.name).into());
        }
        Ok(total(&fs::read_to_string(table)?))
    }
}

/// The number of calls in a table of `strace -c`: share of time, seconds, microseconds per call, calls, errors, name.
fn total(table: &str) -> u64 {
    table
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|columns| columns.last().is_some_and(|name| *name != "total"))
        .filter_map(|columns| columns.get(3)?.parse::<u64>().ok())
        .sum()
}

pub(crate) fn operate(words: &[OsString], cases: &[Case]) -> Attempt<()> {
    let [name, label, count, directory] = words else {
        return Err("usage: case, contender, number, directory".into());
    };
    let case = cases.iter().find(|case| *name == *case.name).ok_or("no such case")?;
    let (_, make) = case.makers.iter().find(|(own, _)| label == own).ok_or("no such contender")?;
    let count: u64 = count.to_str().and_then(|count| count.parse().ok()).ok_or("not a number")?;
    let files = BenchFiles::existing(Path::new(directory));
    let mut contender = make(&files)?;
    files.prepare(case)?;
    let mut shared = SharedBuffer::new(case.buffer);
    contender(count, shared.bytes())
}
