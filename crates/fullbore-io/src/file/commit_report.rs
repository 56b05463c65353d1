//! The report of a commit: the steps that made an output durable.

use std::fmt;

use super::Durability;

/// One step of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// The file was synced to [`Durability::Data`] or [`Durability::Full`].
    Synced(Durability),
    /// The file got a name (`linkat`).
    Linked,
    /// The file was renamed to its destination (`renameat`).
    Renamed,
    /// The destination's directory was synced (`fsync`).
    SyncedDirectory,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Synced(Durability::None) => "no sync",
            Self::Synced(Durability::Data) => "fdatasync",
            Self::Synced(Durability::Full) => "fsync",
            Self::Linked => "linkat",
            Self::Renamed => "renameat",
            Self::SyncedDirectory => "fsync of the directory",
        })
    }
}

/// The steps of a [commit](super::Output::commit): syncs and renames, by system call and in order.
///
/// ```
/// # fn main() -> fullbore_io::Result<()> {
/// # let directory = tempfile::tempdir().unwrap();
/// use fullbore_io::file::{Durability, Output, Step};
///
/// let output = Output::replace(directory.path().join("settings"))?;
/// output.file().write_all_at(b"colour = blue\n", 0)?;
/// let report = output.commit(Durability::Full)?;
/// assert!(report.data() && report.metadata() && report.directory());
/// assert_eq!(report.steps().first(), Some(&Step::Synced(Durability::Full)));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct CommitReport {
    steps: Vec<Step>,
}

impl CommitReport {
    pub(super) fn note(&mut self, step: Step) {
        self.steps.push(step);
    }

    /// True if the bytes were synced.
    pub fn data(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Synced(_)))
    }

    /// True if mode, owner and times were synced too.
    pub fn metadata(&self) -> bool {
        self.steps.contains(&Step::Synced(Durability::Full))
    }

    /// True if the directory with the new name was synced. It is not synced if no name changed, as for a file
    /// overwritten in place.
    pub fn directory(&self) -> bool {
        self.steps.contains(&Step::SyncedDirectory)
    }

    /// The steps, in the order in which they were made.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }
}

impl fmt::Display for CommitReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.steps.is_empty() {
            return f.write_str("nothing synced or renamed");
        }
        for (index, step) in self.steps.iter().enumerate() {
            write!(f, "{}{step}", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}
