//! `uring`: io_uring with many requests in flight, registered buffers and file, buffered or direct.

use super::dropping::Dropping;
use super::method::Method;
use super::queued::{QUEUED, Queued, file_of};
use crate::file::CachePolicy;
use crate::sys::{RingPages, uring};

pub(super) static METHOD: Method = Method {
    name: "uring",
    summary: "io_uring with registered buffers and file",
    capabilities: QUEUED,
    open: |config| {
        let file = file_of(config)?;
        let dropping = Dropping::of(config)?;
        let pages = match &dropping {
            _ if config.cache == CachePolicy::Direct => RingPages::None,
            Some(dropping) if dropping.by_flag() => RingPages::Dropped,
            _ => RingPages::Kept,
        };
        Ok(Queued::engine(uring::open(file, config.depth, config.pool, pages)?, dropping))
    },
};
