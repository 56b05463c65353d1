//! The platform: system calls as functions over types of this crate. `sys` and `buf` are the only modules with `unsafe` blocks.
//! No other module names a crate of system calls, a path of the kernel's files or an error number.
#![allow(unsafe_code)]

#[cfg(not(target_os = "linux"))]
mod absent;
mod code;
mod file_system;
pub(crate) mod map;
pub(crate) mod memory;
mod portable;
pub(crate) mod stdio;
mod types;

#[cfg(any(target_os = "freebsd", target_os = "macos"))]
mod bsd;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(not(target_os = "linux"))]
pub(crate) use absent::*;
pub use code::{Code, InUse, Result, uninterrupted};
pub use file_system::FileSystemKind;
pub use portable::*;
pub use types::*;
#[cfg(unix)]
pub use unix::*;
#[cfg(windows)]
pub use windows::*;

/// Makes the content of a file durable before everything that is written after it: names, for example.
#[cfg(not(target_os = "macos"))]
pub use self::sync_data as sync_ordered;

#[cfg(not(any(windows, target_os = "freebsd", target_os = "linux", target_os = "macos")))]
compile_error!("fullbore runs on Linux, macOS, FreeBSD and Windows");

pub fn is_separator(byte: u8) -> bool {
    std::path::is_separator(byte.into())
}
