//! `aio`: Linux native asynchronous I/O with `O_DIRECT`. (Through the page cache it would be synchronous.)

use std::io;

use super::method::{Capabilities, Choice, Engine, EngineConfig, Method, SYNCHRONOUS};
use crate::buf::{Completion, Request};
use crate::file::File;
use crate::sys::aio::Context;

pub(super) static METHOD: Method = Method {
    name: "aio",
    summary: "Linux native asynchronous I/O (io_submit), direct",
    capabilities: Capabilities { depth: 1024, direct: Choice::Always, ..SYNCHRONOUS },
    open,
};

fn open(config: &EngineConfig<'_>) -> io::Result<Box<dyn Engine>> {
    let file = config.file.direct_handle(config.write)?;
    Ok(Box::new(Aio { context: Context::new(file, config.depth)?, refused: Vec::new() }))
}

struct Aio {
    context: Context<File>,
    /// Requests rejected at submission, not yet reaped.
    refused: Vec<Completion>,
}

impl Engine for Aio {
    fn queue(&mut self, request: Request) -> Result<(), Request> {
        self.context.queue(request)
    }

    fn commit(&mut self) -> io::Result<()> {
        self.context.submit(&mut self.refused)
    }

    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> io::Result<()> {
        let least = least.saturating_sub(self.refused.len());
        done.append(&mut self.refused);
        self.context.reap(least, done)
    }
}
