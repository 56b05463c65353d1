//! The error type, with path, operation, offset, cause and advice, and the error of parsing a text that names no value.
#![forbid(unsafe_code)]

use std::any::Any;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::quote::Shown;
use crate::sys::{Code, InUse};

/// `Result` with this crate's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// The message of a caught panic, if it is a text.
#[doc(hidden)]
pub fn panic_text(panic: &(dyn Any + Send)) -> Option<&str> {
    panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied())
}

/// The category of an [`Error`], for exit codes and decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The path does not exist.
    NotFound,
    /// The path already exists.
    AlreadyExists,
    /// The system does not permit the operation.
    PermissionDenied,
    /// Another system call failed; `source()` is the system's error.
    Io,
    /// An input was truncated or modified while it was read, so there is no valid result.
    Changed,
    /// The file ends before the bytes to be read.
    UnexpectedEof,
    /// No space is left at the output.
    NoSpace,
    /// The run needs more memory than its budget.
    Memory,
    /// Another process holds a conflicting lock, or has the file open without sharing it.
    Locked,
    /// Input and output are the same file.
    SameFile,
    /// This file, file system or machine does not support the operation.
    Unsupported,
    /// The request is contradictory, out of range or misaligned.
    Invalid,
    /// The run was cancelled.
    Cancelled,
    /// The reader of the output closed it.
    BrokenPipe,
}

impl From<&io::Error> for ErrorKind {
    fn from(error: &io::Error) -> Self {
        kind_and_advice(error).0
    }
}

/// The category of an error of the system or of std, and advice.
fn kind_and_advice(error: &io::Error) -> (ErrorKind, Option<&'static str>) {
    let Some(code) = Code::of(error) else {
        let kind = match error.kind() {
            io::ErrorKind::NotFound => ErrorKind::NotFound,
            io::ErrorKind::AlreadyExists => ErrorKind::AlreadyExists,
            io::ErrorKind::PermissionDenied => ErrorKind::PermissionDenied,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorKind::NoSpace,
            io::ErrorKind::OutOfMemory => ErrorKind::Memory,
            io::ErrorKind::Unsupported | io::ErrorKind::NotSeekable => ErrorKind::Unsupported,
            io::ErrorKind::InvalidInput => ErrorKind::Invalid,
            io::ErrorKind::BrokenPipe => ErrorKind::BrokenPipe,
            io::ErrorKind::UnexpectedEof => ErrorKind::UnexpectedEof,
            _ => ErrorKind::Io,
        };
        return (kind, None);
    };
    match code {
        Code::NO_SPACE | Code::QUOTA => (ErrorKind::NoSpace, Some("free some space or write somewhere else")),
        Code::NOT_FOUND => (ErrorKind::NotFound, None),
        Code::EXISTS => (ErrorKind::AlreadyExists, None),
        Code::ACCESS_DENIED | Code::NOT_PERMITTED => (ErrorKind::PermissionDenied, None),
        Code::BROKEN_PIPE => (ErrorKind::BrokenPipe, None),
        Code::INVALID => (ErrorKind::Invalid, None),
        Code::TOO_LARGE => (
            ErrorKind::NoSpace,
            Some("the file system, or a limit such as ulimit -f, does not permit files of this size"),
        ),
        Code::READ_ONLY => (ErrorKind::Io, Some("the file system is mounted read-only")),
        Code::IS_DIRECTORY => (ErrorKind::Unsupported, Some("name a file")),
        // Of a transfer at an offset, on a pipe, socket or terminal.
        Code::NOT_SEEKABLE => (ErrorKind::Unsupported, None),
        code => match code.in_use() {
            Some(InUse::Held) => (
                ErrorKind::Locked,
                Some("it is open without sharing, in another program or in this one: close it there first"),
            ),
            Some(InUse::Locked) => (
                ErrorKind::Locked,
                Some("another open handle has locked these bytes: try again when it has released them"),
            ),
            Some(InUse::Mapped) => (ErrorKind::Io, Some("it is mapped into memory: unmap it first")),
            Some(InUse::Running) => (ErrorKind::Io, Some("it is a running program")),
            None => (ErrorKind::Io, None),
        },
    }
}

/// A failed operation on a path.
///
/// ```
/// use fullbore_io::error::{Error, ErrorKind};
/// let error = fullbore_io::file::File::open("missing").unwrap_err();
/// assert_eq!(error.to_string(), "missing: cannot open: No such file or directory");
/// assert_eq!((error.kind(), error.operation(), error.raw_os_error()), (ErrorKind::NotFound, "open", Some(2)));
/// let error = Error::new(ErrorKind::Invalid, "read", "file", "the range is empty").at(512).advise("name a range");
/// assert_eq!(error.to_string(), "file: cannot read at offset 512: the range is empty; name a range");
/// ```
pub struct Error {
    /// Boxed, so that a successful `Result` is small.
    inner: Box<Inner>,
}

struct Inner {
    kind: ErrorKind,
    doing: &'static str,
    path: Option<PathBuf>,
    offset: Option<u64>,
    what: Option<String>,
    advice: Option<String>,
    source: Option<io::Error>,
}

impl Error {
    /// Creates an error of the system at `path`; `doing` is a verb phrase ("open", "read"). If `source` contains an [`Error`],
    /// returns that.
    pub fn io(doing: &'static str, path: impl AsRef<Path>, source: io::Error) -> Self {
        let source = match source.downcast::<Self>() {
            Ok(error) => return error,
            Err(source) => source,
        };
        let (kind, advice) = kind_and_advice(&source);
        let mut error = Self::bare(kind, doing, path.as_ref());
        error.inner.advice = advice.map(str::to_owned);
        error.inner.source = Some(source);
        error
    }

    fn bare(kind: ErrorKind, doing: &'static str, path: &Path) -> Self {
        let path = Some(path.to_owned());
        let inner = Inner { kind, doing, path, offset: None, what: None, advice: None, source: None };
        Self { inner: Box::new(inner) }
    }

    /// Creates the error of an input that changed while it was read: `what` is the change.
    pub fn changed(path: impl AsRef<Path>, what: &str) -> Self {
        Self::new(ErrorKind::Changed, "read", path, what)
    }

    /// Creates the error of a cancelled run.
    pub fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "finish", "", "interrupted").without_path()
    }

    /// Creates an error that the system did not report: `what` went wrong at `path`; `doing` is a verb phrase.
    pub fn new(
        kind: ErrorKind,
        doing: &'static str,
        path: impl AsRef<Path>,
        what: impl Into<String>,
    ) -> Self {
        let mut error = Self::bare(kind, doing, path.as_ref());
        error.inner.what = Some(what.into());
        error
    }

    /// Adds the offset in the file, in bytes.
    #[must_use]
    pub fn at(mut self, offset: u64) -> Self {
        self.inner.offset = Some(offset);
        self
    }

    /// Replaces the path.
    #[doc(hidden)]
    #[must_use]
    pub fn naming(mut self, path: impl AsRef<Path>) -> Self {
        self.inner.path = Some(path.as_ref().to_owned());
        self
    }

    /// Removes the path, which the operation does not have.
    #[doc(hidden)]
    #[must_use]
    pub fn without_path(mut self) -> Self {
        self.inner.path = None;
        self
    }

    /// Adds the part of the file that the system's error is about, such as an attribute.
    #[doc(hidden)]
    #[must_use]
    pub fn about(mut self, part: impl Into<String>) -> Self {
        self.inner.what = Some(part.into());
        self
    }

    /// Turns [`ErrorKind::UnexpectedEof`] into [`ErrorKind::Changed`]: for a file that was longer before.
    #[doc(hidden)]
    #[must_use]
    pub fn of_shortened(mut self) -> Self {
        if self.inner.kind == ErrorKind::UnexpectedEof {
            self.inner.kind = ErrorKind::Changed;
        }
        self
    }

    /// Adds advice.
    #[must_use]
    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        self.inner.advice = Some(advice.into());
        self
    }

    /// Returns the category.
    pub fn kind(&self) -> ErrorKind {
        self.inner.kind
    }

    /// Returns the operation that failed: a verb phrase.
    pub fn operation(&self) -> &'static str {
        self.inner.doing
    }

    /// Returns the cause, if the system did not report the error; otherwise the part of the file, such as an attribute, that the
    /// system's error is about, if it is not about the whole file.
    pub fn what(&self) -> Option<&str> {
        self.inner.what.as_deref()
    }

    /// Returns the system's error code, if the system caused the error.
    #[doc(hidden)]
    pub fn code(&self) -> Option<Code> {
        self.raw_os_error().map(Code::from_number)
    }

    /// Returns the error number, if the system reported the error.
    pub fn raw_os_error(&self) -> Option<i32> {
        self.inner.source.as_ref().and_then(io::Error::raw_os_error)
    }

    /// Returns the offset in the file at which the operation failed, in bytes, if it is known.
    pub fn offset(&self) -> Option<u64> {
        self.inner.offset
    }

    /// Returns the advice at the end of the message.
    pub fn advice(&self) -> Option<&str> {
        self.inner.advice.as_deref()
    }

    /// Returns the path of the operation; empty if it has none, like a cancelled run.
    pub fn path(&self) -> &Path {
        self.inner.path.as_deref().unwrap_or(Path::new(""))
    }
}

/// The message: programs return the error from `main`, which prints it by `Debug`.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.inner.path, &self.inner.what) {
            (None, Some(what)) if self.inner.kind == ErrorKind::Cancelled => return f.write_str(what),
            (None, _) => write!(f, "cannot {}", self.inner.doing)?,
            (Some(path), _) => write!(f, "{}: cannot {}", Shown(path), self.inner.doing)?,
        }
        if let Some(offset) = self.inner.offset {
            write!(f, " at offset {offset}")?;
        }
        if let Some(what) = &self.inner.what {
            write!(f, ": {what}")?;
        }
        if let Some(source) = &self.inner.source {
            write!(f, ": {}", reason(source))?;
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

/// Converts for the traits of `std::io`: to the kind of the system's error, with the whole message. Its `raw_os_error` is
/// `None`; `downcast::<Error>()` returns this error, which has the number.
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match (&error.inner.source, error.inner.kind) {
            // Loops over `std::io` retry `ErrorKind::Interrupted`; a cancelled run must end.
            (_, ErrorKind::Cancelled) => io::ErrorKind::Other,
            (Some(source), _) => source.kind(),
            (None, ErrorKind::UnexpectedEof) => io::ErrorKind::UnexpectedEof,
            (None, ErrorKind::NoSpace) => io::ErrorKind::StorageFull,
            (None, ErrorKind::Memory) => io::ErrorKind::OutOfMemory,
            (None, ErrorKind::Locked) => io::ErrorKind::WouldBlock,
            (None, ErrorKind::Unsupported) => io::ErrorKind::Unsupported,
            (None, ErrorKind::Invalid | ErrorKind::SameFile) => io::ErrorKind::InvalidInput,
            (None, ErrorKind::BrokenPipe) => io::ErrorKind::BrokenPipe,
            (None, ErrorKind::NotFound) => io::ErrorKind::NotFound,
            (None, ErrorKind::AlreadyExists) => io::ErrorKind::AlreadyExists,
            (None, ErrorKind::PermissionDenied) => io::ErrorKind::PermissionDenied,
            (None, ErrorKind::Io | ErrorKind::Changed) => io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}

/// Converts for `?` in functions that the library calls. A contained [`Error`] is returned whole; any other error has no path,
/// which [`Error::io`] adds.
impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        match error.downcast::<Self>() {
            Ok(error) => error,
            Err(error) => Self::io("continue", "", error).without_path(),
        }
    }
}

/// The error of parsing a text that names no value; the message lists the valid names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError(String);

impl ParseError {
    /// Creates the error with its message.
    #[doc(hidden)]
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParseError {}

/// An error of the kind [`ErrorKind::Invalid`], without a path.
impl From<ParseError> for Error {
    fn from(error: ParseError) -> Self {
        Self::new(ErrorKind::Invalid, "parse", "", error.0).without_path()
    }
}

/// Returns the system's message for an error, without std's "(os error N)".
#[doc(hidden)]
pub fn reason(error: &io::Error) -> String {
    without_code(&error.to_string())
}

/// Returns the text without the number of the system's error, which follows all names in it.
#[doc(hidden)]
pub fn without_code(text: &str) -> String {
    match text.rsplit_once(" (os error ").and_then(|(before, after)| Some((before, after.split_once(')')?))) {
        Some((before, (number, after))) if number.parse::<i32>().is_ok() => before.to_owned() + after,
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displays_path_operation_offset_cause_and_advice() {
        let number = if cfg!(windows) { 112 } else { 28 };
        let error = Error::io("write", "/data/out", io::Error::from_raw_os_error(number)).at(4096);
        assert_eq!(error.kind(), ErrorKind::NoSpace);
        #[cfg(unix)]
        assert_eq!(
            error.to_string(),
            "/data/out: cannot write at offset 4096: No space left on device; free some space or write somewhere else"
        );
        // The system's words depend on its language.
        let text = error.to_string();
        assert!(text.starts_with("/data/out: cannot write at offset 4096: "), "{text}");
        assert!(text.ends_with("; free some space or write somewhere else"), "{text}");
    }

    #[test]
    fn only_the_number_of_the_system_is_removed() {
        assert_eq!(without_code("a: no (os error 2): b"), "a: no: b");
        assert_eq!(without_code("a (os error 5): no (os error 2)"), "a (os error 5): no");
        assert_eq!(without_code("a (os error x)"), "a (os error x)");
    }

    #[test]
    fn an_error_of_std_keeps_its_kind_and_a_contained_error_stays_whole() {
        let continued = || -> Result<()> {
            let failed: io::Result<()> = Err(io::ErrorKind::AlreadyExists.into());
            failed?;
            Ok(())
        };
        let error = continued().unwrap_err();
        assert_eq!((error.kind(), error.path()), (ErrorKind::AlreadyExists, Path::new("")));
        assert!(error.to_string().starts_with("cannot continue: "), "{error}");
        let error = Error::from(io::Error::from_raw_os_error(if cfg!(windows) { 112 } else { 28 }));
        assert_eq!((error.kind(), error.raw_os_error().is_some()), (ErrorKind::NoSpace, true));
        let whole = Error::changed("in", "truncated").at(7).advise("read it again");
        let text = whole.to_string();
        let back = Error::from(io::Error::from(whole));
        assert_eq!((back.kind(), back.path(), back.offset()), (ErrorKind::Changed, Path::new("in"), Some(7)));
        assert_eq!(back.to_string(), text);
    }

    #[test]
    fn an_operation_without_a_path_shows_none() {
        assert_eq!(Error::cancelled().to_string(), "interrupted");
        let error = Error::new(ErrorKind::Invalid, "start the driver", "", "no memory").without_path();
        assert_eq!(error.to_string(), "cannot start the driver: no memory");
        assert_eq!(error.path(), Path::new(""));
        let unnamed = Error::new(ErrorKind::NotFound, "open", "", "no name");
        assert_eq!(unnamed.to_string(), "'': cannot open: no name");
    }

    #[test]
    fn the_use_of_a_file_by_others_is_explained() {
        for (code, kind, advice) in [
            (Code::HELD, ErrorKind::Locked, "close it there"),
            (Code::LOCKED, ErrorKind::Locked, "has locked these bytes"),
            (Code::MAPPED, ErrorKind::Io, if cfg!(windows) { "unmap it" } else { "a running program" }),
        ] {
            let error = Error::io("write", "file", code.into());
            assert_eq!((error.kind(), error.code()), (kind, Some(code)));
            assert!(error.to_string().contains(advice), "{error}");
        }
        #[cfg(windows)]
        for (number, code) in
            [(32, Code::HELD), (33, Code::LOCKED), (87, Code::INVALID), (1224, Code::MAPPED)]
        {
            assert_eq!(Code::from_number(number), code);
        }
        // Repeated calls would never end.
        assert_ne!(io::Error::from(Code::LOCKED).kind(), io::ErrorKind::WouldBlock);
        assert_eq!(io::Error::from(Code::WOULD_BLOCK).kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn kinds_agree_with_those_of_std_and_debug_is_the_message() {
        #[cfg(unix)]
        let [missing, exists, denied, full, broken, invalid] = [2, 17, 13, 28, 32, 22];
        #[cfg(windows)]
        let [missing, exists, denied, full, broken, invalid] = [2, 183, 5, 112, 109, 87];
        for (number, kind, std) in [
            (missing, ErrorKind::NotFound, io::ErrorKind::NotFound),
            (exists, ErrorKind::AlreadyExists, io::ErrorKind::AlreadyExists),
            #[cfg(unix)]
            (1, ErrorKind::PermissionDenied, io::ErrorKind::PermissionDenied),
            (denied, ErrorKind::PermissionDenied, io::ErrorKind::PermissionDenied),
            (full, ErrorKind::NoSpace, io::ErrorKind::StorageFull),
            (broken, ErrorKind::BrokenPipe, io::ErrorKind::BrokenPipe),
            (invalid, ErrorKind::Invalid, io::ErrorKind::InvalidInput),
        ] {
            let error = Error::io("open", "file", io::Error::from_raw_os_error(number));
            assert_eq!((error.kind(), error.raw_os_error()), (kind, Some(number)));
            assert_eq!(format!("{error:?}"), error.to_string());
            assert_eq!(io::Error::from(error).kind(), std);
        }
    }
}
