//! The common part of synchronous methods: a request is complete when it is queued.

use std::io;

use super::method::Engine;
use crate::buf::{Completion, Direction, Request};

/// The calls of a method that return when the bytes are moved.
pub(super) trait Calls {
    /// Reads at `offset`, in bytes; returns 0 at the end of the file.
    fn read(&mut self, offset: u64, data: &mut [u8]) -> io::Result<usize>;

    /// Writes at `offset`, in bytes.
    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<usize>;

    /// Writes out the bytes that the method buffers itself.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An engine over synchronous calls.
pub(super) struct Synchronous<C> {
    pub(super) calls: C,
    done: Vec<Completion>,
}

impl<C: Calls + 'static> Synchronous<C> {
    /// Creates an engine from the method's calls.
    pub(super) fn new(calls: C) -> Self {
        Self { calls, done: Vec::with_capacity(1) }
    }

    /// Creates an engine as [`new`](Self::new), boxed.
    pub(super) fn boxed(calls: C) -> Box<dyn Engine> {
        Box::new(Self::new(calls))
    }
}

impl<C: Calls> Engine for Synchronous<C> {
    fn queue(&mut self, mut request: Request) -> Result<(), Request> {
        if !self.done.is_empty() {
            return Err(request);
        }
        let result = match request.direction {
            Direction::Read => self.calls.read(request.offset, request.data_mut()),
            Direction::Write => self.calls.write(request.offset, request.data()),
        };
        self.done.push(Completion { request, result });
        Ok(())
    }

    fn reap(&mut self, _least: usize, done: &mut Vec<Completion>) -> io::Result<()> {
        done.append(&mut self.done);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.calls.flush()
    }
}
