//! System calls, one folder a platform. With `buf`, the only home of `unsafe` in the library.
#![allow(unsafe_code)]

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
pub(crate) use linux::*;

#[cfg(not(target_os = "linux"))]
compile_error!("fullbore runs on Linux only");
