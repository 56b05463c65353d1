//! The reasons for which something is not copied.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::error::{Error, Kind};

/// `Result` with a [`CopyError`].
pub(super) type Copied<T> = Result<T, CopyError>;

/// A source or target that is not copied, and why.
///
/// ```
/// use fullbore::pattern::CopyError;
/// let error = CopyError::SameFile { source: "a".into(), target: "b".into() };
/// assert_eq!(error.to_string(), "a and b are the same file");
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum CopyError {
    /// An operation failed.
    Failed(Error),
    /// The target is the source, or would be all that is left of it.
    SameFile {
        /// The source.
        source: PathBuf,
        /// The target.
        target: PathBuf,
    },
    /// Directories are not copied without `recursive`.
    DirectoryOmitted {
        /// The source.
        source: PathBuf,
    },
    /// A directory does not replace a file.
    DirectoryOverFile {
        /// The source.
        source: PathBuf,
        /// The target.
        target: PathBuf,
    },
    /// A file does not replace a directory.
    FileOverDirectory {
        /// The target.
        target: PathBuf,
    },
    /// The target is a symbolic link to nothing.
    DanglingLink {
        /// The target.
        target: PathBuf,
    },
    /// The target is the copy of another source.
    JustCreated {
        /// The source.
        source: PathBuf,
        /// The target.
        target: PathBuf,
    },
    /// The target is a symbolic link that was copied from another source.
    ThroughCreatedLink {
        /// The source.
        source: PathBuf,
        /// The target.
        target: PathBuf,
    },
    /// The target is in the source.
    IntoItself {
        /// The source.
        source: PathBuf,
        /// The target.
        target: PathBuf,
    },
    /// A symbolic link leads to a directory that it is in.
    Cycle {
        /// The source.
        source: PathBuf,
    },
    /// The backup of the target would replace the source.
    BackupOverSource {
        /// The source.
        source: PathBuf,
        /// The target.
        target: PathBuf,
    },
    /// A relative symbolic link leads to its source from the working directory only.
    RelativeLink {
        /// The target.
        target: PathBuf,
    },
    /// A link to the source could not be made.
    Link {
        /// The source.
        source: PathBuf,
        /// The target.
        target: PathBuf,
        /// True for a symbolic link.
        symbolic: bool,
        /// The system's error.
        error: io::Error,
    },
    /// The target exists and was not to be replaced.
    NotReplaced {
        /// The target.
        target: PathBuf,
    },
    /// A directory is needed where something else is.
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
}

impl CopyError {
    /// The sort of trouble.
    ///
    /// ```
    /// use fullbore::error::Kind;
    /// use fullbore::pattern::CopyError;
    /// assert_eq!(CopyError::Cycle { source: "a".into() }.kind(), Kind::Unsupported);
    /// ```
    pub fn kind(&self) -> Kind {
        match self {
            Self::Failed(error) => error.kind(),
            Self::SameFile { .. } => Kind::SameFile,
            Self::Link { .. } => Kind::Io,
            Self::IntoItself { .. } => Kind::Invalid,
            _ => Kind::Unsupported,
        }
    }
}

impl From<Error> for CopyError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl fmt::Display for CopyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => write!(f, "{error}"),
            Self::SameFile { source, target } => {
                write!(f, "{} and {} are the same file", source.display(), target.display())
            }
            Self::DirectoryOmitted { source } => write!(f, "{}: it is a directory", source.display()),
            Self::DirectoryOverFile { source, target } => {
                write!(f, "{}: cannot replace it by the directory {}", target.display(), source.display())
            }
            Self::FileOverDirectory { target } => {
                write!(f, "{}: cannot replace the directory by a file", target.display())
            }
            Self::DanglingLink { target } => {
                write!(f, "{}: it is a symbolic link to nothing", target.display())
            }
            Self::JustCreated { source, target } => {
                write!(f, "{}: it was just created, not replaced by {}", target.display(), source.display())
            }
            Self::ThroughCreatedLink { source, target } => {
                write!(
                    f,
                    "{}: the link was just created, not followed for {}",
                    target.display(),
                    source.display()
                )
            }
            Self::IntoItself { source, target } => {
                write!(
                    f,
                    "{}: a directory cannot be copied into itself, {}",
                    source.display(),
                    target.display()
                )
            }
            Self::Cycle { source } => {
                write!(f, "{}: the symbolic link leads to a directory that it is in", source.display())
            }
            Self::BackupOverSource { source, target } => {
                write!(f, "{}: its backup would replace {}", target.display(), source.display())
            }
            Self::RelativeLink { target } => {
                write!(
                    f,
                    "{}: a relative symbolic link can be made in the working directory only",
                    target.display()
                )
            }
            Self::Link { source, target, error, .. } => {
                write!(f, "{}: cannot link to {}: {error}", target.display(), source.display())
            }
            Self::NotReplaced { target } => write!(f, "{}: it exists and is not replaced", target.display()),
            Self::NotADirectory { path } => write!(f, "{}: it is not a directory", path.display()),
        }
    }
}

impl std::error::Error for CopyError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Failed(error) => Some(error),
            Self::Link { error, .. } => Some(error),
            _ => None,
        }
    }
}
