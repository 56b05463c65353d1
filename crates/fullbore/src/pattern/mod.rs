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
pub use self::{
    compare::{Side, compare, differences},
    copy::{backup_name, copy_file, copy_was_begun},
    fold::{fold, fold_bytes},
    order::{Order, Scope},
    search::{search, search_bytes},
    transform::{fill, generate, transform, visit},
};
pub use compare::{CompareOptions, Comparison, Difference, Differences, End, Which};
pub use copy::{
    Backup, BackupControl, Confirm, CopyError, CopyEvent, CopyKind, CopyOptions, CopyStats, Existing, Follow,
    Overwrite, Preserve, Reflink, Sparse,
};
pub(crate) use copy::{CopySettings, copy};
pub use executor::{Executor, OrderedSender, Worker};
pub use fullbore_io::engine::IoStats;
pub use progress::{Progress, Stats};
