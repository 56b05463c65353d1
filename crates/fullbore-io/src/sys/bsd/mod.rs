//! macOS and FreeBSD.

#[cfg(target_os = "macos")]
mod clone;
mod files;

#[cfg(target_os = "macos")]
pub use clone::clone_to_name;
pub use files::*;
