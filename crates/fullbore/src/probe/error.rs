//! What can go wrong when a path is looked at.

use std::path::{Path, PathBuf};
use std::{fmt, io};

/// A path could not be looked at: which, what was tried, and what the system answered.
#[derive(Debug)]
pub struct Error {
    path: PathBuf,
    operation: &'static str,
    source: io::Error,
}

impl Error {
    pub(crate) fn new(path: &Path, operation: &'static str, source: io::Error) -> Self {
        Self { path: path.to_owned(), operation, source }
    }

    /// The path that was asked about.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was tried, as a verb: "look at".
    pub fn operation(&self) -> &str {
        self.operation
    }

    /// The kind of the system's error.
    pub fn kind(&self) -> io::ErrorKind {
        self.source.kind()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = crate::error::message(&self.source);
        write!(f, "{}: cannot {}: {why}", self.path.display(), self.operation)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}
