//! The reasons for which an entry is not copied.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use fullbore_io::error::{Error, ErrorKind};
use fullbore_io::quote::Shown;

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

    /// Returns the source or target that the error is about.
    pub fn path(&self) -> &Path {
        match self {
            Self::Failed(error) => error.path(),
            Self::DirectoryOmitted { source } | Self::Cycle { source } | Self::IntoItself { source, .. } => {
                source
            }
            Self::NotADirectory { path } => path,
            Self::SameFile { target, .. }
            | Self::DirectoryOverFile { target, .. }
            | Self::FileOverDirectory { target }
            | Self::DanglingLink { target }
            | Self::JustCreated { target, .. }
            | Self::ThroughCreatedLink { target, .. }
            | Self::BackupOverSource { target, .. }
            | Self::RelativeLink { target }
            | Self::Link { target, .. }
            | Self::NotReplaced { target } => target,
        }
    }

    /// The reason without the path.
    fn reason(&self) -> String {
        match self {
            Self::Failed(error) => error.to_string(),
            Self::SameFile { source, .. } => format!("it is the same file as {}", Shown(source)),
            Self::DirectoryOmitted { .. } => "it is a directory: copy it with `recursive`".into(),
            Self::DirectoryOverFile { source, .. } => {
                format!("the directory {} does not replace it", Shown(source))
            }
            Self::FileOverDirectory { .. } => "a file does not replace a directory".into(),
            Self::DanglingLink { .. } => "it is a dangling symbolic link".into(),
            Self::JustCreated { source, .. } => {
                format!("{} does not replace what this copy created", Shown(source))
            }
            Self::ThroughCreatedLink { source, .. } => {
                format!("{} is not written through a link that this copy created", Shown(source))
            }
            Self::IntoItself { target, .. } => format!("its copy {} would be inside it", Shown(target)),
            Self::Cycle { .. } => "it is a symbolic link to a directory that contains it".into(),
            Self::BackupOverSource { source, .. } => format!("its backup would replace {}", Shown(source)),
            Self::RelativeLink { .. } => {
                "a relative symbolic link can be created in the working directory only".into()
            }
            Self::Link { source, error, .. } => format!("cannot link to {}: {error}", Shown(source)),
            Self::NotReplaced { .. } => "it exists".into(),
            Self::NotADirectory { .. } => "it is not a directory".into(),
        }
    }
}

impl From<CopyError> for Error {
    fn from(error: CopyError) -> Self {
        match error {
            CopyError::Failed(error) => error,
            CopyError::Link { target, error, .. } => Self::io("link", target, error),
            other => Self::new(other.kind(), "copy", other.path(), other.reason()),
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
            Self::Failed(error) => error.fmt(f),
            _ => write!(f, "{}: {}", Shown(self.path()), self.reason()),
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
