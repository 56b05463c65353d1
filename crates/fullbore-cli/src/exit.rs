//! Maps errors to messages and exit codes, and prints them.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use fullbore::buf::Direction;
pub use fullbore::error::reason;
use fullbore::error::{Error, ErrorKind, without_code};
use fullbore::quote::printable_bytes;
use fullbore::sys::{self, Code};

use crate::signals;

/// The name under which the program was called, if it is a tool's name.
static PROGRAM: OnceLock<&str> = OnceLock::new();

/// The exit code of an error; the replaced tools have different ones.
static FAILURE_CODE: AtomicU8 = AtomicU8::new(2);

/// Sets the program name to `name`, the tool under whose name it was called.
pub fn call_program(name: &'static str) {
    let _ = PROGRAM.set(name);
}

/// Returns the prefix of a command's messages: the tool's name under which the program was called, or "fullbore wc".
pub fn program(command: &str) -> String {
    match PROGRAM.get() {
        Some(name) => (*name).to_owned(),
        None => format!("fullbore {command}").trim_end().to_owned(),
    }
}

/// Returns the tool under whose name the program was called.
pub fn called() -> Option<&'static str> {
    PROGRAM.get().copied()
}

/// Sets the exit code of [failure](Exit::Failure).
pub fn set_failure_code(code: u8) {
    FAILURE_CODE.store(code, Ordering::Relaxed);
}

/// Returns the exit code of [failure](Exit::Failure).
pub fn failure_code() -> u8 {
    FAILURE_CODE.load(Ordering::Relaxed)
}

/// The reason for an unsuccessful end of a command.
#[derive(Debug)]
pub enum Exit {
    /// A negative result, with its message.
    No(String),
    /// An error, with its message.
    Failure(String),
    /// An input was modified while being read.
    Changed(String),
    /// The output pipe was closed, which prints no message.
    BrokenPipe,
    /// Another exit code; all messages are already printed.
    Reported(u8),
}

impl Exit {
    /// Returns a failure with a message, in which the system's errors have no numbers.
    pub fn failure(message: impl fmt::Display) -> Self {
        Self::Failure(without_code(&message.to_string()))
    }

    /// As `print!`, but a closed pipe is an exit of its own. Control characters in names and documents are escaped on a
    /// terminal.
    ///
    /// # Errors
    /// If the write fails.
    pub fn print(text: &(impl AsRef<[u8]> + ?Sized)) -> Result<(), Self> {
        let safe = printable_bytes(text.as_ref());
        let raw = matches!(safe, Cow::Borrowed(_)) || !io::stdout().is_terminal();
        Self::print_raw(if raw { text.as_ref() } else { &safe })
    }

    /// As [`print`](Self::print), for text that may contain terminal control sequences.
    ///
    /// # Errors
    /// As `print`.
    pub fn print_raw(text: &(impl AsRef<[u8]> + ?Sized)) -> Result<(), Self> {
        StandardOutput.write_all(text.as_ref()).map_err(|error| Self::unwritten(&error))
    }

    /// Returns the error that the file system of standard output reports only when a file is closed.
    pub(crate) fn end_output() -> Result<(), Self> {
        sys::close_duplicate(sys::stdout()).map_err(|error| Self::unwritten(&error.into()))
    }

    fn unwritten(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::BrokenPipe;
        }
        let what = if called().is_some() { "write error" } else { "standard output: cannot write" };
        Self::Failure(format!("{what}: {}", reason(error)))
    }

    /// As `eprint!`, but a failed write is ignored and never panics. Control characters in names and documents are
    /// escaped.
    pub fn eprint(text: &(impl AsRef<[u8]> + ?Sized)) {
        let _ = io::stderr().lock().write_all(&printable_bytes(text.as_ref()));
    }

    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::No(_) => 1,
            Self::Failure(_) => failure_code(),
            Self::Changed(_) => 3,
            // The exit code of a program that SIGPIPE ended.
            Self::BrokenPipe => 141,
            Self::Reported(code) => *code,
        }
    }
}

impl From<Error> for Exit {
    fn from(error: Error) -> Self {
        match error.kind() {
            ErrorKind::Changed => Self::Changed(message(&error)),
            ErrorKind::BrokenPipe => Self::BrokenPipe,
            _ => Self::Failure(message(&error)),
        }
    }
}

/// Returns the library's message, with the flag that helps.
pub fn message(error: &Error) -> String {
    let flag = match (error.kind(), error.operation()) {
        (ErrorKind::SameFile, "write") => " (--in-place)",
        (ErrorKind::Unsupported, "replace") => " (--overwrite)",
        (ErrorKind::Memory, "search") => " (--memory)",
        (ErrorKind::Unsupported, "use" | "bypass the page cache for") => " (--strategy auto)",
        _ => "",
    };
    format!("{error}{flag}")
}

/// Returns the system's message for an error of the library, or the library's without the path.
pub fn system_reason(error: &Error) -> String {
    match error.raw_os_error() {
        Some(number) => reason(&io::Error::from_raw_os_error(number)),
        None => error.what().map_or_else(|| error.to_string(), str::to_owned),
    }
}

/// Standard output without a buffer. Unlike that of the standard library, a closed one is an error.
#[derive(Debug, Default, Clone, Copy)]
pub struct StandardOutput;

impl Write for StandardOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            // The signal thread itself may be here.
            signals::end_if_caught();
            match sys::write(sys::stdout(), bytes) {
                // Another process made the pipe or terminal non-blocking.
                Err(Code::WOULD_BLOCK) => {
                    let wait = || sys::wait_any(&[(sys::stdout(), Direction::Write)], Some(signals::TICK));
                    sys::uninterrupted(wait)?;
                }
                written => return Ok(written?),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
