//! The shapes of work: transform, fold, search, compare, copy or generate files, with any strategy.
//!
//! One loop (`transfer_loop`) serves them, with the exceptions that `docs/architecture.md` lists: it takes blocks
//! from a source (an engine, a pipe, a generator), passes them through the operation, and then to a sink (an engine,
//! a pipe, a visitor). The meter runs the same loop, so its measurements apply to the tools.
#![forbid(unsafe_code)]

mod adaptive;
mod checked;
mod compare;
mod copy;
mod executor;
mod fold;
mod holes;
mod order;
mod progress;
mod reorder_buffer;
mod run;
mod search;
mod stream_reader;
mod threads;
mod transfer_loop;
mod transform;
mod work_queue;

#[doc(hidden)]
pub use checked::allocate;
pub use compare::{Comparison, Difference, Differences, End, Extent, Which};
#[doc(hidden)]
pub use compare::{Side, compare, differences};
pub use copy::{
    Backup, BackupControl, Confirm, CopyError, CopyEvent, CopyKind, CopyOptions, CopyStats, Existing, Follow,
    Overwrite, Preserve, Reflink, Sparse,
};
pub(crate) use copy::{CopySettings, copy};
#[doc(hidden)]
pub use copy::{backup_name, copy_file, copy_was_begun};
pub use executor::{Executor, OrderedSender, Worker};
#[doc(hidden)]
pub use fold::{fold, fold_bytes};
pub use fullbore_io::engine::IoStats;
#[doc(hidden)]
pub use order::{Order, Scope};
pub use progress::{Progress, Stats};
#[doc(hidden)]
pub use search::{search, search_bytes};
#[doc(hidden)]
pub use transform::{fill, generate, transform, visit};
