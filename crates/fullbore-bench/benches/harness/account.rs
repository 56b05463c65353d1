//! The benchmark started again as the parent of one command, which is its only child.
//!
//! The system reports the peak memory of any child, not of the last one, and a child starts out with its parent's figure.
//! So each measured command has a small parent of its own, which prints the command's peak.

use std::ffi::OsString;
use std::process::{Command, ExitCode, Stdio};

use nix::sys::resource::{UsageWho, getrusage};

use super::command::feed;
use super::directory::{start, watch};
use super::{Attempt, exit};

/// First argument of such a start; then the input for a pipe, or `-` for none, the expected exit code, and the command.
pub(crate) const WORD: &str = "--account-of";

/// In such a start, runs the command and prints its peak resident memory in KiB.
pub(crate) fn run() -> Option<ExitCode> {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let command = words.split_first().filter(|(first, _)| *first == WORD)?.1;
    Some(exit("account", peak(command).map(|peak| println!("{peak}")).map(|()| true)))
}

fn peak(words: &[OsString]) -> Attempt<i64> {
    let [pipe, code, program, rest @ ..] = words else { return Err("missing command".into()) };
    let code: i32 = code.to_str().ok_or("the exit code is not a number")?.parse()?;
    // A signal that ends this process ends the command too.
    watch()?;
    let mut command = Command::new(program);
    command.args(rest).stdin(Stdio::null()).stdout(Stdio::null());
    let source = if pipe == "-" { None } else { Some(feed(&mut command, pipe.as_ref())?) };
    let status = start(&mut command)?.wait()?;
    // This end of the pipe is closed, so that `cat` ends even if the command failed.
    drop(command);
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    if let Some(source) = source {
        source.wait()?;
    }
    if status.code() != Some(code) {
        return Err(format!("{} ended with {status}", program.display()).into());
    }
    Ok(usage.max_rss())
}
