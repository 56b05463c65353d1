//! Ownership of a handle's descriptor.

use std::sync::Arc;

use super::handle::Inner;
use crate::sys::{AsHandle, BorrowedHandle, Handle};

/// The descriptor of a handle. Most files have one handle, which owns its descriptor without a further allocation.
#[derive(Debug)]
pub(super) enum Descriptor {
    /// Owned by the handle alone.
    Own(Handle),
    /// Also held by the guard that locks or removes the file.
    Shared(Arc<Handle>),
    /// That of the handle from which this one was derived.
    Of(Arc<Inner>),
}

crate::as_handle!(Descriptor, this => match this {
    Descriptor::Own(fd) => fd.as_handle(),
    _ => this.of_another(),
});

impl Descriptor {
    /// Separate, so that the code before the system call is short for most handles.
    #[cold]
    fn of_another(&self) -> BorrowedHandle<'_> {
        match self {
            Self::Own(fd) => fd.as_handle(),
            Self::Shared(fd) => fd.as_handle(),
            Self::Of(inner) => inner.fd.as_handle(),
        }
    }
}
