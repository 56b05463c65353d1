//! What became of each option that a file was opened with.

use std::fmt;

/// What became of a wish.
///
/// ```
/// let answer = fullbore::file::Answer::Refused("tmpfs is memory".into());
/// assert_eq!(answer.to_string(), "refused: tmpfs is memory");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The system does it.
    Honoured,
    /// It is done in another way: how, and in what it differs.
    Emulated(String),
    /// It is not done, and why.
    Refused(String),
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Honoured => f.write_str("honoured"),
            Self::Emulated(how) => write!(f, "emulated: {how}"),
            Self::Refused(why) => write!(f, "refused: {why}"),
        }
    }
}

/// An option that was asked for and what became of it; displayed as one line.
///
/// ```
/// use fullbore::file::{Answer, Explanation};
/// let explanation = Explanation { option: "share=none", answer: Answer::Honoured };
/// assert_eq!(explanation.to_string(), "share=none honoured");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The option, as `name=value`.
    pub option: &'static str,
    /// What became of it.
    pub answer: Answer,
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.option, self.answer)
    }
}
