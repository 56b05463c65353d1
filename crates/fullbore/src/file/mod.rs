//! Files: opening any kind of path, outputs that are whole or not there, and what is cleaned up.
//!
//! ```
//! use fullbore::file::{Durability, File, Output};
//! # let directory = tempfile::tempdir()?;
//! let path = directory.path().join("greeting");
//! let output = Output::replace(&path)?;
//! output.file().write_all_at(b"hello", 0)?;
//! output.commit(Durability::Data)?; // only now it is there, whole
//! assert_eq!(File::open(&path)?.len()?, 5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod abandon;
mod asked;
mod behind;
mod bounce;
mod calls;
mod copy;
mod direct;
mod explain;
mod handle;
mod kind;
mod ladder;
mod lock;
mod naming;
mod open;
mod options;
mod output;
mod range_lock;
mod receipt;
mod sequential;
mod space;
mod spans;
mod sync;
mod transfer;
mod vectored;
mod way;
mod window;

pub use abandon::{Temporary, abandon_all, unfinished};
pub(crate) use behind::Behind;
pub(crate) use calls::{LONGEST, cut};
pub use copy::CopyReport;
pub use explain::{Answer, Explanation};
pub use handle::File;
pub use kind::{FileKind, Snapshot, look};
pub use options::{Access, Hint, Mode, OpenOptions, Share, WriteThrough};
pub use output::{Output, Placement};
pub use range_lock::{RangeGuard, RangeLock};
pub use receipt::{Durability, Receipt, Step};
pub use sync::Sync;
pub use way::Cache;
pub(crate) use way::{DONTCACHE, EMULATED, drops_by_flag};
pub use window::{Window, WritableWindow};
