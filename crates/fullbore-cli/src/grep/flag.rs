//! The type of a flag, and parsers of values.

use std::ffi::OsStr;

use super::args::{GrepArgs, Sort, SortBy};

/// A flag.
pub(crate) struct Flag {
    pub(crate) short: Option<char>,
    pub(crate) long: &'static str,
    pub(crate) alias: Option<&'static str>,
    /// The name of the flag that negates it.
    pub(crate) negated: Option<&'static str>,
    pub(crate) help: &'static str,
    pub(crate) set: FlagEffect,
}

/// The effect of a flag.
#[derive(Clone, Copy)]
pub(crate) enum FlagEffect {
    /// A flag without a value: true if given, false if negated.
    Switch(fn(&mut GrepArgs, bool)),
    /// A flag with a value of that name; `None` if negated.
    Value(&'static str, Setter),
}

/// Applies a value.
pub(super) type Setter = fn(&mut GrepArgs, Option<&OsStr>) -> Result<(), String>;

pub(super) const fn on(
    short: char,
    long: &'static str,
    help: &'static str,
    set: fn(&mut GrepArgs, bool),
) -> Flag {
    let short = if short == ' ' { None } else { Some(short) };
    Flag { short, long, alias: None, negated: None, help, set: FlagEffect::Switch(set) }
}

pub(super) const fn value(
    short: char,
    long: &'static str,
    name: &'static str,
    help: &'static str,
    set: Setter,
) -> Flag {
    let short = if short == ' ' { None } else { Some(short) };
    Flag { short, long, alias: None, negated: None, help, set: FlagEffect::Value(name, set) }
}

impl Flag {
    pub(super) const fn or(self, negated: &'static str) -> Self {
        Self { negated: Some(negated), ..self }
    }

    pub(super) const fn also(self, alias: &'static str) -> Self {
        Self { alias: Some(alias), ..self }
    }
}

pub(super) fn text(value: Option<&OsStr>) -> Result<&str, String> {
    value.unwrap_or_default().to_str().ok_or_else(|| "value is not valid UTF-8".into())
}

pub(super) fn number<T: std::str::FromStr>(value: Option<&OsStr>) -> Result<T, String> {
    text(value)?.parse().map_err(|_| "value is not a valid number".into())
}

/// Parses a size in `rg`'s syntax: digits, and K, M or G for powers of 1024.
pub(super) fn size(value: Option<&OsStr>) -> Result<u64, String> {
    grep_cli::parse_human_readable_size(text(value)?).map_err(|error| error.to_string())
}

pub(super) fn limit(value: Option<&OsStr>) -> Result<Option<usize>, String> {
    usize::try_from(size(value)?).map(Some).map_err(|_| "size is too big".into())
}

pub(super) fn escaped(value: Option<&OsStr>) -> Result<Vec<u8>, String> {
    Ok(grep_cli::unescape(text(value)?))
}

pub(super) fn sort(value: Option<&OsStr>, reverse: bool) -> Result<Option<Sort>, String> {
    let by = match text(value)? {
        "none" => return Ok(None),
        "path" => SortBy::Path,
        "modified" => SortBy::Modified,
        "accessed" => SortBy::Accessed,
        "created" => SortBy::Created,
        other => return Err(format!("choice '{other}' is unrecognized")),
    };
    Ok(Some(Sort { by, reverse }))
}
