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
mod on_close;
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
mod whole_copy;

#[doc(hidden)]
pub use self::{
    cleanup::{
        BackupName, PendingBackup, Temporary, beginning, ending_signal, hidden_name, is_cleaning_up,
        unfinished,
    },
    copy::{clones, share_all},
    dir_opener::{DirOpener, UnchangedReader, open_regular},
    held::{HeldDir, even_unlisted, spare},
    interop::{DOCUMENT_LIMIT, read_text},
    kind::stat,
    naming::{linkable, name_unnamed, names_directory, rename_new, umask, usual_mode},
    publish::{is_refused, permitted_mode},
};
pub(crate) use cache_mode::EMULATED;
pub(crate) use calls::{BUFFERS, LONGEST, cut};
pub use cleanup::cleanup;
pub(crate) use inner::CacheMode;
pub use inner::File;
pub use interop::{read, read_into, write};
pub use locks::{RangeGuard, RangeLock};
pub use mmap::{Mmap, MmapMut};
pub use options::{Access, Hint, Mode, OpenOptions, Share};
pub use output::{Output, Placement};
pub use types::{CachePolicy, CommitReport, CopyReport, Durability, FileStamp, OptionSupport, Step, Support};

pub use crate::sys::FileKind;
