//! What became of each option that a file was opened with.

use std::fmt;

/// How far the system supports an option.
///
/// ```
/// let support = fullbore::file::Support::Unsupported("tmpfs is memory".into());
/// assert_eq!(support.to_string(), "refused: tmpfs is memory");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Support {
    /// The system does it.
    Native,
    /// It is done in another way: how, and in what it differs.
    Emulated(String),
    /// It is not done, and why.
    Unsupported(String),
}

impl fmt::Display for Support {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Native => f.write_str("honoured"),
            Self::Emulated(how) => write!(f, "emulated: {how}"),
            Self::Unsupported(why) => write!(f, "refused: {why}"),
        }
    }
}

/// An option that was asked for and what became of it; displayed as one line.
///
/// ```
/// use fullbore::file::{Support, OptionSupport};
/// let option = OptionSupport { option: "share=none", support: Support::Native };
/// assert_eq!(option.to_string(), "share=none honoured");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionSupport {
    /// The option, as `name=value`.
    pub option: &'static str,
    /// What became of it.
    pub support: Support,
}

impl fmt::Display for OptionSupport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.option, self.support)
    }
}
