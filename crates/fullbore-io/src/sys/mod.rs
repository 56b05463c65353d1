//! The platform: system calls as functions over types of our own. One of the two modules with `unsafe`, with `buf`; no other names
//! a system call's crate, a path of the kernel's files or the number of an error.
#![allow(unsafe_code)]

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub use unix::*;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
pub use linux::*;

#[cfg(not(target_os = "linux"))]
compile_error!("fullbore runs on Linux only");
