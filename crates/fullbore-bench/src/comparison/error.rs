//! The reasons for which documents are not compared.

use std::fmt;

use super::difference::{Aspect, Difference};
use super::text::shown;

/// The reason why documents were not compared.
#[derive(Debug, Clone, PartialEq)]
pub enum Error {
    /// The environments differ in an aspect that is not allowed.
    Differ {
        /// The differences of each document, by name.
        documents: Vec<(String, Vec<Difference>)>,
    },
    /// A document has no cells.
    NoCells {
        /// Its name.
        name: String,
    },
    /// A document has two cells with one id.
    Twice {
        /// Its name.
        name: String,
        /// The id.
        id: String,
    },
    /// No cell matches a pattern.
    NoMatch {
        /// The pattern that matches none.
        pattern: String,
        /// An id that exists.
        example: String,
    },
    /// No cell was measured in both.
    NothingInCommon {
        /// Name of the document.
        name: String,
        /// An id of the baseline, and one of the document.
        examples: [String; 2],
    },
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Differ { documents } => refusal(f, documents),
            Self::NoCells { name } => write!(f, "{name}: no cells to compare"),
            Self::Twice { name, id } => write!(f, "{name}: damaged: two cells have the id {id}"),
            Self::NoMatch { pattern, example } => {
                write!(f, "--only {pattern}: no cell matches; one of the ids is {example}")
            }
            Self::NothingInCommon { name, examples: [baseline, this] } => write!(
                f,
                "{name}: no measured cell in common with the baseline (baseline: {baseline}; this: {this})"
            ),
        }
    }
}

/// The reason for a refused comparison, and the option that allows it.
fn refusal(f: &mut fmt::Formatter<'_>, documents: &[(String, Vec<Difference>)]) -> fmt::Result {
    writeln!(f, "not compared: differences between the environments could explain a difference in speed")?;
    let mut aspects: Vec<Aspect> = Vec::new();
    for (name, differences) in documents {
        writeln!(f, "  {name} against the baseline (baseline | this):")?;
        for difference in differences {
            writeln!(f, "    {:<11} {}", difference.aspect.word(), shown(&difference.to_string()))?;
            if !aspects.contains(&difference.aspect) {
                aspects.push(difference.aspect);
            }
        }
    }
    aspects.sort();
    let words: Vec<&str> = aspects.iter().map(|aspect| aspect.word()).collect();
    write!(f, "to compare across them: --across {} (or --anyway for all differences)", words.join(","))
}
