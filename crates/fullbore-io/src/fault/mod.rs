//! Injected faults: storage failures on demand, reproducible from a seed.
//!
//! A [`Plan`] is attached to a file ([`File::with_faults`]) or an output ([`Output::with_faults`]) and inherited by every
//! handle made from it. The plan is consulted before each call on the file, including calls by engines, and permits the call,
//! shortens it or makes it fail. With [`Plan::with_power_failure`] it also records every change that no sync has covered, and
//! can [revert these changes](Plan::crash) as a power failure would.
//!
//! For files without offsets (pipes, devices) the plan counts the bytes from the moment of attachment, read and written
//! bytes separately, and uses these counts as offsets.
//!
//! The module requires the feature `fault`. Without the feature, none of it is compiled; with it, a file without a plan costs
//! one branch per call.
//!
//! ```
//! # let directory = tempfile::tempdir().unwrap();
//! use fullbore_io::fault::{Fault, Plan};
//! use fullbore_io::file::File;
//!
//! let plan = Plan::new(1).with(Fault::Short { one_in: 2 }).with(Fault::Interrupted { one_in: 3 });
//! let file = File::create_new(directory.path().join("file"))?.with_faults(&plan);
//! for at in 0..100 {
//!     file.write_all_at(b"written despite the faults", at * 26)?;
//! }
//! assert!(plan.counts().short > 0 && plan.counts().interrupted > 0);
//! # Ok::<(), fullbore_io::Error>(())
//! ```
#![forbid(unsafe_code)]

pub(crate) mod call;
pub(crate) mod plan;
pub(crate) mod rules;
mod unsynced;

pub use call::{Counts, Event, Fault, Operation, Subject};
pub use plan::Plan;

pub use unsynced::CrashState;

pub use crate::file::types::Call;
#[cfg(doc)]
use crate::file::{File, Output};
