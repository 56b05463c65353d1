//! Calls and types that the Unix systems share.

mod attributes;
pub(in crate::sys) mod c;
pub(crate) mod close;
mod code;
mod files;
pub(crate) mod forks;
mod handle;
pub(crate) mod memory;
pub(crate) mod mincore;
mod names;
mod open;
mod poll;
pub(crate) mod posix_aio;
mod process;
#[cfg(not(target_os = "freebsd"))]
pub(crate) mod range_lock;
#[cfg(not(target_os = "macos"))]
mod special;
mod status;
mod transfer;
pub(crate) mod usage;
pub(in crate::sys) mod view;
mod volume;
#[cfg(not(target_os = "freebsd"))]
mod xattr;

/// Names as bytes.
pub use std::os::unix::ffi::{OsStrExt, OsStringExt};

pub use attributes::{
    change_mode, change_mode_at, change_mode_of, change_owner, change_owner_at, inherit, set_modified,
    set_times, set_times_at,
};
pub(in crate::sys) use code::{canonical, to_error};
#[cfg(not(target_os = "macos"))]
pub use files::advise;
pub use files::{
    lock_whole, make_sparse, monotonic_nanoseconds, purge_unused_pages, set_valid_length, space, space_of,
    split_device, truncate,
};
pub use handle::{AsHandle, BorrowedHandle, Handle, RawHandle, handle_name, raw};
pub use names::{
    AtFlags, Directory, Entry, copy_link, hard_link, make_directory, read_link, remove, rename, symbolic_link,
};
pub use open::{
    CURRENT_DIRECTORY, OpenFlags, PathArg, is_open, open, open_at, set_status_flags, status_flags, try_clone,
};
pub use poll::{wait_any, wait_ready};
pub use process::{
    call_on_pool, clock_ticks_per_second, effective_user, kill, limit, page_size, restore_console, set_limit,
    stdin, stdout, terminal_columns, thread_cpu_time, thread_waits, umask, use_utf8_console,
};
pub(crate) use process::{kernel_release, memory_total};
#[cfg(not(target_os = "macos"))]
pub use special::make_special;
pub use status::{stat, stat_at, status, writable_at};
pub(crate) use transfer::IoVec;
pub use transfer::{
    SeekFrom, TRANSFERS_MOVE_POSITION, position, read, read_at, read_into_spare, read_vectored_at, seek,
    write, write_at, write_vectored, write_vectored_at,
};
pub(crate) use volume::{ALIGNMENT_CALL, disks, group_limits, memory_available, processor_name, volume};
#[cfg(not(target_os = "freebsd"))]
pub use xattr::*;
