//! fio, the meter's peer: the same cells run by fio, its job files exported and imported.
//!
//! [`job`] writes a cell as a job file, [`export`] finds the cell, [`import`] converts a job file to experiments. In the
//! meter ([`Options::with_fio`](crate::Options::with_fio)) fio is another trial of the runner. Properties without a
//! counterpart are refused with the reason, never dropped silently.
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

/// The reason why fio cannot run a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsupported(pub(crate) String);

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unsupported {}

/// An option of fio and its value.
type Setting = (&'static str, String);
