//! How durable written bytes are when a call returns.

use std::str::FromStr;

/// How durable bytes are when they count as written (`docs/durability.md` tells what each level promises of an output).
///
/// ```
/// use fullbore::file::Durability;
///
/// assert_eq!("full".parse(), Ok(Durability::Full));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// In the page cache: every process sees them, even if this one is killed; the system writes them back when it pleases.
    #[default]
    None,
    /// The bytes and what is needed to find them again, the length among it, are on the device (`fdatasync`, `O_DSYNC`). An output
    /// is synced before it takes its name: after a power failure there is the old file or the new one, whole.
    Data,
    /// Bytes and all attributes are (`fsync`, `O_SYNC`), and an output's name in its directory too: after a power failure there is
    /// the new file.
    Full,
}

impl FromStr for Durability {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self::None),
            "data" => Ok(Self::Data),
            "full" => Ok(Self::Full),
            _ => Err(format!("{text:?} is none of none, data, full")),
        }
    }
}
