//! Words of a command line: text, numbers, and names to choose by.

use std::ffi::OsString;

use super::Attempt;

/// Whether `patterns` choose `name` among `names`: a name in full chooses that alone, anything else whatever contains
/// it. No pattern chooses all.
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

/// A word that must be text.
pub(crate) fn text(word: OsString) -> Attempt<String> {
    word.into_string().map_err(|word| format!("{} is not readable text", word.display()).into())
}

/// The whole number that is the value of `option`.
pub(crate) fn number(option: &str, text: &str) -> Attempt<u64> {
    text.parse().map_err(|_| format!("{option}: {text:?} is no whole number").into())
}
