//! Facts that could not be determined.

/// A fact that could not be determined.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Unknown {
    pub fact: String,
    pub reason: String,
}

/// Returns the value, or records the reason for its absence.
pub(super) fn keep<T, E: ToString>(found: Result<T, E>, fact: &str, unknown: &mut Vec<Unknown>) -> Option<T> {
    found.map_err(|error| unknown.push(Unknown { fact: fact.to_owned(), reason: error.to_string() })).ok()
}
