//! How durable an output is to be, and what was done for it.

use std::fmt;
use std::str::FromStr;

use super::Sync;

/// How durable an output is when it counts as done (`docs/durability.md` tells what each level promises).
///
/// ```
/// use fullbore::file::Durability;
///
/// assert_eq!("full".parse(), Ok(Durability::Full));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Every process sees it, whole, even if this one is killed; the system writes it back when it pleases.
    #[default]
    Process,
    /// The bytes are on the device (`fdatasync`) before the output takes its name: after a power failure there is the
    /// old file or the new one, whole.
    Data,
    /// Bytes and attributes (`fsync`), and the name in its directory too: after a power failure there is the new file.
    Full,
}

impl Durability {
    /// What the file needs for it.
    pub(crate) fn sync(self) -> Option<Sync> {
        match self {
            Self::Process => None,
            Self::Data => Some(Sync::Data),
            Self::Full => Some(Sync::Full),
        }
    }
}

impl FromStr for Durability {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self::Process),
            "data" => Ok(Self::Data),
            "full" => Ok(Self::Full),
            _ => Err(format!("{text:?} is none of none, data, full")),
        }
    }
}

/// One thing that a commit did.
///
/// ```
/// use fullbore::file::{Step, Sync};
///
/// assert_eq!(Step::Synced(Sync::Data).to_string(), "fdatasync");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The file was synced.
    Synced(Sync),
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
            Self::Synced(Sync::Data) => "fdatasync",
            Self::Synced(Sync::Full) => "fsync",
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
/// use fullbore::file::{Durability, Output, Step, Sync};
///
/// let output = Output::replace(directory.path().join("settings"))?;
/// output.file().write_all_at(b"colour = blue\n", 0)?;
/// let receipt = output.commit(Durability::Full)?;
/// assert!(receipt.data() && receipt.metadata() && receipt.directory());
/// assert_eq!(receipt.steps().first(), Some(&Step::Synced(Sync::Full)));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Receipt {
    steps: Vec<Step>,
}

impl Receipt {
    pub(super) fn note(&mut self, step: Step) {
        self.steps.push(step);
    }

    /// Whether the bytes were synced.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::{Durability, Output};
    /// let output = Output::replace(directory.path().join("file"))?;
    /// let receipt = output.commit(Durability::Data)?;
    /// assert!(receipt.data() && !receipt.metadata());
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
    /// let receipt = output.commit(Durability::Full)?;
    /// assert!(receipt.metadata());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn metadata(&self) -> bool {
        self.steps.contains(&Step::Synced(Sync::Full))
    }

    /// Whether the directory with the new name was synced. It is not where no name changed: a file overwritten where it
    /// stands.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::{Durability, Output};
    /// let output = Output::replace(directory.path().join("file"))?;
    /// let receipt = output.commit(Durability::Full)?;
    /// assert!(receipt.directory());
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
    /// let receipt = output.commit(Durability::Full)?;
    /// assert!(receipt.steps().contains(&fullbore::file::Step::SyncedDirectory));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }
}

impl fmt::Display for Receipt {
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
