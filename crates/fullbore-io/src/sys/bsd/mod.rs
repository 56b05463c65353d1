//! macOS and FreeBSD.

#[cfg(target_os = "macos")]
mod clone;
mod files;
#[cfg(target_os = "freebsd")]
mod xattr;

#[cfg(target_os = "macos")]
pub use clone::{clone_to_name, copy_access_list};
pub use files::*;
#[cfg(target_os = "freebsd")]
pub use xattr::*;
