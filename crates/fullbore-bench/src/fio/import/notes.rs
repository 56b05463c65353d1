//! The options of a job file that are not imported: notes on those ignored, an error for those that prevent it.

use std::collections::BTreeMap;
use std::fmt;

use fullbore::quote::clipped;

/// An option of a job file that cannot be measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportError {
    /// The line, from 1.
    pub line: usize,
    /// The option as written.
    pub option: String,
    /// The reason, and the remedy.
    pub why: String,
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}: {}", self.line, clipped(&self.option), clipped(&self.why))
    }
}

impl std::error::Error for ImportError {}

/// Notes, with the options of one reason together.
#[derive(Debug, Default)]
pub(super) struct Notes(BTreeMap<String, Vec<String>>);

impl Notes {
    /// Adds an option (empty: none in particular) with the reason why it is ignored or changed.
    pub(super) fn add(&mut self, option: &str, why: &str) {
        let options = self.0.entry(why.to_owned()).or_default();
        if !option.is_empty() && !options.iter().any(|known| known == option) {
            options.push(option.to_owned());
        }
    }

    pub(super) fn into_texts(self) -> Vec<String> {
        self.0
            .into_iter()
            .map(|(why, options)| match options.is_empty() {
                true => why,
                false => format!("{}: {why}", options.join(", ")),
            })
            .collect()
    }
}
