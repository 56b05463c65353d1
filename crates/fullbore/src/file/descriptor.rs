//! Who holds the descriptor of a handle.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use super::handle::Inner;

/// The descriptor of a handle. Most files are opened, used and closed alone: those own theirs without another allocation.
#[derive(Debug)]
pub(super) enum Descriptor {
    /// The handle's alone.
    Own(OwnedFd),
    /// Who locks or removes the file holds it too.
    Shared(Arc<OwnedFd>),
    /// That of the handle this one was made of.
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
    /// Apart, so that what comes before the system call of most handles is short.
    #[cold]
    fn of_another(&self) -> BorrowedFd<'_> {
        match self {
            Self::Own(fd) => fd.as_fd(),
            Self::Shared(fd) => fd.as_fd(),
            Self::Of(inner) => inner.fd.as_fd(),
        }
    }
}
