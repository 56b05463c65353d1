//! Engines whose requests the system queues: the methods differ in the facility alone.

use std::io;

use super::dropping::Dropping;
use super::method::{Capabilities, Choice, Engine, EngineConfig, SYNCHRONOUS};
use crate::buf::{Completion, Request};
use crate::file::{CachePolicy, File};
use crate::sys::RequestQueue;

/// Capabilities of a facility that takes any policy.
pub(super) const QUEUED: Capabilities =
    Capabilities { depth: 1024, direct: Choice::AsTold, drops: Choice::AsTold, ..SYNCHRONOUS };

/// A queue of the system with the mechanism of `cache=drop`.
pub(super) struct Queued<Q> {
    queue: Q,
    dropping: Option<Dropping>,
}

impl<Q: RequestQueue + 'static> Queued<Q> {
    /// Returns the engine of a queue.
    pub(super) fn engine(queue: Q, dropping: Option<Dropping>) -> Box<dyn Engine> {
        Box::new(Self { queue, dropping })
    }
}

/// The file with the flags that the cache policy needs.
pub(super) fn file_of(config: &EngineConfig<'_>) -> io::Result<File> {
    match config.cache {
        CachePolicy::Direct => config.file.direct_handle(config.write),
        CachePolicy::Keep | CachePolicy::DontCache => Ok(config.file.clone()),
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
        if let Some(dropping) = &self.dropping {
            dropping.completed(&done[before..]);
        }
        Ok(())
    }
}
