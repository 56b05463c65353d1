//! fio, the meter's peer: the same cells run by fio, its job files exported and imported.
//!
//! [`job`] writes a cell as a job file, [`export`] finds the cell, [`import`] converts a job file to experiments. In the
//! meter ([`Options::with_fio`](crate::Options::with_fio)) fio is another trial of the runner. Properties without a
//! counterpart are refused with the reason, never dropped silently.

mod counterpart;
mod export;
mod import;
mod job;
mod job_result;
mod peer;
mod program;
mod setting;
mod shape;

pub use export::{JobSource, export};
pub use import::{ImportError, Imported, import};
pub use job::{Target, job};
pub(crate) use peer::add_peer_trials;
pub(crate) use program::Program;
pub use setting::Unsupported;
pub(crate) use shape::caveat;
