//! The reasons for which an entry is not copied.

use std::fmt;
use std::io;
use std::path::PathBuf;

use fullbore_io::error::{Error, ErrorKind};

/// `Result` with a [`CopyError`].
pub(super) type Copied<T> = Result<T, CopyError>;

/// A source or target that is not copied, and the reason.
#[derive(Debug)]
#[non_exhaustive]
#[allow(missing_docs, reason = "`source` and `target` are paths of the copy")]
pub enum CopyError {
    /// An operation failed.
    Failed(Error),
    /// The target is the source, or would be its only remaining copy.
    SameFile { source: PathBuf, target: PathBuf },
    /// Directories are not copied without `recursive`.
    DirectoryOmitted { source: PathBuf },
    /// A directory cannot replace a file.
    DirectoryOverFile { source: PathBuf, target: PathBuf },
    /// A file cannot replace a directory.
    FileOverDirectory { target: PathBuf },
    /// The target is a dangling symbolic link.
    DanglingLink { target: PathBuf },
    /// The target was created from another source of this run.
    JustCreated { source: PathBuf, target: PathBuf },
    /// The target is a symbolic link created from another source of this run.
    ThroughCreatedLink { source: PathBuf, target: PathBuf },
    /// The target is inside the source.
    IntoItself { source: PathBuf, target: PathBuf },
    /// A symbolic link points to a directory that contains it.
    Cycle { source: PathBuf },
    /// The backup of the target would replace the source.
    BackupOverSource { source: PathBuf, target: PathBuf },
    /// A relative symbolic link would be valid in the working directory only.
    RelativeLink { target: PathBuf },
    /// A link to the source could not be created.
    Link { source: PathBuf, target: PathBuf, symbolic: bool, error: io::Error },
    /// The target exists and the options keep it.
    NotReplaced { target: PathBuf },
    /// A component that must be a directory is not one.
    NotADirectory { path: PathBuf },
}

impl CopyError {
    /// The category.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Failed(error) => error.kind(),
            Self::SameFile { .. } => ErrorKind::SameFile,
            Self::Link { .. } => ErrorKind::Io,
            Self::IntoItself { .. } => ErrorKind::Invalid,
            _ => ErrorKind::Unsupported,
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
            Self::DirectoryOmitted { source } => {
                write!(f, "{}: is a directory: copy it with `recursive`", source.display())
            }
            Self::DirectoryOverFile { source, target } => {
                write!(f, "{}: not replaced by the directory {}", target.display(), source.display())
            }
            Self::FileOverDirectory { target } => {
                write!(f, "{}: a directory is not replaced by a file", target.display())
            }
            Self::DanglingLink { target } => {
                write!(f, "{}: dangling symbolic link: not written through", target.display())
            }
            Self::JustCreated { source, target } => {
                write!(f, "{}: just created: not replaced by {}", target.display(), source.display())
            }
            Self::ThroughCreatedLink { source, target } => {
                write!(f, "{}: link just created: not followed for {}", target.display(), source.display())
            }
            Self::IntoItself { source, target } => {
                write!(
                    f,
                    "{}: a directory cannot be copied into itself: {}",
                    source.display(),
                    target.display()
                )
            }
            Self::Cycle { source } => {
                write!(f, "{}: symbolic link to a directory that contains it", source.display())
            }
            Self::BackupOverSource { source, target } => {
                write!(f, "{}: the backup would replace {}", target.display(), source.display())
            }
            Self::RelativeLink { target } => {
                write!(
                    f,
                    "{}: a relative symbolic link can be created in the working directory only",
                    target.display()
                )
            }
            Self::Link { source, target, error, .. } => {
                write!(f, "{}: cannot link to {}: {error}", target.display(), source.display())
            }
            Self::NotReplaced { target } => write!(f, "{}: exists: not replaced", target.display()),
            Self::NotADirectory { path } => write!(f, "{}: not a directory", path.display()),
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
