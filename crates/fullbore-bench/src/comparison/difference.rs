//! Differences between two documents that the comparison reports or refuses, and other reasons for a refusal.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use serde_json::Value;

use crate::document::word;

/// Text from a document or a path, with control characters replaced: they could control a terminal.
pub(super) fn shown(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{FFFD}' } else { c }).collect()
}

/// A value as text; empty for null.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

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
}

impl fmt::Display for Aspect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&word(self))
    }
}

impl FromStr for Aspect {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|aspect| aspect.to_string() == word).ok_or_else(|| {
            format!("\"{word}\" is not one of {}", Self::ALL.map(|aspect| aspect.to_string()).join(", "))
        })
    }
}

/// A difference between two environments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The aspect of the environment that differs.
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
    pub(super) fn differs(
        &mut self,
        aspect: Aspect,
        what: &str,
        baseline: impl Into<String>,
        this: impl Into<String>,
    ) {
        let (what, baseline, this) = (what.into(), baseline.into(), this.into());
        self.differences.push(Difference { aspect, what, baseline, this });
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

/// The reason why documents were not compared.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// The environments differ in an aspect that is not allowed.
    #[error(fmt = refusal)]
    Differ {
        /// The differences of each document, by name.
        documents: Vec<(String, Vec<Difference>)>,
    },
    /// A document has no cells.
    #[error("{name}: no cells to compare")]
    NoCells {
        /// The name of the document.
        name: String,
    },
    /// A document has two cells with one id.
    #[error("{name}: damaged: two cells have the id {id}")]
    Twice {
        /// The name of the document.
        name: String,
        /// The id.
        id: String,
    },
    /// No cell matches a pattern.
    #[error("--only {pattern}: no cell matches; one of the ids is {example}")]
    NoMatch {
        /// The pattern that matches none.
        pattern: String,
        /// An id that exists.
        example: String,
    },
    /// No cell was measured in both.
    #[error(
        "{name}: no measured cell in common with the baseline (baseline: {}; this: {})", examples[0], examples[1]
    )]
    NothingInCommon {
        /// Name of the document.
        name: String,
        /// An id of the baseline, and one of the document.
        examples: [String; 2],
    },
}

fn refusal(documents: &[(String, Vec<Difference>)], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "not compared: differences between the environments could explain a difference in speed")?;
    for (name, differences) in documents {
        writeln!(f, "  {name} against the baseline (baseline | this):")?;
        for difference in differences {
            writeln!(f, "    {:<11} {}", difference.aspect, shown(&difference.to_string()))?;
        }
    }
    let aspects = documents.iter().flat_map(|(_, differences)| differences).map(|one| one.aspect);
    let words: Vec<String> = aspects.collect::<BTreeSet<_>>().iter().map(ToString::to_string).collect();
    write!(f, "to compare across them: --across {} (or --anyway for all differences)", words.join(","))
}
