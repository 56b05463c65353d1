//! Calls and types that the Unix systems share.

mod attributes;
mod code;
pub(crate) mod memory;
mod names;
mod open;
mod poll;
mod process;
mod status;
mod transfer;

pub use attributes::{
    attribute, attribute_of, attribute_of_name, attributes, attributes_of_name, change_mode, change_mode_at,
    change_mode_of, change_owner, change_owner_at, set_attribute, set_attribute_of_name, set_modified,
    set_times, set_times_at,
};
pub use code::{Code, Result};
pub use names::{
    AtFlags, Directory, Entry, hard_link, make_directory, make_special, read_link, remove, rename,
    symbolic_link,
};
pub use open::{
    CURRENT_DIRECTORY, OpenFlags, PathArg, is_open, open, open_at, set_status_flags, status_flags, try_clone,
};
pub use poll::{Interest, wait_any, wait_ready};
pub use process::{
    Limit, Resource, clock_ticks_per_second, effective_user, kill, limit, page_size, set_limit, stdin,
    stdout, terminal_columns, thread_cpu_time, umask,
};
pub use status::{FileKind, Status, stat, stat_at, status, writable_at};
pub(crate) use transfer::IoVec;
pub use transfer::{
    SeekFrom, position, read, read_at, read_vectored_at, seek, write, write_at, write_vectored,
    write_vectored_at,
};
