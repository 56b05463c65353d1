//! macOS and FreeBSD.

pub(crate) mod clone;
pub(crate) mod fiemap;
mod files;
mod pipe;
#[cfg(target_os = "freebsd")]
pub(crate) mod range_lock;
#[cfg(target_os = "macos")]
mod special;
pub(crate) mod statx;
pub(crate) mod transfer;
pub(crate) mod writeback;
#[cfg(target_os = "freebsd")]
mod xattr;

#[cfg(target_os = "macos")]
pub use clone::clone_to_name;
pub(in crate::sys) use files::name_of;
pub use files::*;
pub use pipe::*;
#[cfg(target_os = "macos")]
pub use special::make_special;
#[cfg(target_os = "freebsd")]
pub use xattr::*;
