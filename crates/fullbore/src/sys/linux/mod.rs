//! Linux.

pub(crate) mod cachestat;
pub(crate) mod fiemap;
pub(crate) mod processor;
pub(crate) mod statx;
pub(crate) mod usage;
