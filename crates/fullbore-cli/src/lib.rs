//! Building blocks for a command that runs an operation: flags, an executor, progress, exit codes. The
//! commands of `fullbore` use them; `examples/` contains commands of a few lines.
// Not `forbid`: the macro that generates a constructor contains unsafe code.
#![deny(unsafe_code)]

pub mod common_args;
pub mod exit;
pub mod for_each;
pub mod output;
pub mod progress;
mod signals;
pub mod values;

use std::process::ExitCode;

use exit::{Exit, failure_code, program};
use fullbore::sys;

/// Opens placeholders for closed standard streams before the standard library opens `/dev/null` for them, which reads
/// as empty and accepts writes, also by the paths `/dev/stdin` and `/dev/stdout`.
#[cfg(unix)]
#[ctor::ctor(unsafe)]
fn keep_closed_streams_closed() {
    use fullbore::buf::Direction;
    for (open, direction) in [
        (sys::is_open(sys::stdin()), Direction::Read),
        (sys::is_open(sys::stdout()), Direction::Write),
        (sys::is_open(sys::stderr()), Direction::Write),
    ] {
        // The lowest free number is the stream's: it stays open.
        if !open && let Ok(stream) = sys::open_as_closed(direction) {
            std::mem::forget(stream);
        }
    }
}

/// Runs a command, prints its error to standard error, and returns its exit code. A signal that ends the process first
/// removes the files that the command began.
pub fn main(run: impl FnOnce() -> Result<(), Exit>) -> ExitCode {
    if let Err(error) = signals::install(output::flush_overdue) {
        Exit::eprint(&format!("{}: cannot watch for signals: {error}\n", program("")));
        return ExitCode::from(failure_code());
    }
    sys::use_utf8_console();
    let result = run();
    signals::end_if_caught();
    let result = match result {
        // A complete output, whatever it says.
        result @ (Ok(()) | Err(Exit::No(_) | Exit::Reported(_))) => Exit::end_output().and(result),
        failed => failed,
    };
    let code = match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(exit) => {
            match &exit {
                Exit::No(message) | Exit::Failure(message) | Exit::Changed(message) => {
                    // If the message cannot be written, the exit code still reports the failure.
                    Exit::eprint(&format!("{}: {message}\n", program("")));
                }
                Exit::BrokenPipe | Exit::Reported(_) => {}
            }
            ExitCode::from(exit.code())
        }
    };
    sys::restore_console();
    code
}
