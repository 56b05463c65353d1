//! Named flag values, which may be abbreviated.

use std::ffi::OsStr;
use std::marker::PhantomData;

use clap::builder::{EnumValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, ValueEnum};

/// Parses the names of `T`'s values and their unambiguous beginnings, as the GNU tools do.
pub fn names<T: ValueEnum + Clone + Send + Sync + 'static>() -> impl TypedValueParser<Value = T> {
    Names(PhantomData)
}

#[derive(Debug)]
struct Names<T>(PhantomData<fn() -> T>);

impl<T> Clone for Names<T> {
    fn clone(&self) -> Self {
        Self(PhantomData)
    }
}

impl<T: ValueEnum + Clone + Send + Sync + 'static> TypedValueParser for Names<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<T, clap::Error> {
        let whole = value.to_str().and_then(|text| {
            let values = T::value_variants().iter().filter_map(ValueEnum::to_possible_value);
            completed(text, values)
        });
        let whole = whole.as_deref().map_or(value, OsStr::new);
        EnumValueParser::<T>::new().parse_ref(command, arg, whole)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let values: Vec<_> = T::value_variants().iter().filter_map(ValueEnum::to_possible_value).collect();
        Some(Box::new(values.into_iter()))
    }
}

/// As [`names`], for values that are words.
pub fn words(words: &'static [&'static str]) -> impl TypedValueParser<Value = String> {
    Words(words)
}

#[derive(Debug, Clone)]
struct Words(&'static [&'static str]);

impl TypedValueParser for Words {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        let values = self.0.iter().map(PossibleValue::new);
        let whole = value.to_str().and_then(|text| completed(text, values));
        let whole = whole.as_deref().map_or(value, OsStr::new);
        PossibleValuesParser::new(self.0).parse_ref(command, arg, whole)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().map(PossibleValue::new)))
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
    fn a_beginning_of_one_name_is_that_name() {
        let complete = |text| {
            completed(text, ["auto", "always", "never", "none", "none-fail"].iter().map(PossibleValue::new))
        };
        for (text, wanted) in [
            ("auto", Some("auto")),
            ("al", Some("always")),
            ("a", None),
            ("", None),
            ("ne", Some("never")),
            ("n", None),
            ("none", Some("none")),
            ("none-", Some("none-fail")),
            ("nona", None),
        ] {
            assert_eq!(complete(text).as_deref(), wanted, "{text:?}");
        }
    }
}
