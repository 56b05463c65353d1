//! Arguments of a command line: text, numbers, and patterns for names.

use std::ffi::OsString;

use super::Attempt;

/// True if `patterns` select `name` among `names`: a full name selects that alone, other text every name that contains it.
/// No pattern selects all.
pub(crate) fn choose<'n>(
    patterns: &[String],
    names: impl Iterator<Item = &'n str> + Clone,
    name: &str,
) -> bool {
    let fits = |pattern: &String| {
        if names.clone().any(|exact| exact == pattern) {
            name == pattern
        } else {
            name.contains(pattern.as_str())
        }
    };
    patterns.is_empty() || patterns.iter().any(fits)
}

/// Converts an argument to text.
pub(crate) fn text(word: OsString) -> Attempt<String> {
    word.into_string().map_err(|word| format!("{} is not readable text", word.display()).into())
}

/// Parses the whole number that is the value of `option`.
pub(crate) fn number(option: &str, text: &str) -> Attempt<u64> {
    text.parse().map_err(|_| format!("{option}: {text:?} is not a whole number").into())
}
