//! macOS and FreeBSD.

#[cfg(target_os = "macos")]
mod clone;
mod facts;
mod files;

#[cfg(target_os = "macos")]
pub use clone::clone_to_name;
pub(crate) use facts::*;
pub use files::*;
