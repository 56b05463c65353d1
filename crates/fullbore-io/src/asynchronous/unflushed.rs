//! The writes that a dropped stream has accepted: they continue, and a loss is reported.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};

use super::stream::AsyncStream;
use crate::lock::Mutex;

/// A task without an executor: the driver's threads, which wake it, poll it.
struct UnflushedWrites {
    stream: Mutex<AsyncStream>,
    /// Wake-ups that no poll has seen to its end. The thread of the first one polls: a poll may wake its own task.
    wakes: AtomicUsize,
}

impl Wake for UnflushedWrites {
    fn wake(self: Arc<Self>) {
        if self.wakes.fetch_add(1, Ordering::AcqRel) > 0 {
            return;
        }
        let waker = Waker::from(self.clone());
        loop {
            let seen = self.wakes.load(Ordering::Acquire);
            let _ = self.stream.lock().poll_unflushed(&mut Context::from_waker(&waker));
            if self.wakes.fetch_sub(seen, Ordering::AcqRel) == seen {
                return;
            }
        }
    }
}

impl Drop for AsyncStream {
    fn drop(&mut self) {
        if let Some(rest) = self.take_unflushed() {
            Arc::new(UnflushedWrites { stream: Mutex::new(rest), wakes: AtomicUsize::new(0) }).wake();
        }
    }
}
