//! The one error type: what was done to which path, where in it, what went wrong and what to do about it.
#![forbid(unsafe_code)]

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::quote::Shown;

/// `Result` with this crate's [`Error`].
///
/// ```
/// fn length(path: &str) -> fullbore::Result<u64> {
///     fullbore::file::File::open(path)?.len()
/// }
/// assert!(length("Cargo.toml").is_ok() && length("missing").is_err());
/// ```
pub type Result<T> = std::result::Result<T, Error>;

/// What sort of trouble an [`Error`] is. A caller that turns errors into exit codes looks here.
///
/// ```
/// use fullbore::error::{Error, Kind};
/// let error = fullbore::file::File::open("src").unwrap().len().unwrap_err();
/// assert_eq!(error.kind(), Kind::Unsupported);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The system refused or failed a call; `source()` has its error.
    Io,
    /// An input got shorter or was modified while it was read: its result would be worth nothing.
    Changed,
    /// There is no room left where the output goes.
    NoSpace,
    /// More memory is needed than the run may take.
    Memory,
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
/// let error = fullbore::file::File::open("missing").unwrap_err();
/// assert_eq!(error.to_string(), "missing: cannot open: No such file or directory");
/// ```
#[derive(Debug)]
pub struct Error {
    /// Apart, so that results that are no error are small.
    inner: Box<Inner>,
}

#[derive(Debug)]
struct Inner {
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
    /// let error = Error::io("write", "file", std::io::Error::from_raw_os_error(28));
    /// assert_eq!(error.kind(), Kind::NoSpace);
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
        let inner = Inner {
            kind,
            doing,
            path: path.as_ref().to_owned(),
            offset: None,
            what: None,
            advice: advice.map(str::to_owned),
            source: Some(source),
        };
        Self { inner: Box::new(inner) }
    }

    /// An error that is not the system's: `what` is wrong with `path` while `doing`.
    ///
    /// ```
    /// use fullbore::error::{Error, Kind};
    /// let error = Error::new(Kind::Invalid, "open", "file", "it names no file");
    /// assert_eq!(error.to_string(), "file: cannot open: it names no file");
    /// ```
    pub fn new(kind: Kind, doing: &'static str, path: impl AsRef<Path>, what: impl Into<String>) -> Self {
        let inner = Inner {
            kind,
            doing,
            path: path.as_ref().to_owned(),
            offset: None,
            what: Some(what.into()),
            advice: None,
            source: None,
        };
        Self { inner: Box::new(inner) }
    }

    /// Says where in the file it happened, in bytes.
    ///
    /// ```
    /// use fullbore::error::{Error, Kind};
    /// let error = Error::new(Kind::Changed, "read", "file", "it ends there").at(512);
    /// assert_eq!(error.to_string(), "file: cannot read at offset 512: it ends there");
    /// ```
    #[must_use]
    pub fn at(mut self, offset: u64) -> Self {
        self.inner.offset = Some(offset);
        self
    }

    /// The same error under another name of the path.
    pub(crate) fn naming(mut self, path: impl AsRef<Path>) -> Self {
        self.inner.path = path.as_ref().to_owned();
        self
    }

    /// Says what to do about it.
    ///
    /// ```
    /// use fullbore::error::{Error, Kind};
    /// let error = Error::new(Kind::Invalid, "open", "dir", "it is a directory").advise("name a file");
    /// assert!(error.to_string().ends_with("name a file"));
    /// ```
    #[must_use]
    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        self.inner.advice = Some(advice.into());
        self
    }

    /// The sort of trouble.
    ///
    /// ```
    /// use fullbore::error::{Error, Kind};
    /// assert_eq!(Error::new(Kind::Locked, "lock", "file", "it is held").kind(), Kind::Locked);
    /// ```
    pub fn kind(&self) -> Kind {
        self.inner.kind
    }

    /// The operation that failed, a verb phrase.
    ///
    /// ```
    /// let error = fullbore::file::File::open("missing").unwrap_err();
    /// assert_eq!(error.operation(), "open");
    /// ```
    pub fn operation(&self) -> &'static str {
        self.inner.doing
    }

    /// What was wrong, in words, if the system did not say it.
    ///
    /// ```
    /// use fullbore::error::{Error, Kind};
    /// assert_eq!(Error::new(Kind::Locked, "lock", "file", "it is held").what(), Some("it is held"));
    /// ```
    pub fn what(&self) -> Option<&str> {
        self.inner.what.as_deref()
    }

    /// The system's number for the error, if it is the system's.
    ///
    /// ```
    /// let error = fullbore::file::File::open("missing").unwrap_err();
    /// assert_eq!(error.raw_os_error(), Some(2));
    /// ```
    pub fn raw_os_error(&self) -> Option<i32> {
        self.inner.source.as_ref().and_then(io::Error::raw_os_error)
    }

    /// The path that the operation was on.
    ///
    /// ```
    /// let error = fullbore::file::File::open("missing").unwrap_err();
    /// assert_eq!(error.path().to_str(), Some("missing"));
    /// ```
    pub fn path(&self) -> &Path {
        &self.inner.path
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: cannot {}", Shown(&self.inner.path), self.inner.doing)?;
        if let Some(offset) = self.inner.offset {
            write!(f, " at offset {offset}")?;
        }
        if let Some(what) = &self.inner.what {
            write!(f, ": {what}")?;
        }
        if let Some(source) = &self.inner.source {
            write!(f, ": {}", message(source))?;
        }
        if let Some(advice) = &self.inner.advice {
            write!(f, "; {advice}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.inner.source.as_ref().map(|source| source as _)
    }
}

/// For the traits of `std::io`: of the kind that the system's error has, with the whole message.
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match (&error.inner.source, error.inner.kind) {
            // Whoever loops over `std::io` asks again after an interruption, and this one is meant to end things.
            (_, Kind::Interrupted) => io::ErrorKind::Other,
            (Some(source), _) => source.kind(),
            (None, Kind::Changed) => io::ErrorKind::UnexpectedEof,
            (None, Kind::NoSpace) => io::ErrorKind::StorageFull,
            (None, Kind::Memory) => io::ErrorKind::OutOfMemory,
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
