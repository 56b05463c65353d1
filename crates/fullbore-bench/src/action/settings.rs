//! Settings that several actions share.

use serde::{Deserialize, Deserializer, Serialize};

/// Settings of one trial: a value for each key of the grid.
pub(crate) type Settings = toml::Table;

/// Deserialises settings into an action's own type, whose errors name the key.
pub(super) fn settings<T: serde::de::DeserializeOwned>(settings: Settings) -> Result<T, String> {
    settings.try_into().map_err(|error: toml::de::Error| error.to_string().trim().replace('\n', " "))
}

/// The strategy that the planner chooses, in the syntax of `--strategy`.
pub(super) fn auto() -> String {
    "auto".into()
}

/// A number of bytes, written as in the tools: `64K`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Bytes(pub(super) u64);

/// The largest number of bytes in a setting: sums and products of a few cannot overflow.
const MOST_BYTES: u64 = 1 << 50;

impl TryFrom<String> for Bytes {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match fullbore::size::parse(&text).map_err(|error| error.to_string())? {
            bytes @ ..=MOST_BYTES => Ok(Self(bytes)),
            _ => Err(format!("{text}: more than {}", fullbore::size::exact(MOST_BYTES))),
        }
    }
}

/// Deserialises a number, or a text, as a text.
pub(super) fn number_or_text<'d, D: Deserializer<'d>>(from: D) -> Result<String, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Given {
        Number(u64),
        Text(String),
    }
    Ok(match Given::deserialize(from)? {
        Given::Number(number) => number.to_string(),
        Given::Text(text) => text,
    })
}

/// Refuses settings with the first of these that is true.
pub(super) fn refuse<const N: usize>(wrong: [(bool, &str); N]) -> Result<(), String> {
    wrong.into_iter().find(|(wrong, _)| *wrong).map_or(Ok(()), |(_, what)| Err(what.into()))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RequestOrder {
    #[default]
    Sequential,
    /// From end to start; each offset is relative to the end of the file.
    Backward,
    /// Each block at most once, in random order over the whole file.
    Random,
    /// Each block at most once, in random order over the first half of the file.
    RandomHalf,
}

impl RequestOrder {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Backward => "backward",
            Self::Random => "random",
            Self::RandomHalf => "random over half",
        }
    }

    pub(super) fn check(self, known: &[Self]) -> Result<(), String> {
        let words: Vec<&str> = known.iter().map(|order| order.words()).collect();
        let unknown = || format!("order {}: expected {}", self.words(), words.join(" or "));
        known.contains(&self).then_some(()).ok_or_else(unknown)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, Default)]
#[serde(rename_all = "lowercase")]
pub(super) enum FileState {
    #[default]
    Overwritten,
    /// A new file, which grows with every request.
    Extended,
    /// A new file that has its length and its blocks, which were never written.
    Preallocated,
    /// An old file with blocks and data, truncated when it is opened.
    Truncated,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, Default)]
#[serde(rename_all = "lowercase")]
pub(super) enum OutputTarget {
    /// The blocks of an existing file of the same length.
    #[default]
    Existing,
    New,
}
