//! Failures to probe a path, and to determine a fact of it.

use crate::quote::Shown;
use std::path::{Path, PathBuf};
use std::{fmt, io};

/// Failure to probe a path: the path, the operation and the system's error.
///
/// ```
/// let error = fullbore_io::probe::facts("/nowhere".as_ref()).unwrap_err();
/// assert_eq!(error.to_string(), "/nowhere: cannot stat: No such file or directory");
/// ```
#[derive(Debug)]
pub struct ProbeError {
    path: PathBuf,
    operation: &'static str,
    source: io::Error,
}

impl ProbeError {
    pub(crate) fn new(path: &Path, operation: &'static str, source: io::Error) -> Self {
        Self { path: path.to_owned(), operation, source }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The failed operation, as a verb: "stat".
    pub fn operation(&self) -> &str {
        self.operation
    }

    pub fn kind(&self) -> io::ErrorKind {
        self.source.kind()
    }
}

impl fmt::Display for ProbeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = crate::error::message(&self.source);
        write!(f, "{}: cannot {}: {why}", Shown(&self.path), self.operation)
    }
}

impl std::error::Error for ProbeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// A fact that could not be determined.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Unknown {
    pub fact: String,
    pub reason: String,
}
