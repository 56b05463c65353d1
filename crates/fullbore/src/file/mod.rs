//! Files: opening any kind of path, outputs that are whole or not there, and what is cleaned up.
#![forbid(unsafe_code)]

mod abandon;
mod calls;
mod handle;
mod kind;
mod naming;
mod output;
mod receipt;
mod sync;
mod transfer;

pub use abandon::{Temporary, abandon_all, unfinished};
pub(crate) use calls::{LONGEST, cut};
pub use handle::File;
pub use kind::{FileKind, Snapshot, look};
pub use output::{Output, Placement};
pub use receipt::{Durability, Receipt, Step};
pub use sync::Sync;
