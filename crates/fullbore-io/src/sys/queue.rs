//! The trait of the facilities that execute requests while the program continues.

use std::io;

use crate::buf::{Completion, Request};

/// Requests of one open file that the system executes. A buffer belongs to the queue until its completion is reaped; dropping the
/// queue waits for the requests in flight.
pub(crate) trait RequestQueue {
    /// Queues a request; returns it if the queue is full.
    fn queue(&mut self, request: Request) -> Result<(), Request>;

    /// Submits the queued requests. One that the system refuses is complete, with the error.
    fn submit(&mut self) -> io::Result<()>;

    /// Submits the queued requests, waits until `least` requests are complete (0: does not wait) and appends the complete ones to
    /// `done`.
    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> io::Result<()>;
}

/// Reaps the requests in flight of a queue that is being dropped. False if that fails: the system may still use their memory, which
/// must be leaked.
pub(crate) fn drain<Q: RequestQueue>(queue: &mut Q, in_flight: impl Fn(&Q) -> usize) -> bool {
    let mut done = Vec::new();
    while in_flight(queue) > 0 {
        if queue.reap(1, &mut done).is_err() {
            return false;
        }
        done.clear();
    }
    true
}
