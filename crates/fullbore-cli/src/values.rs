//! Values of arguments: the operand `-`, and names, which may be abbreviated.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::builder::{OsStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, ValueEnum};
use fullbore::file::Durability;

/// True for the argument `-`: standard input, or for an output standard output. Comparing paths would take longer, and `-/`
/// equals it.
pub fn is_stdio(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Parses the names of values and their unambiguous beginnings, as the GNU tools do.
#[derive(Debug, Clone)]
struct Choices<T> {
    values: Vec<(PossibleValue, T)>,
    /// True if an argument that is not UTF-8 is an error of its own, not an unknown name.
    strict: bool,
}

/// Parses the names of `T`'s values.
pub fn names<T: ValueEnum + Clone + Send + Sync + 'static>() -> impl TypedValueParser<Value = T> {
    let named = |value: &T| Some((value.to_possible_value()?, value.clone()));
    Choices { values: T::value_variants().iter().filter_map(named).collect(), strict: false }
}

/// Parses names that stand for values, each with its help.
pub fn choices<T: Clone + Send + Sync + 'static>(
    all: &[(&'static str, &'static str, T)],
) -> impl TypedValueParser<Value = T> + use<T> {
    let named = |(name, help, value): &(&'static str, &'static str, T)| {
        let name = PossibleValue::new(*name);
        (if help.is_empty() { name } else { name.help(*help) }, value.clone())
    };
    Choices { values: all.iter().map(named).collect(), strict: false }
}

/// Parses levels of durability.
pub fn durability() -> impl TypedValueParser<Value = Durability> {
    choices(&[("none", "", Durability::None), ("data", "", Durability::Data), ("full", "", Durability::Full)])
}

/// Parses words that stand for values.
pub fn words<T: Clone + Send + Sync + 'static>(
    all: &[(&'static str, T)],
) -> impl TypedValueParser<Value = T> + use<T> {
    let values = all.iter().map(|(word, value)| (PossibleValue::new(*word), value.clone()));
    Choices { values: values.collect(), strict: true }
}

/// A value with its names: its own, and others that help does not list.
pub type NamedValue<T> = (&'static [&'static str], T);

fn possible<T>((names, _): &NamedValue<T>) -> PossibleValue {
    PossibleValue::new(names[0]).aliases(&names[1..])
}

/// Parses names of values, and the empty word, which help does not list.
pub fn names_or_empty<T>(all: &[NamedValue<T>]) -> impl TypedValueParser<Value = String> + use<T> {
    let empty = (PossibleValue::new("").hide(true), String::new());
    let names = all.iter().map(|value| (possible(value), value.0[0].to_owned()));
    Choices { values: names.chain([empty]).collect(), strict: true }
}

/// Returns the value of a name or of an unambiguous beginning of one.
///
/// # Errors
/// "invalid" or "ambiguous".
pub fn lookup<T: Clone>(text: &str, all: &[NamedValue<T>]) -> Result<T, &'static str> {
    let begins = |(names, _): &NamedValue<T>| names.iter().any(|name| name.starts_with(text));
    match completed(text, all.iter().map(possible)) {
        Some(name) => {
            let found = all.iter().find(|(names, _)| names.contains(&name.as_str()));
            Ok(found.expect("a name that was completed").1.clone())
        }
        None if all.iter().any(begins) => Err("ambiguous"),
        None => Err("invalid"),
    }
}

/// Parses paths. The empty path is one that does not exist, as for the GNU tools.
pub fn path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for Choices<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<T, clap::Error> {
        let names = || self.values.iter().map(|(name, _)| name.clone());
        let lossy = value.to_string_lossy();
        let value = if self.strict { value } else { OsStr::new(&*lossy) };
        let whole = value.to_str().and_then(|text| completed(text, names()));
        let whole = whole.as_deref().map_or(value, OsStr::new);
        let name = PossibleValuesParser::new(names()).parse_ref(command, arg, whole)?;
        let found = self.values.iter().find(|(known, _)| known.matches(&name, false));
        Ok(found.expect("a name that was accepted").1.clone())
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.values.iter().map(|(name, _)| name.clone())))
    }
}

/// Returns the name of the only value with a name that begins with `text`.
fn completed(text: &str, values: impl Iterator<Item = PossibleValue>) -> Option<String> {
    let mut found = None;
    for value in values {
        if value.get_name_and_aliases().any(|name| name == text) {
            return Some(text.to_owned());
        }
        if value.get_name_and_aliases().any(|name| name.starts_with(text)) {
            match found {
                None => found = Some(Some(value.get_name().to_owned())),
                Some(_) => found = Some(None),
            }
        }
    }
    found.flatten()
}

/// True if the value that `error` rejects is the beginning of several names.
pub fn is_ambiguous(error: &clap::Error) -> bool {
    if error.kind() != ErrorKind::InvalidValue {
        return false;
    }
    match (error.get(ContextKind::InvalidValue), error.get(ContextKind::ValidValue)) {
        (Some(ContextValue::String(value)), Some(ContextValue::Strings(names))) => {
            names.iter().filter(|name| name.starts_with(value.as_str())).count() > 1
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_or_the_beginning_of_names_of_one_value_is_that_value() {
        let all: [NamedValue<u8>; 4] =
            [(&["never", "next"], 0), (&["nil"], 1), (&["numbered", "t"], 2), (&["num"], 3)];
        for (text, wanted) in [
            ("t", Ok(2)),
            ("num", Ok(3)),
            ("numb", Ok(2)),
            ("ne", Ok(0)),
            ("ni", Ok(1)),
            ("n", Err("ambiguous")),
            ("", Err("ambiguous")),
            ("nile", Err("invalid")),
            ("x", Err("invalid")),
        ] {
            assert_eq!(lookup(text, &all), wanted, "{text}");
        }
    }
}
