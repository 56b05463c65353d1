//! Windows. Names are bytes of WTF-8 where Unix has bytes; errors are those of Win32.

mod code;
mod console;
mod device;
mod extents;
mod files;
mod handle;
mod information;
pub(crate) mod ioring;
mod names;
mod open;
pub(crate) mod overlapped;
mod path;
mod pipe;
mod process;
pub(crate) mod shared_ring;
mod status;
mod transfer;
pub(in crate::sys) mod view;
mod volume;
mod xattr;

pub use console::{on_console_event, restore_console, terminal_columns, use_utf8_console};
pub(crate) use extents::each_extent;
pub use files::*;
pub use handle::*;
pub use information::truncate;
pub use names::*;
pub use open::{is_open, open, open_at, reopen, set_status_flags, status_flags, try_clone};
pub(in crate::sys) use path::name_of;
pub use path::{OsStrExt, OsStringExt, PathArg, handle_path, path_in};
pub use pipe::*;
pub use process::call_on_pool;
pub use process::*;
pub use status::*;
pub use transfer::*;
pub(crate) use volume::{ALIGNMENT_CALL, REPORTS_DISKS, disks, volume};
pub use xattr::*;
