//! Linux.

pub(crate) mod aio;
pub(crate) mod cachestat;
pub(crate) mod clone;
pub(crate) mod close;
pub(crate) mod fiemap;
mod files;
pub(crate) mod forks;
pub(crate) mod map;
mod pipe;
pub(crate) mod processor;
pub(crate) mod range_lock;
pub(crate) mod shared_ring;
pub(crate) mod statx;
pub(crate) mod stdio;
pub(crate) mod transfer;
pub(crate) mod uring;
pub(crate) mod usage;
pub(crate) mod writeback;

pub use files::*;
pub use pipe::*;
