//! Linux.

pub(crate) mod aio;
mod facts;
mod files;
pub(crate) mod shared_ring;
pub(crate) mod uring;

pub(crate) use facts::*;
pub use files::*;
