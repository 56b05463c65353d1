//! fio, the peer of the meter: the same cells through it, its jobs written for others to run, and its job files read.
//!
//! [`job`] writes what a cell is in fio's words, [`export`] finds the cell, [`import`] makes experiments of a job file.
//! Beside the meter ([`Options::with_fio`](crate::Options::with_fio)) fio is just another trial of the runner. What the
//! two do not share is refused with the reason, never left out in silence.

mod counterpart;
mod export;
mod import;
mod job;
mod job_result;
mod peer;
mod program;
mod shape;

use std::fmt;

pub use export::{JobSource, export};
pub use import::{ImportError, Imported, import};
pub use job::{Target, job};
pub(crate) use peer::add_peer_trials;
pub(crate) use program::Program;
pub(crate) use shape::caveat;

/// Why fio cannot do what a cell does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsupported(pub(crate) String);

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unsupported {}

/// An option of fio and its value, as they stand on both sides of the `=`.
type Setting = (&'static str, String);
