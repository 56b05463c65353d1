//! Error numbers of the system that tests expect.

/// A failed device: `EIO`, `ERROR_IO_DEVICE`.
pub const IO: i32 = if cfg!(windows) { 1117 } else { 5 };

/// No space: `ENOSPC`, `ERROR_DISK_FULL`.
pub const NO_SPACE: i32 = if cfg!(windows) { 112 } else { 28 };

/// A transfer for which the file was not opened: `EBADF`, `ERROR_ACCESS_DENIED`.
pub const NOT_OPENED_FOR: i32 = if cfg!(windows) { 5 } else { 9 };
