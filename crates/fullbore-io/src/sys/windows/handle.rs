//! Handles of open files.

pub use std::os::windows::io::{AsHandle, BorrowedHandle, OwnedHandle as Handle};

use std::os::windows::io::AsRawHandle;

/// The number of a handle in this process.
pub type RawHandle = isize;

/// The number of a handle.
pub fn raw(file: &impl AsHandle) -> RawHandle {
    file.as_handle().as_raw_handle() as RawHandle
}

/// A name for the file of a handle, for messages.
pub fn handle_name(file: &impl AsHandle) -> String {
    format!("handle {}", raw(file))
}

/// Implements the platform's trait of types that have a handle.
#[doc(hidden)]
#[macro_export]
macro_rules! as_handle {
    ($type:ty, $this:ident => $handle:expr) => {
        impl std::os::windows::io::AsHandle for $type {
            #[inline]
            fn as_handle(&self) -> std::os::windows::io::BorrowedHandle<'_> {
                let $this = self;
                $handle
            }
        }
    };
}
