//! `uring`: io_uring, many requests in flight, registered buffers and file, through the cache or past it.

use std::io;

use super::dropping::Dropping;
use super::{Cache, Capabilities, Choice, Engine, Method, Opening, SYNCHRONOUS};
use crate::buf::{Completion, Request};
use crate::sys::uring::{Pages, Ring};

pub(super) static METHOD: Method = Method {
    name: "uring",
    summary: "io_uring with registered buffers and file",
    capabilities: Capabilities { depth: 1024, direct: Choice::AsTold, drops: Choice::AsTold, ..SYNCHRONOUS },
    open,
};

fn open(opening: &Opening<'_>) -> io::Result<Box<dyn Engine>> {
    let file = match opening.cache {
        Cache::Direct => opening.file.direct_handle(opening.write)?,
        Cache::Keep | Cache::Drop => opening.file.clone(),
    };
    let dropping = match opening.cache {
        Cache::Drop => Some(Dropping::find(opening.file)?),
        Cache::Keep | Cache::Direct => None,
    };
    let pages = match &dropping {
        _ if opening.cache == Cache::Direct => Pages::None,
        Some(dropping) if dropping.by_flag() => Pages::Dropped,
        _ => Pages::Kept,
    };
    let ring = Ring::new(file, opening.depth, opening.pool, pages)?;
    Ok(Box::new(Uring { ring, dropping }))
}

struct Uring {
    ring: Ring,
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
