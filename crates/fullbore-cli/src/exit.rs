//! From what went wrong to a message and an exit code.

use std::borrow::Cow;
use std::fmt;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use fullbore::error::{Error, Kind};
use fullbore::quote::printable_bytes;

use crate::signals;
use crate::standard::StandardOutput;

/// The name that the program was called by, if it is a tool's own.
static PROGRAM: OnceLock<&str> = OnceLock::new();

/// The exit code of trouble: the tools that commands replace have different ones.
static FAILURE_CODE: AtomicU8 = AtomicU8::new(2);

/// From now on the program is called `name`, as that of the tool that it was called by.
pub fn call_program(name: &'static str) {
    let _ = PROGRAM.set(name);
}

/// The name that messages of a command begin with: the tool's that the program was called by, or "fullbore wc".
pub fn program(command: &str) -> String {
    match PROGRAM.get() {
        Some(name) => (*name).to_owned(),
        None => format!("fullbore {command}").trim_end().to_owned(),
    }
}

/// The tool by whose name the program was called.
pub fn called() -> Option<&'static str> {
    PROGRAM.get().copied()
}

/// From now on [failure](Exit::Failure) ends the program with this exit code.
pub fn set_failure_code(code: u8) {
    FAILURE_CODE.store(code, Ordering::Relaxed);
}

/// The exit code of [failure](Exit::Failure).
pub fn failure_code() -> u8 {
    FAILURE_CODE.load(Ordering::Relaxed)
}

/// Why a command ends without having done its job.
#[derive(Debug)]
pub enum Exit {
    /// The answer is "no", with its words.
    No(String),
    /// Trouble, with its message.
    Failure(String),
    /// An input that changed while it was read.
    Changed(String),
    /// The reader of the output went away: no message.
    BrokenPipe,
    /// Ends with this exit code; all that there is to say was said.
    Reported(u8),
}

impl Exit {
    /// Trouble with a message.
    pub fn failure(message: impl fmt::Display) -> Self {
        Self::Failure(message.to_string())
    }

    /// As `print!`, with a reader that went away as an exit of its own. A terminal gets no control characters of names and
    /// documents.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn print(text: &(impl AsRef<[u8]> + ?Sized)) -> Result<(), Self> {
        let safe = printable_bytes(text.as_ref());
        let raw = matches!(safe, Cow::Borrowed(_)) || !std::io::stdout().is_terminal();
        Self::print_raw(if raw { text.as_ref() } else { &safe })
    }

    /// As [`print`](Self::print), of text that may act on a terminal.
    ///
    /// # Errors
    /// As `print`.
    pub fn print_raw(text: &(impl AsRef<[u8]> + ?Sized)) -> Result<(), Self> {
        match StandardOutput.write_all(text.as_ref()) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Err(Self::BrokenPipe),
            Err(error) => {
                let what = if called().is_some() { "write error" } else { "standard output: cannot write" };
                Err(Self::Failure(format!("{what}: {}", reason(&error))))
            }
        }
    }

    /// As `eprint!`, but what cannot be said is no reason to fail, and none to panic. Control characters of names and documents
    /// are escaped.
    pub fn eprint(text: &(impl AsRef<[u8]> + ?Sized)) {
        let _ = std::io::stderr().lock().write_all(&printable_bytes(text.as_ref()));
    }

    fn code(&self) -> u8 {
        match self {
            Self::No(_) => 1,
            Self::Failure(_) => failure_code(),
            Self::Changed(_) => 3,
            // As a program that SIGPIPE ended.
            Self::BrokenPipe => 141,
            Self::Reported(code) => *code,
        }
    }
}

/// The words of the system for an error, without its number.
pub fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

impl From<Error> for Exit {
    fn from(error: Error) -> Self {
        match error.kind() {
            Kind::Changed => Self::Changed(error.to_string()),
            Kind::BrokenPipe => Self::BrokenPipe,
            _ => Self::Failure(error.to_string()),
        }
    }
}

/// Runs a command, says on standard error what went wrong, and returns its exit code. A signal that ends the process has what
/// it began removed first.
pub fn main(run: impl FnOnce() -> Result<(), Exit>) -> ExitCode {
    if let Err(error) = signals::install() {
        Exit::eprint(&format!("{}: cannot watch for signals: {error}\n", program("")));
        return ExitCode::from(failure_code());
    }
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(exit) => {
            match &exit {
                Exit::No(message) | Exit::Failure(message) | Exit::Changed(message) => {
                    // If even that cannot be said, the exit code still does.
                    Exit::eprint(&format!("{}: {message}\n", program("")));
                }
                Exit::BrokenPipe | Exit::Reported(_) => {}
            }
            ExitCode::from(exit.code())
        }
    }
}
