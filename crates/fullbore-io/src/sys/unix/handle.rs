//! Handles of open files: file descriptors.

use std::os::fd::{AsFd, AsRawFd};

/// An open file, closed when dropped.
pub use std::os::fd::OwnedFd as Handle;

/// A handle that another owns.
pub use std::os::fd::BorrowedFd as BorrowedHandle;

/// The number of a handle in this process.
pub use std::os::fd::RawFd as RawHandle;

/// A type with a handle: a file of this library, of std, or of any library that knows descriptors.
pub trait AsHandle: AsFd {
    /// Borrows the handle.
    fn as_handle(&self) -> BorrowedHandle<'_>;
}

impl<T: AsFd + ?Sized> AsHandle for T {
    #[inline]
    fn as_handle(&self) -> BorrowedHandle<'_> {
        self.as_fd()
    }
}

/// The number of a handle.
pub fn raw(file: &impl AsHandle) -> RawHandle {
    file.as_handle().as_raw_fd()
}

/// A path by which this process can open the file of a handle.
pub fn handle_name(file: &impl AsHandle) -> String {
    format!("/dev/fd/{}", raw(file))
}

/// Implements the platform's trait of types that have a handle.
#[doc(hidden)]
#[macro_export]
macro_rules! as_handle {
    ($type:ty, $this:ident => $handle:expr) => {
        impl std::os::fd::AsFd for $type {
            #[inline]
            fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
                let $this = self;
                $handle
            }
        }
    };
}
