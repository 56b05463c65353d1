//! Engines whose requests the system queues. The methods differ only in the facility of the system that they use.

use std::io;

use super::method::{Availability, Capabilities, Engine, Method};
use super::synchronous::Positional;
use crate::buf::{Completion, Request};
use crate::file::{CacheMode, CachePolicy};
use crate::sys::{RequestQueue, RingPages, aio, posix_aio, uring};

/// Native asynchronous I/O, always direct: through the page cache it would be synchronous.
pub(super) static AIO: Method = Method {
    name: "aio",
    summary: "Linux native asynchronous I/O (io_submit), direct",
    capabilities: Capabilities { direct: Availability::Always, drops: Availability::Never, ..QUEUED },
    open: |config| {
        let file = config.file.direct_handle(config.write)?;
        Ok(Queued::engine(aio::open(file, config.depth)?, CacheMode::Plain))
    },
};

/// The C library (Linux) or the kernel (FreeBSD, macOS) executes the requests by threads.
pub(super) static POSIX_AIO: Method = Method {
    name: "posixaio",
    summary: "POSIX asynchronous I/O (aio_read, aio_write)",
    capabilities: Capabilities { by_threads: true, ..QUEUED },
    open: |config| {
        let Positional { file, cache_mode } = Positional::of(config)?;
        Ok(Queued::engine(posix_aio::open(file, config.depth)?, cache_mode))
    },
};

pub(super) static URING: Method = Method {
    name: "uring",
    summary: "io_uring with registered buffers and file",
    capabilities: QUEUED,
    open: |config| {
        let Positional { file, cache_mode } = Positional::of(config)?;
        let pages = match cache_mode {
            _ if config.cache == CachePolicy::Direct => RingPages::None,
            CacheMode::Flagged => RingPages::Dropped,
            _ => RingPages::Kept,
        };
        Ok(Queued::engine(uring::open(file, config.depth, config.pool, pages)?, cache_mode))
    },
};

/// Capabilities of a facility that takes any policy.
pub(super) const QUEUED: Capabilities = Capabilities {
    depth: 1024,
    direct: Availability::ByPolicy,
    drops: Availability::ByPolicy,
    ..Capabilities::SYNCHRONOUS
};

/// A queue of the system with the cache mode that its completions are counted by.
pub(super) struct Queued<Q> {
    queue: Q,
    cache_mode: CacheMode,
}

impl<Q: RequestQueue + 'static> Queued<Q> {
    pub(super) fn engine(queue: Q, cache_mode: CacheMode) -> Box<dyn Engine> {
        Box::new(Self { queue, cache_mode })
    }
}

impl<Q: RequestQueue> Engine for Queued<Q> {
    fn queue(&mut self, request: Request) -> Result<(), Request> {
        self.queue.queue(request)
    }

    fn commit(&mut self) -> io::Result<()> {
        self.queue.submit()
    }

    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> io::Result<()> {
        let before = done.len();
        self.queue.reap(least, done)?;
        for Completion { request, result } in &done[before..] {
            if let Ok(count) = result {
                self.cache_mode.moved(request.direction, request.offset, *count);
            }
        }
        Ok(())
    }
}
