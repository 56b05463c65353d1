//! The platform: system calls as functions over types of our own. One of the two modules with `unsafe`, with `buf`; no other names
//! a system call's crate, a path of the kernel's files or the number of an error.
#![allow(unsafe_code)]

mod code;
pub(crate) mod extent;
pub(crate) mod map;
mod queue;
pub(crate) mod stdio;
mod types;
mod volume;
mod whole;
pub use code::{Code, InUse, Result};
pub(crate) use queue::{RequestQueue, drain};
pub use types::*;
pub(crate) use volume::{Disk, GroupLimits, Volume};
#[cfg(not(target_os = "macos"))]
pub use whole::clone_to_name;
pub use whole::{read_exact_at, write_all_at};

#[cfg(not(target_os = "linux"))]
mod portable;
#[cfg(windows)]
pub(crate) use portable::posix_aio;
#[cfg(not(target_os = "linux"))]
pub use portable::*;
#[cfg(not(target_os = "linux"))]
pub(crate) use portable::{Wake, aio, cachestat, processor, uring};

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub use unix::*;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
pub use linux::*;

#[cfg(any(target_os = "freebsd", target_os = "macos"))]
mod bsd;
#[cfg(any(target_os = "freebsd", target_os = "macos"))]
pub use bsd::*;

#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub use windows::*;

/// Makes the content of a file durable before everything that is written after it: names, for example.
#[cfg(not(target_os = "macos"))]
pub use self::sync_data as sync_ordered;

#[cfg(not(any(windows, target_os = "freebsd", target_os = "linux", target_os = "macos")))]
compile_error!("fullbore runs on Linux, macOS, FreeBSD and Windows");

/// True for a byte that separates the names of a path.
pub fn is_separator(byte: u8) -> bool {
    std::path::is_separator(byte.into())
}
