//! Linux.

pub(crate) mod aio;
pub(crate) mod cachestat;
pub(crate) mod clone;
pub(crate) mod fiemap;
mod files;
mod pipe;
pub(crate) mod processor;
pub(crate) mod shared_ring;
pub(crate) mod statx;
pub(crate) mod transfer;
pub(crate) mod uring;
pub(crate) mod writeback;

pub use files::*;
pub use pipe::*;
