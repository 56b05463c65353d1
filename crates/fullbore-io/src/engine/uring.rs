//! `uring`: io_uring with many requests in flight, registered buffers and file, buffered or direct.

use std::io;

use super::dropping::Dropping;
use super::method::{Capabilities, Choice, Engine, EngineConfig, Method, SYNCHRONOUS};
use crate::buf::{Completion, Request};
use crate::file::CachePolicy;
use crate::file::File;
use crate::sys::RingPages;
use crate::sys::uring::Ring;

pub(super) static METHOD: Method = Method {
    name: "uring",
    summary: "io_uring with registered buffers and file",
    capabilities: Capabilities { depth: 1024, direct: Choice::AsTold, drops: Choice::AsTold, ..SYNCHRONOUS },
    open,
};

fn open(config: &EngineConfig<'_>) -> io::Result<Box<dyn Engine>> {
    let file = match config.cache {
        CachePolicy::Direct => config.file.direct_handle(config.write)?,
        CachePolicy::Keep | CachePolicy::DontCache => config.file.clone(),
    };
    let dropping = match config.cache {
        CachePolicy::DontCache => Some(Dropping::find(config.file)?),
        CachePolicy::Keep | CachePolicy::Direct => None,
    };
    let pages = match &dropping {
        _ if config.cache == CachePolicy::Direct => RingPages::None,
        Some(dropping) if dropping.by_flag() => RingPages::Dropped,
        _ => RingPages::Kept,
    };
    let ring = Ring::new(file, config.depth, config.pool, pages)?;
    Ok(Box::new(Uring { ring, dropping }))
}

struct Uring {
    ring: Ring<File>,
    dropping: Option<Dropping>,
}

impl Engine for Uring {
    fn queue(&mut self, request: Request) -> Result<(), Request> {
        self.ring.queue(request)
    }

    fn commit(&mut self) -> io::Result<()> {
        self.ring.submit()
    }

    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> io::Result<()> {
        let before = done.len();
        self.ring.reap(least, done)?;
        if let Some(dropping) = &self.dropping {
            dropping.completed(&done[before..]);
        }
        Ok(())
    }
}
