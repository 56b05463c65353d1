//! `port`, `event` and `routine`: overlapped transfers of Windows, which differ in the way to learn of a completion: from a
//! completion port, by an event for each request, or by a completion routine.

use std::io;

use super::dropping::Dropping;
use super::method::{Capabilities, Choice, Engine, EngineConfig, Method, SYNCHRONOUS};
use crate::buf::{Completion, Request};
use crate::file::CachePolicy;
use crate::sys::OpenFlags;
use crate::sys::overlapped::{MOST_EVENTS, Notice, Queue};

const OVERLAPPED: Capabilities =
    Capabilities { depth: 1024, direct: Choice::AsTold, drops: Choice::AsTold, ..SYNCHRONOUS };

pub(super) static PORT: Method = Method {
    name: "port",
    summary: "overlapped transfers with a completion port",
    capabilities: OVERLAPPED,
    open: |config| open(config, Notice::Port),
};

pub(super) static EVENT: Method = Method {
    name: "event",
    summary: "overlapped transfers with one event per request",
    capabilities: Capabilities { depth: MOST_EVENTS, ..OVERLAPPED },
    open: |config| open(config, Notice::Event),
};

pub(super) static ROUTINE: Method = Method {
    name: "routine",
    summary: "overlapped transfers with completion routines (ReadFileEx)",
    capabilities: OVERLAPPED,
    open: |config| open(config, Notice::Routine),
};

fn open(config: &EngineConfig<'_>, notice: Notice) -> io::Result<Box<dyn Engine>> {
    let dropping = match config.cache {
        CachePolicy::DontCache => Some(Dropping::find(config.file)?),
        CachePolicy::Keep | CachePolicy::Direct => None,
    };
    let mut flags = if config.write { OpenFlags::READ_WRITE } else { OpenFlags::READ };
    if config.cache == CachePolicy::Direct {
        flags |= OpenFlags::DIRECT;
    }
    let queue = Queue::new(config.file, flags, config.depth, notice)?;
    Ok(Box::new(Overlapped { queue, dropping }))
}

struct Overlapped {
    queue: Queue,
    dropping: Option<Dropping>,
}

impl Engine for Overlapped {
    fn queue(&mut self, request: Request) -> Result<(), Request> {
        self.queue.queue(request)
    }

    fn commit(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> io::Result<()> {
        let before = done.len();
        self.queue.reap(least, done)?;
        if let Some(dropping) = &self.dropping {
            dropping.completed(&done[before..]);
        }
        Ok(())
    }
}
