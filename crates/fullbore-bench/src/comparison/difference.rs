//! Differences between two documents that the comparison reports or refuses.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// The aspect of a difference: the words of `--across`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aspect {
    /// Processor, its number and governor, memory, virtualisation.
    Machine,
    /// Limits of control groups, affinity and resource limits.
    Limits,
    /// The kernel's release.
    Kernel,
    /// The file system: kind, mounted source, mount options, block size, direct I/O.
    FileSystem,
    /// The devices and the settings of their queues.
    Device,
    /// The version of fullbore.
    Version,
    /// The size of the test file.
    FileSize,
}

impl Aspect {
    /// All aspects, in the order of reports.
    pub const ALL: [Self; 7] = [
        Self::Machine,
        Self::Limits,
        Self::Kernel,
        Self::FileSystem,
        Self::Device,
        Self::Version,
        Self::FileSize,
    ];

    /// The word on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Machine => "machine",
            Self::Limits => "limits",
            Self::Kernel => "kernel",
            Self::FileSystem => "file-system",
            Self::Device => "device",
            Self::Version => "version",
            Self::FileSize => "file-size",
        }
    }
}

impl fmt::Display for Aspect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Aspect {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|aspect| aspect.word() == word)
            .ok_or_else(|| format!("\"{word}\" is not one of {}", Self::ALL.map(Self::word).join(", ")))
    }
}

/// A difference between two environments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Its aspect.
    pub aspect: Aspect,
    /// The differing fact, in words.
    pub what: String,
    /// The value in the baseline.
    pub baseline: String,
    /// The value in the other document.
    pub this: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} | {}", self.what, self.baseline, self.this)
    }
}

/// The differences and notes of a pair of documents.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Differences {
    /// Differences that could explain a difference in speed.
    pub differences: Vec<Difference>,
    /// Notes for the reader, a phrase each.
    pub notes: Vec<String>,
}

impl Differences {
    /// Adds a difference.
    pub(super) fn differs(
        &mut self,
        aspect: Aspect,
        what: &str,
        baseline: impl Into<String>,
        this: impl Into<String>,
    ) {
        self.differences.push(Difference {
            aspect,
            what: what.into(),
            baseline: baseline.into(),
            this: this.into(),
        });
    }

    /// Compares two texts, each empty if not recorded. A text that only one document records is a note.
    pub(super) fn text(&mut self, aspect: Aspect, what: &str, baseline: &str, this: &str) {
        match (baseline.is_empty(), this.is_empty()) {
            (false, false) if baseline != this => self.differs(aspect, what, baseline, this),
            (true, false) => self.notes.push(format!("{what} is recorded in one document only: {this}")),
            (false, true) => self.notes.push(format!("{what} is recorded in one document only: {baseline}")),
            _ => {}
        }
    }

    /// Compares two limits; no limit is a value too.
    pub(super) fn limit(&mut self, what: &str, baseline: Option<String>, this: Option<String>) {
        if baseline != this {
            let text = |limit: Option<String>| limit.unwrap_or_else(|| "none".into());
            self.differs(Aspect::Limits, what, text(baseline), text(this));
        }
    }
}
