//! System calls, one directory per platform. One of the three modules of the library with `unsafe`, with `buf` and
//! `asynchronous`.
#![allow(unsafe_code)]

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
pub(crate) use linux::*;

#[cfg(not(target_os = "linux"))]
compile_error!("fullbore runs on Linux only");
