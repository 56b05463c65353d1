//! What a commit did to make an output durable.

use std::fmt;

use super::Durability;

/// One thing that a commit did.
///
/// ```
/// use fullbore::file::{Durability, Step};
///
/// assert_eq!(Step::Synced(Durability::Data).to_string(), "fdatasync");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The file was synced, at [`Durability::Data`] or [`Durability::Full`].
    Synced(Durability),
    /// The file got a name (`linkat`).
    Linked,
    /// The file took its destination's name (`renameat`).
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

/// What a [commit](super::Output::commit) did: what was synced, by which calls, in which order.
///
/// ```
/// # fn main() -> fullbore::Result<()> {
/// # let directory = tempfile::tempdir().unwrap();
/// use fullbore::file::{Durability, Output, Step};
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
pub struct CommitReport {
    steps: Vec<Step>,
}

impl CommitReport {
    pub(super) fn note(&mut self, step: Step) {
        self.steps.push(step);
    }

    /// Whether the bytes were synced.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::{Durability, Output};
    /// let output = Output::replace(directory.path().join("file"))?;
    /// let report = output.commit(Durability::Data)?;
    /// assert!(report.data() && !report.metadata());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn data(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Synced(_)))
    }

    /// Whether mode, owner and times were synced too.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::{Durability, Output};
    /// let output = Output::replace(directory.path().join("file"))?;
    /// let report = output.commit(Durability::Full)?;
    /// assert!(report.metadata());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn metadata(&self) -> bool {
        self.steps.contains(&Step::Synced(Durability::Full))
    }

    /// Whether the directory with the new name was synced. It is not where no name changed: a file overwritten where it
    /// stands.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::{Durability, Output};
    /// let output = Output::replace(directory.path().join("file"))?;
    /// let report = output.commit(Durability::Full)?;
    /// assert!(report.directory());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn directory(&self) -> bool {
        self.steps.contains(&Step::SyncedDirectory)
    }

    /// The calls, in the order in which they were made.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::{Durability, Output};
    /// let output = Output::replace(directory.path().join("file"))?;
    /// let report = output.commit(Durability::Full)?;
    /// assert!(report.steps().contains(&fullbore::file::Step::SyncedDirectory));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }
}

impl fmt::Display for CommitReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.steps.is_empty() {
            return f.write_str("nothing to sync or name");
        }
        for (index, step) in self.steps.iter().enumerate() {
            write!(f, "{}{step}", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}
