//! Windows. Names are bytes of WTF-8 where Unix has bytes; errors are those of Win32.

mod attributes;
pub(in crate::sys) mod c;
pub(crate) mod clone;
pub(crate) mod close;
mod code;
mod disk;
mod extents;
pub(crate) mod fiemap;
mod files;
pub(crate) mod forks;
mod handle;
mod information;
pub(crate) mod ioring;
mod job;
mod library;
pub(crate) mod memory;
pub(crate) mod mincore;
mod names;
mod open;
pub(crate) mod overlapped;
mod path;
mod pipe;
mod port;
mod process;
pub(crate) mod range_lock;
pub(crate) mod scatter;
pub(crate) mod shared_ring;
mod status;
pub(crate) mod statx;
mod thread_pool;
pub(crate) mod transfer;
pub(crate) mod usage;
pub(in crate::sys) mod view;
mod volume;
pub(crate) mod writeback;
mod xattr;

pub(in crate::sys) use super::{Code, Result};
pub use attributes::*;
pub(in crate::sys) use code::{canonical, to_error};
pub use files::*;
pub use handle::{AsHandle, BorrowedHandle, Handle, RawHandle, handle_name, raw};
pub(crate) use job::{group_limits, processor_name};
pub use names::*;
pub use open::{
    CURRENT_DIRECTORY, OpenFlags, is_open, open, open_at, reopen, set_status_flags, status_flags, try_clone,
};
pub(in crate::sys) use path::name_of;
pub use path::{OsStrExt, OsStringExt, PathArg, handle_path, path_in};
pub use pipe::*;
pub use process::*;
pub use status::{birth_time, stat, stat_at, status, writable_at};
pub use thread_pool::call_on_pool;
pub(crate) use transfer::IoVec;
pub use transfer::{
    SeekFrom, TRANSFERS_MOVE_POSITION, position, read, read_at, read_into_spare, read_vectored_at, seek,
    write, write_at, write_vectored, write_vectored_at,
};
pub(crate) use volume::{ALIGNMENT_CALL, disks, volume};
pub use xattr::*;
