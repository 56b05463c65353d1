//! An asynchronous method as the server of the open loop: one thread submits requests when they are due and reaps
//! completions in between.

use std::time::{Duration, Instant};

use fullbore::Result;
use fullbore::buf::Pool;
use fullbore::engine::IoQueue;
use fullbore::error::{Error, ErrorKind};

use super::super::target::Target;
use super::open_loop::Server;

/// Time before a request is due at which its thread stops sleeping and spins, in seconds: sleeping ends slightly late.
const SPIN_BEFORE: f64 = 100e-6;

/// Waits until `due` seconds after `start`: sleeps, then spins at the end.
pub(super) fn wait_until(start: Instant, due: f64) {
    loop {
        let left = due - start.elapsed().as_secs_f64();
        if left <= 0.0 {
            return;
        }
        if left > SPIN_BEFORE {
            std::thread::sleep(Duration::from_secs_f64((left - SPIN_BEFORE).min(1.0)));
        } else {
            std::hint::spin_loop();
        }
    }
}

/// Wakes this thread from sleep at the requested time, not up to 50 µs later, the default (`PR_SET_TIMERSLACK`).
pub(super) fn sleep_precisely() {
    // A failure makes requests slightly late, and their latency includes that.
    let _ = fullbore::sys::set_timer_slack(std::num::NonZeroU64::MIN);
}

/// An I/O queue with its buffers.
pub(super) struct AsyncServer<'a> {
    queue: IoQueue,
    pool: Pool,
    target: &'a Target<'a>,
    start: Instant,
}

impl<'a> AsyncServer<'a> {
    /// Opens an I/O queue for `depth` requests in flight. Its clock starts now.
    pub(super) fn open(target: &'a Target<'a>, depth: usize) -> Result<Self> {
        let (queue, pool) = target.open(depth)?;
        sleep_precisely();
        Ok(Self { queue, pool, target, start: Instant::now() })
    }
}

impl Server for AsyncServer<'_> {
    fn now(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
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
            wait_until(self.start, until);
        } else {
            std::hint::spin_loop();
        }
        Ok(())
    }
}
