//! Opening of any kind of path, outputs that are whole or absent, and the cleanup of unfinished files.
#![deny(unsafe_code)]

mod apply_options;
mod bounce;
mod cache_mode;
mod calls;
pub(crate) mod cleanup;
mod copy;
mod dir_opener;
mod direct;
mod handle;
pub(crate) mod held;
pub(crate) mod inner;
mod interop;
mod kind;
mod locks;
mod mmap;
mod naming;
mod near_copy;
mod open;
mod options;
mod output;
mod preflight;
mod publish;
mod space;
pub(crate) mod spans;
mod sweep;
mod sync;
mod transfer;
pub(crate) mod types;
mod vectored;

pub(crate) use cache_mode::EMULATED;
pub(crate) use calls::{LONGEST, cut};
pub use cleanup::cleanup;
#[doc(hidden)]
pub use cleanup::{
    BackupName, PendingBackup, Temporary, beginning, ending_signal, hidden_name, is_cleaning_up, unfinished,
};
#[doc(hidden)]
pub use copy::{clones, share_all};
#[doc(hidden)]
pub use dir_opener::DirOpener;
#[doc(hidden)]
pub use dir_opener::{UnchangedReader, open_regular};
#[doc(hidden)]
pub use held::{HeldDir, spare};
pub(crate) use inner::CacheMode;
pub use inner::File;
#[doc(hidden)]
pub use interop::{DOCUMENT_LIMIT, read_text};
pub use interop::{read, read_into, write};
#[doc(hidden)]
pub use kind::stat;
pub use locks::{RangeGuard, RangeLock};
pub use mmap::{Mmap, MmapMut};
#[doc(hidden)]
pub use naming::{linkable, name_unnamed, names_directory, umask, usual_mode};
pub use options::{Access, Hint, Mode, OpenOptions, Share};
pub use output::{Output, Placement};
#[doc(hidden)]
pub use publish::{is_refused, permitted_mode};
pub use types::{CachePolicy, CommitReport, CopyReport, Durability, FileStamp, OptionSupport, Step, Support};

pub use crate::sys::FileKind;
