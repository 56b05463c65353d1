//! `vectored`: `preadv` and `pwritev`, one call for queued requests that are adjacent in the file.

use std::io;

use super::method::{Capabilities, Choice, Engine, Method, SYNCHRONOUS};
use super::synchronous::Positional;
use crate::buf::{Completion, Direction, Request};
use crate::sys;

/// Maximum number of buffers per call (`IOV_MAX`, `man 2 readv`).
const MOST: usize = 1024;

pub(super) static METHOD: Method = Method {
    name: "vectored",
    summary: "preadv and pwritev, up to `depth` buffers per call",
    capabilities: Capabilities {
        depth: MOST,
        batched: true,
        direct: Choice::AsTold,
        drops: Choice::AsTold,
        ..SYNCHRONOUS
    },
    open: |config| Ok(Box::new(Runs::new(Positional::of(config)?, config.depth.min(MOST)))),
};

/// The calls of a method that transfers several adjacent requests at a time.
pub(super) trait Run {
    /// True if a request can be one of several in a call.
    fn joins(&self, request: &Request) -> bool {
        let _ = request;
        true
    }

    /// Transfers a run of adjacent requests in one call; returns the bytes moved.
    fn call(&self, run: &mut [Request]) -> io::Result<usize>;
}

impl Run for Positional {
    fn call(&self, run: &mut [Request]) -> io::Result<usize> {
        let (direction, offset) = (run[0].direction, run[0].offset);
        let moved = match direction {
            Direction::Read => {
                let mut parts: Vec<_> =
                    run.iter_mut().map(|request| io::IoSliceMut::new(request.data_mut())).collect();
                sys::read_vectored_flagged(&self.file, &mut parts, offset, self.flags)?
            }
            Direction::Write => {
                let parts: Vec<_> = run.iter().map(|request| io::IoSlice::new(request.data())).collect();
                sys::write_vectored_flagged(&self.file, &parts, offset, self.flags)?
            }
        };
        Ok(self.moved(direction, offset, moved))
    }
}

/// An engine that makes one call of the queued requests that are adjacent in the file.
pub(super) struct Runs<C> {
    calls: C,
    depth: usize,
    queued: Vec<Request>,
}

impl<C: Run> Runs<C> {
    pub(super) fn new(calls: C, depth: usize) -> Self {
        Self { calls, depth, queued: Vec::new() }
    }

    /// Returns the number of queued requests at the front that one call transfers: adjacent in the file, of one direction.
    fn run_length(&self) -> usize {
        let follows = |pair: &[Request]| {
            pair[0].offset + pair[0].len() as u64 == pair[1].offset
                && pair[0].direction == pair[1].direction
                && pair.iter().all(|request| self.calls.joins(request))
        };
        1 + self.queued.windows(2).take_while(|pair| follows(pair)).count()
    }
}

impl<C: Run> Engine for Runs<C> {
    fn queue(&mut self, request: Request) -> Result<(), Request> {
        if self.queued.len() == self.depth {
            return Err(request);
        }
        self.queued.push(request);
        Ok(())
    }

    fn commit(&mut self) -> io::Result<()> {
        // The calls are made by `reap`, so that adjacent requests can still join.
        Ok(())
    }

    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> io::Result<()> {
        if least == 0 && self.queued.len() < self.depth {
            return Ok(());
        }
        while !self.queued.is_empty() {
            let length = self.run_length();
            let mut run: Vec<Request> = self.queued.drain(..length).collect();
            match self.calls.call(&mut run) {
                Ok(total) => share(run, total, done),
                Err(error) => {
                    // One error for all: each request gets a copy and is handled separately.
                    let code = error.raw_os_error();
                    done.extend(run.into_iter().map(|request| Completion {
                        request,
                        result: Err(code.map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)),
                    }));
                }
            }
        }
        Ok(())
    }
}

/// Divides the bytes moved among the requests. One that a non-empty transfer did not reach is to be repeated (`Interrupted`): the
/// file need not have ended there.
fn share(run: Vec<Request>, total: usize, done: &mut Vec<Completion>) {
    let mut left = total;
    for (index, request) in run.into_iter().enumerate() {
        let part = left.min(request.len());
        left -= part;
        let result = if part == 0 && index > 0 && !request.is_empty() {
            Err(io::ErrorKind::Interrupted.into())
        } else {
            Ok(part)
        };
        done.push(Completion { request, result });
    }
}
