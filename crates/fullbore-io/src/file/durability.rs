//! The durability of written bytes when a call returns.

use std::str::FromStr;

/// The durability level at which bytes count as written; `docs/durability.md` states the promise of each level for an
/// output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// In the page cache: every process sees the bytes, even if this one is killed; the system writes them back at a
    /// time of its choice.
    #[default]
    None,
    /// The bytes and the metadata needed to read them, including the length, are on the device (`fdatasync`,
    /// `O_DSYNC`). An output is synced before it gets its name: after a power failure the file is the old or the new
    /// one, complete. On macOS the bytes of an output reach the device before its name does, and perhaps after the call.
    Data,
    /// The bytes and all attributes are on the device (`fsync`, `O_SYNC`), and so is an output's name in its directory:
    /// after a power failure the file is the new one.
    Full,
}

impl FromStr for Durability {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self::None),
            "data" => Ok(Self::Data),
            "full" => Ok(Self::Full),
            _ => Err(format!("{text:?} is not one of none, data, full")),
        }
    }
}
