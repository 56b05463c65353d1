//! An asynchronous method as the server of the open loop: one thread submits requests when they are due and reaps
//! completions in between.

use fullbore::Result;
use fullbore::buf::Pool;
use fullbore::engine::IoQueue;
use fullbore::error::{Error, ErrorKind};

use super::super::target::Target;
use super::open_loop::Server;
use crate::clock::Clock;

/// Wakes this thread from sleep at the requested time, not up to 50 µs later, the default (`PR_SET_TIMERSLACK`).
pub(super) fn sleep_precisely() {
    // A failure makes requests slightly late, and their latency includes that.
    let _ = fullbore::sys::set_timer_slack(std::num::NonZeroU64::MIN);
}

pub(super) struct AsyncServer<'a> {
    queue: IoQueue,
    pool: Pool,
    target: &'a Target<'a>,
    clock: Clock,
}

impl<'a> AsyncServer<'a> {
    /// Opens an I/O queue for `depth` requests in flight. Its clock starts now.
    pub(super) fn open(target: &'a Target<'a>, depth: usize) -> Result<Self> {
        let (queue, pool) = target.open(depth)?;
        sleep_precisely();
        Ok(Self { queue, pool, target, clock: Clock::start() })
    }
}

impl Server for AsyncServer<'_> {
    fn now(&self) -> f64 {
        self.clock.seconds()
    }

    fn begin(&mut self, slot: usize, number: u64) -> Result<()> {
        let buf = self.pool.take().ok_or_else(|| {
            Error::new(ErrorKind::Invalid, "take a buffer from", "memory", "no buffer for a free slot")
        })?;
        self.target.ask(&mut self.queue, slot as u64, number, buf)?;
        // Each request is submitted when it is due, not in batches.
        self.queue.commit()
    }

    fn finished(&mut self) -> Result<Option<usize>> {
        Ok(self.queue.ready()?.map(|done| {
            self.pool.put(done.buf);
            done.token as usize
        }))
    }

    fn wait(&mut self, until: f64) -> Result<()> {
        // With requests in flight, only polling sees them complete in time.
        if self.queue.in_flight() == 0 {
            self.clock.wait_until(until);
        } else {
            std::hint::spin_loop();
        }
        Ok(())
    }
}
