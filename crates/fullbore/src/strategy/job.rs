//! The kinds of job for which strategies are measured.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The state of the input in the page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InputState {
    /// At least half of it is cached.
    Warm,
    /// Less than half of it is cached.
    Cold,
}

/// A kind of job for which strategies are measured: a purpose, and the state of the input in the page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum ProfileJob {
    /// Reading a file without using its bytes: the upper limit of the others.
    Read(InputState),
    /// Counting, or another pass that uses each byte once.
    Scan(InputState),
    /// Searching a file.
    Search(InputState),
    /// Hashing a file.
    Hash(InputState),
    /// Comparing two files.
    Compare(InputState),
    /// Transforming a file over an existing one.
    TransformExisting(InputState),
    /// Transforming a file to a new one.
    TransformNew(InputState),
    /// Copying a file.
    Copy(InputState),
}

type Kind = fn(InputState) -> ProfileJob;

/// Every kind of job, and its name.
const KINDS: [(Kind, &str); 8] = [
    (ProfileJob::Read, "read"),
    (ProfileJob::Scan, "scan"),
    (ProfileJob::Search, "search"),
    (ProfileJob::Hash, "hash"),
    (ProfileJob::Compare, "compare"),
    (ProfileJob::TransformExisting, "transform over an existing file"),
    (ProfileJob::TransformNew, "transform to a new file"),
    (ProfileJob::Copy, "copy"),
];

impl ProfileJob {
    /// Returns every job with its name.
    pub fn all() -> impl Iterator<Item = (Self, String)> {
        let states = [(InputState::Warm, "warm"), (InputState::Cold, "cold")];
        let with = move |(job, name): (Kind, &str)| {
            states.map(|(state, text)| (job(state), format!("{name}, {text}")))
        };
        KINDS.into_iter().flat_map(with)
    }

    /// The job whose measurements are used in place of missing ones: it moves the bytes in the same way. Reading is no
    /// substitute, because a mapping is read only where its bytes are used.
    pub(super) fn substitute(self) -> Option<Self> {
        match self {
            Self::Search(cache_state) | Self::Hash(cache_state) | Self::Compare(cache_state) => {
                Some(Self::Scan(cache_state))
            }
            Self::Copy(cache_state) => Some(Self::TransformNew(cache_state)),
            Self::Read(_) | Self::Scan(_) | Self::TransformExisting(_) | Self::TransformNew(_) => None,
        }
    }
}

impl fmt::Display for ProfileJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::all().find(|(job, _)| job == self).map(|(_, name)| name);
        f.write_str(&name.unwrap_or_default())
    }
}

impl From<ProfileJob> for String {
    fn from(job: ProfileJob) -> Self {
        job.to_string()
    }
}

impl FromStr for ProfileJob {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::all().find(|(_, name)| name == text);
        found.map(|(job, _)| job).ok_or_else(|| format!("unknown job {text:?}"))
    }
}

impl TryFrom<String> for ProfileJob {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_parse_back_from_their_text() {
        assert!(ProfileJob::all().all(|(job, name)| job.to_string() == name && name.parse() == Ok(job)));
        assert_eq!(ProfileJob::Read(InputState::Cold).to_string(), "read, cold");
        assert_eq!(ProfileJob::all().collect::<std::collections::BTreeSet<_>>().len(), 16);
    }
}
