//! Options of fio, and the reason why a cell cannot be written as such.

use std::fmt;

/// An option of fio and its value.
pub(super) type Setting = (&'static str, String);

/// The reason why fio cannot run a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsupported(pub(crate) String);

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unsupported {}
