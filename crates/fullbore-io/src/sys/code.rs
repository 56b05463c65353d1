//! The system's error codes. Each platform defines the constants and the code of a number.

use std::fmt;
use std::io;

pub type Result<T> = std::result::Result<T, Code>;

/// Repeats a call while signals interrupt it.
#[inline]
pub fn uninterrupted<T>(mut call: impl FnMut() -> Result<T>) -> Result<T> {
    loop {
        match call() {
            Err(Code::INTERRUPTED) => {}
            result => return result,
        }
    }
}

/// The use of a file by others that makes a call fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InUse {
    /// Another program has it open and does not share it.
    Held,
    Locked,
    Mapped,
    Running,
}

/// An error code of the system, with constants for those that the program distinguishes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Code(pub(super) i32);

/// Defines the constants from the numbers of a platform.
macro_rules! codes {
    ($($name:ident = $number:expr),+ $(,)?) => {
        #[allow(missing_docs, reason = "each has the meaning of its name")]
        impl Code {
            $(pub const $name: Self = Self($number as i32);)+
        }
    };
}
pub(super) use codes;

/// Defines calls that the system lacks.
#[cfg(not(target_os = "linux"))]
macro_rules! unsupported {
    ($($(#[$about:meta])* fn $name:ident($($argument:ty),*) -> $result:ty;)+) => {
        $($(#[$about])*
        pub fn $name($(_: $argument),*) -> crate::sys::code::Result<$result> {
            Err(crate::sys::code::Code::UNSUPPORTED)
        })+
    };
}
#[cfg(not(target_os = "linux"))]
pub(super) use unsupported;

impl Code {
    pub fn of(error: &io::Error) -> Option<Self> {
        let interrupted = || (error.kind() == io::ErrorKind::Interrupted).then_some(Self::INTERRUPTED);
        error.raw_os_error().map(Self::from_number).or_else(interrupted)
    }

    pub(in crate::sys) fn last() -> Self {
        Self::of(&io::Error::last_os_error()).unwrap_or(Self::IO)
    }

    pub fn number(self) -> i32 {
        self.0
    }

    /// Returns the use by others that the error reports. On Unix, only the mapping of a running program makes a call
    /// fail.
    pub fn in_use(self) -> Option<InUse> {
        match self {
            Self::HELD => Some(InUse::Held),
            Self::LOCKED => Some(InUse::Locked),
            Self::MAPPED => Some(if cfg!(windows) { InUse::Mapped } else { InUse::Running }),
            _ => None,
        }
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
