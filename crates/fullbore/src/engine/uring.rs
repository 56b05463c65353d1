//! `uring`: io_uring, many requests in flight, registered buffers and file, through the cache or past it.

use std::io;

use super::{Cache, Capabilities, Choice, Engine, Method, Opening, SYNCHRONOUS};
use crate::buf::{Completion, Request};
use crate::sys::uring::Ring;

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
    Ok(Box::new(Ring::new(file, opening.depth, opening.pool, opening.cache == Cache::Drop)?))
}

impl Engine for Ring {
    fn queue(&mut self, request: Request) -> Result<(), Request> {
        Ring::queue(self, request)
    }

    fn commit(&mut self) -> io::Result<()> {
        self.submit()
    }

    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> io::Result<()> {
        Ring::reap(self, least, done)
    }
}
