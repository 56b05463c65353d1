//! Facts that could not be determined.

use crate::error::without_code;

/// A fact that could not be determined.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Unknown {
    pub fact: String,
    pub reason: String,
}

/// Returns the value, or records the reason for its absence.
pub(super) fn keep<T, E: ToString>(found: Result<T, E>, fact: &str, unknown: &mut Vec<Unknown>) -> Option<T> {
    let reason = |error: E| without_code(&error.to_string());
    found.map_err(|error| unknown.push(Unknown { fact: fact.to_owned(), reason: reason(error) })).ok()
}
