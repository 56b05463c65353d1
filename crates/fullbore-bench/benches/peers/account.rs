//! The benchmark started again as the parent of one command: the only children it has are that command's.
//!
//! The system gives the most memory that any child had, not that of the last one, and a child starts out with
//! its parent's figure. So each measured command has a small parent of its own, which prints what it needed.

use std::ffi::OsString;
use std::process::{Command, ExitCode, Stdio};

use nix::sys::resource::{UsageWho, getrusage};

/// The first word of such a start: then the input for a pipe, or `-` for none, and the command.
pub(crate) const WORD: &str = "--account-of";

/// Runs the command and prints the most memory it had resident, in KiB.
pub(crate) fn run(words: &[OsString]) -> ExitCode {
    match peak(words) {
        Ok(peak) => {
            println!("{peak}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn peak(words: &[OsString]) -> Result<i64, Box<dyn std::error::Error>> {
    let [pipe, program, rest @ ..] = words else { return Err("a command is missing".into()) };
    let mut command = Command::new(program);
    command.args(rest).stdout(Stdio::null());
    let mut source = None;
    if pipe != "-" {
        let mut cat = Command::new("cat").arg(pipe).stdout(Stdio::piped()).spawn()?;
        command.stdin(cat.stdout.take().ok_or("cat has no output")?);
        source = Some(cat);
    } else {
        command.stdin(Stdio::null());
    }
    let status = command.status();
    // Our end of the pipe goes, so that `cat` ends whatever became of the command.
    drop(command);
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    if let Some(mut source) = source {
        source.wait()?;
    }
    if !status.as_ref().is_ok_and(|status| status.success()) {
        return Err(format!("{} did not end well: {status:?}", program.display()).into());
    }
    Ok(usage.max_rss())
}
