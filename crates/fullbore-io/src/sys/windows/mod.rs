//! Windows. Names are bytes of WTF-8 where Unix has bytes; errors are those of Win32.

mod code;
mod console;
mod descriptor;
mod device;
mod directory;
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
mod privilege;
mod process;
pub(crate) mod shared_ring;
mod sharing;
mod status;
mod transfer;
pub(in crate::sys) mod view;
mod volume;
mod whole_copy;
mod xattr;

pub use console::{
    interprets_sequences, on_console_event, restore_console, terminal_columns, use_utf8_console,
};
pub use descriptor::{make_private, select_of_descriptor};
pub use directory::{Directory, Entry};
pub(crate) use extents::each_extent;
pub use files::*;
pub use handle::*;
pub use names::*;
pub use open::{is_open, open, open_at, reopen, set_status_flags, status_flags, try_clone};
pub(in crate::sys) use path::name_of;
pub use path::{OsStrExt, OsStringExt, PathArg, handle_path, last_name, path_in, shared_path};
pub use pipe::*;
pub use process::call_on_pool;
pub use process::*;
pub(crate) use sharing::clone_range;
pub use status::*;
pub use transfer::*;
pub(crate) use volume::{ALIGNMENT_CALL, REPORTS_DISKS, disks, volume};
pub use whole_copy::copy_to_name;
pub use xattr::*;
