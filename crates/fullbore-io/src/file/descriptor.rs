//! Ownership of a handle's descriptor.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use super::handle::Inner;

/// The descriptor of a handle. Most files have one handle, which owns its descriptor without a further allocation.
#[derive(Debug)]
pub(super) enum Descriptor {
    /// Owned by the handle alone.
    Own(OwnedFd),
    /// Also held by the guard that locks or removes the file.
    Shared(Arc<OwnedFd>),
    /// That of the handle from which this one was derived.
    Of(Arc<Inner>),
}

impl AsFd for Descriptor {
    #[inline]
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Own(fd) => fd.as_fd(),
            _ => self.of_another(),
        }
    }
}

impl Descriptor {
    /// Separate, so that the code before the system call is short for most handles.
    #[cold]
    fn of_another(&self) -> BorrowedFd<'_> {
        match self {
            Self::Own(fd) => fd.as_fd(),
            Self::Shared(fd) => fd.as_fd(),
            Self::Of(inner) => inner.fd.as_fd(),
        }
    }
}
