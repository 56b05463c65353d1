//! Files: opening any kind of path, outputs that are whole or not there, and what is cleaned up.
#![forbid(unsafe_code)]

mod abandon;
mod calls;
mod explain;
mod handle;
mod kind;
mod lock;
mod open;
mod options;
mod output;
mod transfer;

pub use abandon::{Temporary, abandon_all, unfinished};
pub(crate) use calls::{LONGEST, cut};
pub use explain::{Answer, Explanation};
pub use handle::File;
pub use kind::{FileKind, Snapshot, look};
pub use options::{Access, Hint, Mode, OpenOptions, Share, WriteThrough};
pub use output::{Durability, Output, Placement};
