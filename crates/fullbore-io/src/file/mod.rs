//! Opening of any kind of path, outputs that are whole or absent, and the cleanup of unfinished files.
#![forbid(unsafe_code)]

mod apply_options;
mod bounce;
mod cache_mode;
mod calls;
mod cleanup;
mod commit_report;
mod copy;
mod copy_methods;
mod create;
mod descriptor;
mod dir_opener;
mod direct;
mod drop_behind;
mod durability;
mod handle;
mod held;
mod interop;
mod kind;
mod lock;
mod mmap;
mod naming;
mod on_close;
mod open;
mod option_report;
mod options;
mod output;
mod preflight;
mod publish;
mod range_lock;
mod reservation;
mod sequential;
mod settled;
mod space;
mod spans;
mod sweep;
mod sync;
mod text;
mod transfer;
mod vectored;

pub use crate::sys::FileKind;
pub use cache_mode::CachePolicy;
pub(crate) use cache_mode::{DONTCACHE, EMULATED, drops_by_flag};
pub(crate) use calls::{LONGEST, cut};
pub use cleanup::cleanup;
#[doc(hidden)]
pub use cleanup::{Temporary, hidden_name, is_cleaning_up, unfinished};
pub use commit_report::{CommitReport, Step};
pub use copy::CopyReport;
#[doc(hidden)]
pub use copy_methods::{clones, share_all};
#[doc(hidden)]
pub use dir_opener::DirOpener;
pub(crate) use drop_behind::DropBehind;
pub use durability::Durability;
pub use handle::File;
#[doc(hidden)]
pub use held::{HeldDir, spare};
pub use interop::{read, read_into, write};
pub use kind::{FileStamp, stat};
pub use mmap::{Mmap, MmapMut};
#[doc(hidden)]
pub use naming::{linkable, name_unnamed, umask, usual_mode};
pub use option_report::{OptionSupport, Support};
pub use options::{Access, Hint, Mode, OpenOptions, Share};
pub use output::{Output, Placement};
#[doc(hidden)]
pub use publish::lawful;
pub use range_lock::{RangeGuard, RangeLock};
#[doc(hidden)]
pub use settled::SettledReader;
pub(crate) use spans::landed;
#[doc(hidden)]
pub use text::{DOCUMENT_LIMIT, read_text};
