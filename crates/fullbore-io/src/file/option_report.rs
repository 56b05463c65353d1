//! The support of each option that a file was opened with.

use std::fmt;

/// The extent to which the system supports an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Support {
    /// Supported by the system.
    Native,
    /// Done in another way; the text names it and the difference.
    Emulated(String),
    /// Not done; the text gives the reason.
    Unsupported(String),
}

impl fmt::Display for Support {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Native => f.write_str("native"),
            Self::Emulated(how) => write!(f, "emulated: {how}"),
            Self::Unsupported(why) => write!(f, "unsupported: {why}"),
        }
    }
}

/// A requested option and its support; displayed as one line.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OptionSupport {
    /// The option, as `name=value`.
    pub option: &'static str,
    /// The support of the option.
    pub support: Support,
}

impl fmt::Display for OptionSupport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.option, self.support)
    }
}
