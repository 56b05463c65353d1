//! An asynchronous method as a station of the open loop: one thread that hands requests over when they are due and looks for
//! completions meanwhile.

use std::time::{Duration, Instant};

use fullbore::Result;
use fullbore::buf::Pool;
use fullbore::engine::IoQueue;
use fullbore::error::{Error, Kind};

use super::super::target::Target;
use super::open_loop::Server;

/// Sleeping ends late by a hair: this long before a request is due its thread stays awake, in seconds.
const SPIN_BEFORE: f64 = 100e-6;

/// Lets time pass until `due` seconds after `start`, asleep except for the end.
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

/// Wakes sleepers of this thread when they asked for, not up to 50 µs later as is the rule (`PR_SET_TIMERSLACK`).
pub(super) fn sleep_precisely() {
    // Without it requests are a little late, and their latency says so.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

/// A channel with its buffers.
pub(super) struct AsyncServer<'a> {
    queue: IoQueue,
    pool: Pool,
    target: &'a Target<'a>,
    start: Instant,
}

impl<'a> AsyncServer<'a> {
    /// Opens a channel of so many requests in flight. Its clock starts now.
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
            Error::new(Kind::Invalid, "take buffers from", "memory", "none is free for a free slot")
        })?;
        self.target.ask(&mut self.queue, slot as u64, number, buf)?;
        // Each goes when it is due: they are not gathered.
        self.queue.commit()
    }

    fn finished(&mut self) -> Result<Option<usize>> {
        Ok(self.queue.ready()?.map(|done| {
            self.pool.put(done.buf);
            done.token as usize
        }))
    }

    fn wait(&mut self, until: f64) -> Result<()> {
        // With requests on their way only looking again and again sees them end in time.
        if self.queue.in_flight() == 0 {
            wait_until(self.start, until);
        } else {
            std::hint::spin_loop();
        }
        Ok(())
    }
}
