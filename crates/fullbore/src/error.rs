//! The one error type: what was done to which path, where in it, what went wrong and what to do about it.
//!
//! ```
//! use fullbore::error::Kind;
//! use fullbore::file::File;
//! let error = File::open("/nowhere").unwrap_err();
//! assert_eq!(error.kind(), Kind::Io);
//! assert_eq!(error.to_string(), "/nowhere: cannot open: No such file or directory");
//! ```
#![forbid(unsafe_code)]

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// `Result` with this crate's [`Error`].
///
/// ```
/// fn length(path: &str) -> fullbore::Result<u64> {
///     fullbore::file::File::open(path)?.len()
/// }
/// assert!(length("Cargo.toml").is_ok() && length("/nowhere").is_err());
/// ```
pub type Result<T> = std::result::Result<T, Error>;

/// What sort of trouble an [`Error`] is. A caller that turns errors into exit codes looks here.
///
/// ```
/// use fullbore::error::{Error, Kind};
/// fn exit_code(error: &Error) -> u8 {
///     match error.kind() {
///         Kind::Invalid => 2,
///         Kind::Interrupted => 130,
///         _ => 1,
///     }
/// }
/// assert_eq!(exit_code(&Error::new(Kind::Invalid, "read", "file", "nothing was asked for")), 2);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The system refused or failed a call; `source()` has its error.
    Io,
    /// An input got shorter or was modified while it was read: its result would be worth nothing.
    Changed,
    /// There is no room left where the output goes.
    NoSpace,
    /// Somebody else holds a lock against it.
    Locked,
    /// Input and output are the same file.
    SameFile,
    /// What was asked cannot be done with this file, file system or machine.
    Unsupported,
    /// The request contradicts itself or is out of range.
    Invalid,
    /// The run was told to stop.
    Interrupted,
    /// The reader of the output went away.
    BrokenPipe,
}

/// An operation on a path that failed.
///
/// ```
/// use std::error::Error as _;
/// let error = fullbore::file::File::open("/nowhere").unwrap_err();
/// assert_eq!(error.path().to_str(), Some("/nowhere"));
/// let cause = error.source().and_then(|cause| cause.downcast_ref::<std::io::Error>());
/// assert_eq!(cause.map(std::io::Error::kind), Some(std::io::ErrorKind::NotFound));
/// ```
#[derive(Debug)]
pub struct Error {
    kind: Kind,
    doing: &'static str,
    path: PathBuf,
    offset: Option<u64>,
    what: Option<String>,
    advice: Option<String>,
    source: Option<io::Error>,
}

impl Error {
    /// An error of the system at `path` while `doing` (a verb phrase: "open", "read").
    ///
    /// ```
    /// use fullbore::error::{Error, Kind};
    /// let error = Error::io("write", "/data/out", std::io::Error::from_raw_os_error(28));
    /// assert_eq!(error.kind(), Kind::NoSpace, "28 is ENOSPC");
    /// assert!(error.to_string().starts_with("/data/out: cannot write: No space left on device;"));
    /// ```
    pub fn io(doing: &'static str, path: impl AsRef<Path>, source: io::Error) -> Self {
        let (kind, advice) = match source.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
            Some(rustix::io::Errno::NOSPC | rustix::io::Errno::DQUOT) => {
                (Kind::NoSpace, Some("free some space or write somewhere else"))
            }
            Some(rustix::io::Errno::PIPE) => (Kind::BrokenPipe, None),
            Some(rustix::io::Errno::FBIG) => {
                (Kind::NoSpace, Some("the file system holds no file as large as that"))
            }
            Some(rustix::io::Errno::ROFS) => (Kind::Io, Some("the file system is mounted read-only")),
            Some(rustix::io::Errno::ISDIR) => (Kind::Unsupported, Some("name a file")),
            Some(rustix::io::Errno::TXTBSY) => (Kind::Io, Some("it is a program that is running")),
            _ => (Kind::Io, None),
        };
        Self {
            kind,
            doing,
            path: path.as_ref().to_owned(),
            offset: None,
            what: None,
            advice: advice.map(str::to_owned),
            source: Some(source),
        }
    }

    /// An error that is not the system's: `what` is wrong with `path` while `doing`.
    ///
    /// ```
    /// use fullbore::error::{Error, Kind};
    /// let error = Error::new(Kind::Unsupported, "map", "/dev/tty", "a character device cannot be mapped");
    /// assert_eq!(error.to_string(), "/dev/tty: cannot map: a character device cannot be mapped");
    /// ```
    pub fn new(kind: Kind, doing: &'static str, path: impl AsRef<Path>, what: impl Into<String>) -> Self {
        Self {
            kind,
            doing,
            path: path.as_ref().to_owned(),
            offset: None,
            what: Some(what.into()),
            advice: None,
            source: None,
        }
    }

    /// Says where in the file it happened, in bytes.
    ///
    /// ```
    /// use fullbore::error::{Error, Kind};
    /// let error = Error::new(Kind::Changed, "read", "log", "it became shorter").at(4096);
    /// assert_eq!(error.to_string(), "log: cannot read at offset 4096: it became shorter");
    /// ```
    #[must_use]
    pub fn at(mut self, offset: u64) -> Self {
        self.offset = Some(offset);
        self
    }

    /// Says what to do about it.
    ///
    /// ```
    /// use fullbore::error::{Error, Kind};
    /// let error = Error::new(Kind::Locked, "open", "log", "somebody holds a lock").advise("try again later");
    /// assert_eq!(error.to_string(), "log: cannot open: somebody holds a lock; try again later");
    /// ```
    #[must_use]
    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// The sort of trouble.
    ///
    /// ```
    /// use fullbore::error::Kind;
    /// let error = fullbore::file::File::open_write("/").unwrap_err();
    /// assert_eq!(error.kind(), Kind::Unsupported, "it is a directory");
    /// ```
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// What was wrong, in words, if the system did not say it.
    ///
    /// ```
    /// use fullbore::file::File;
    /// assert_eq!(File::open_write("/").unwrap_err().what(), Some("it is a directory"));
    /// assert_eq!(File::open("/nowhere").unwrap_err().what(), None);
    /// ```
    pub fn what(&self) -> Option<&str> {
        self.what.as_deref()
    }

    /// The system's number for the error, if it is the system's.
    ///
    /// ```
    /// let error = fullbore::file::File::open("/nowhere").unwrap_err();
    /// assert_eq!(error.raw_os_error(), Some(2), "ENOENT");
    /// ```
    pub fn raw_os_error(&self) -> Option<i32> {
        self.source.as_ref().and_then(io::Error::raw_os_error)
    }

    /// The path that the operation was on.
    ///
    /// ```
    /// let error = fullbore::file::File::open("/nowhere").unwrap_err();
    /// assert_eq!(error.path().to_str(), Some("/nowhere"));
    /// ```
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: cannot {}", self.path.display(), self.doing)?;
        if let Some(offset) = self.offset {
            write!(f, " at offset {offset}")?;
        }
        if let Some(what) = &self.what {
            write!(f, ": {what}")?;
        }
        if let Some(source) = &self.source {
            write!(f, ": {}", message(source))?;
        }
        if let Some(advice) = &self.advice {
            write!(f, "; {advice}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}

/// For the traits of `std::io`: of the kind that the system's error has, with the whole message.
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match (&error.source, error.kind) {
            // Whoever loops over `std::io` asks again after an interruption, and this one is meant to end things.
            (_, Kind::Interrupted) => io::ErrorKind::Other,
            (Some(source), _) => source.kind(),
            (None, Kind::Changed) => io::ErrorKind::UnexpectedEof,
            (None, Kind::NoSpace) => io::ErrorKind::StorageFull,
            (None, Kind::Locked) => io::ErrorKind::WouldBlock,
            (None, Kind::Unsupported) => io::ErrorKind::Unsupported,
            (None, Kind::Invalid | Kind::SameFile) => io::ErrorKind::InvalidInput,
            (None, Kind::BrokenPipe) => io::ErrorKind::BrokenPipe,
            (None, Kind::Io) => io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}

/// The system's message without std's "(os error N)".
pub(crate) fn message(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_path_operation_offset_cause_and_remedy() {
        let error = Error::io("write", "/data/out", io::Error::from_raw_os_error(28)).at(4096);
        assert_eq!(error.kind(), Kind::NoSpace);
        assert_eq!(
            error.to_string(),
            "/data/out: cannot write at offset 4096: No space left on device; free some space or write somewhere else"
        );
    }
}
