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
    /// Returns the category.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Failed(error) => error.kind(),
            Self::SameFile { .. } => ErrorKind::SameFile,
            Self::Link { error, .. } => error.into(),
            Self::NotReplaced { .. } => ErrorKind::AlreadyExists,
            Self::IntoItself { .. } => ErrorKind::Invalid,
            _ => ErrorKind::Unsupported,
        }
    }
}

impl From<CopyError> for Error {
    fn from(error: CopyError) -> Self {
        match error {
            CopyError::Failed(error) => error,
            CopyError::Link { target, error, .. } => Self::io("link", target, error),
            other => Self::new(other.kind(), "copy", "", other.to_string()).without_path(),
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
        let (source, target) = match self {
            Self::Failed(error) => return error.fmt(f),
            Self::DirectoryOmitted { source } | Self::Cycle { source } => (source, source),
            Self::FileOverDirectory { target: path }
            | Self::DanglingLink { target: path }
            | Self::RelativeLink { target: path }
            | Self::NotReplaced { target: path }
            | Self::NotADirectory { path } => (path, path),
            Self::SameFile { source, target }
            | Self::DirectoryOverFile { source, target }
            | Self::JustCreated { source, target }
            | Self::ThroughCreatedLink { source, target }
            | Self::IntoItself { source, target }
            | Self::BackupOverSource { source, target }
            | Self::Link { source, target, .. } => (source, target),
        };
        let (source, target) = (source.display(), target.display());
        match self {
            Self::Failed(_) => Ok(()),
            Self::SameFile { .. } => write!(f, "{source} and {target} are the same file"),
            Self::DirectoryOmitted { .. } => write!(f, "{source}: is a directory: copy it with `recursive`"),
            Self::DirectoryOverFile { .. } => write!(f, "{target}: not replaced by the directory {source}"),
            Self::FileOverDirectory { .. } => write!(f, "{target}: a directory is not replaced by a file"),
            Self::DanglingLink { .. } => write!(f, "{target}: dangling symbolic link: not written through"),
            Self::JustCreated { .. } => write!(f, "{target}: just created: not replaced by {source}"),
            Self::ThroughCreatedLink { .. } => {
                write!(f, "{target}: link just created: not followed for {source}")
            }
            Self::IntoItself { .. } => {
                write!(f, "{source}: a directory cannot be copied into itself: {target}")
            }
            Self::Cycle { .. } => write!(f, "{source}: symbolic link to a directory that contains it"),
            Self::BackupOverSource { .. } => write!(f, "{target}: the backup would replace {source}"),
            Self::RelativeLink { .. } => {
                write!(f, "{target}: a relative symbolic link can be created in the working directory only")
            }
            Self::Link { error, .. } => write!(f, "{target}: cannot link to {source}: {error}"),
            Self::NotReplaced { .. } => write!(f, "{target}: exists: not replaced"),
            Self::NotADirectory { .. } => write!(f, "{target}: not a directory"),
        }
    }
}

impl std::error::Error for CopyError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            // Its message is this one.
            Self::Failed(error) => error.source(),
            Self::Link { error, .. } => Some(error),
            _ => None,
        }
    }
}
