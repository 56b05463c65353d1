//! fio, the meter's peer: the same cells run by fio, its job files exported and imported.
//!
//! [`job`] writes a cell as a job file, [`export`] finds the cell, [`import`] converts a job file to experiments. In the
//! meter ([`Options::with_fio`](crate::Options::with_fio)), a cell of fio is an additional trial of the runner.
//! Properties without a counterpart are refused with the reason, never dropped silently.

mod import;
mod job;
mod peer;
mod shape;

pub use import::{ImportError, Imported, import};
pub use job::{JobSource, Target, export, job};
pub(crate) use peer::{Program, add_peer_trials};
pub use shape::Unsupported;
pub(crate) use shape::caveat;
