//! Calls and types that the Unix systems share, and those of the target system.

pub(in crate::sys) mod attributes;
pub(in crate::sys) mod code;
pub(in crate::sys) mod files;
pub(in crate::sys) mod names;
pub(in crate::sys) mod open;
pub(crate) mod posix_aio;
pub(in crate::sys) mod process;
pub(in crate::sys) mod view;

/// Names as bytes.
pub use std::os::unix::ffi::{OsStrExt, OsStringExt};

pub use attributes::*;
pub use files::*;
pub use names::*;
pub use open::*;
pub use process::*;

#[cfg(any(target_os = "freebsd", target_os = "macos"))]
pub use super::bsd::*;
#[cfg(target_os = "linux")]
pub use super::linux::*;
pub(crate) use view::resident_pages;
