//! The system's error codes. Each platform defines the constants.

use std::fmt;
use std::io;

use super::{canonical, to_error};

/// Result of a system call.
pub type Result<T> = std::result::Result<T, Code>;

/// The use of a file by others that makes a call fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InUse {
    /// Another program has it open and does not share it.
    Held,
    /// A range of it is locked through another handle.
    Locked,
    /// It is mapped into memory.
    Mapped,
    /// It is a running program.
    Running,
}

/// An error code of the system, with constants for those that the program distinguishes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Code(pub(super) i32);

impl Code {
    /// The code of an error, if the system caused it.
    pub fn of(error: &io::Error) -> Option<Self> {
        let interrupted = || (error.kind() == io::ErrorKind::Interrupted).then_some(Self::INTERRUPTED);
        error.raw_os_error().map(Self::from_number).or_else(interrupted)
    }

    /// The code of a number of the system.
    pub fn from_number(number: i32) -> Self {
        Self(canonical(number))
    }

    /// The error of the last call of this thread.
    pub(in crate::sys) fn last() -> Self {
        Self::of(&io::Error::last_os_error()).unwrap_or(Self::IO)
    }

    /// The number of the system.
    pub fn number(self) -> i32 {
        self.0
    }
}

impl From<Code> for io::Error {
    fn from(code: Code) -> Self {
        to_error(code)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        io::Error::from(*self).fmt(f)
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Code {}
