//! The extents of a worker's leases, and the time that it spends on them.

use std::time::{Duration, Instant};

use super::lease::{Lease, Spent};
use super::leases::Leases;
use crate::pattern::threads::held;
use fullbore_io::sys;

/// The extents of a worker's leases for one contender, one lease after another.
pub(in crate::pattern) struct LeaseExtents<'l> {
    leases: &'l Leases<'l>,
    lease: Lease,
    at: u64,
    request: u64,
    /// The requests before the measurement begins.
    ahead: usize,
    /// The start of the measurement, and the bytes requested since.
    since: Option<(Moment, u64)>,
    /// The first request, and the bytes since, if the measurement leaves out requests: the first ones, which fill the queue
    /// without a wait, and the last ones, which are processed while the device is idle.
    whole: Option<(Moment, u64)>,
    /// The cost of the last lease, if it was measured before its end.
    last: Option<Spent>,
    /// True if the rest is not needed, and not measured.
    skipped: bool,
    /// True in the first lease of a cached part: its cost includes the first use of the buffers, so it does not count.
    first: bool,
    ended: bool,
    clock: Clock,
}

/// Returns the present moment; `true`: during a trial. Tests have a clock that they set.
type Clock = fn(bool) -> Moment;

impl<'l> LeaseExtents<'l> {
    pub(in crate::pattern) fn new(leases: &'l Leases<'l>, lease: Lease, request: usize) -> Self {
        Self::with_clock(leases, lease, request, Moment::now)
    }

    pub(super) fn with_clock(leases: &'l Leases<'l>, lease: Lease, request: usize, clock: Clock) -> Self {
        let first = leases.is_cached(&lease);
        let ahead = if lease.trial { lease.filling } else { 0 };
        Self {
            leases,
            at: lease.range.start,
            lease,
            request: request as u64,
            ahead,
            since: None,
            whole: None,
            last: None,
            skipped: false,
            first,
            ended: false,
            clock,
        }
    }

    fn now(&self) -> Moment {
        (self.clock)(self.lease.trial)
    }

    /// The cost of the lease, or of what is not recorded of it yet, if it counts.
    fn spent(&mut self) -> Option<Spent> {
        let (start, bytes) = self.since.filter(|(_, bytes)| *bytes > 0)?;
        let now = self.now();
        self.since = Some((now, 0));
        if std::mem::take(&mut self.first) { None } else { start.until(&now, bytes) }
    }

    /// Records the cost of the lease, after which others may follow.
    fn record(&mut self) {
        let spent = self.spent().filter(|_| !self.skipped);
        self.leases.record(&self.lease, spent, false);
    }

    /// The lease of the same part under another contender, after this one could not be opened; `None` if that was not the failure,
    /// or there is no other.
    pub(in crate::pattern) fn replace(self) -> Option<Lease> {
        if self.at > self.lease.range.start { None } else { self.leases.replace(&self.lease) }
    }

    /// Takes the rest, which is not needed: the result is known.
    pub(in crate::pattern) fn discard(&mut self) {
        self.skipped = !self.ended;
        self.for_each(drop);
    }

    /// Records the last lease, after the last request is done.
    pub(in crate::pattern) fn end(mut self) {
        let spent = match self.whole {
            // A worker with few requests did not get beyond those that fill the queue: all of them count.
            Some((start, bytes)) if self.ended && self.last.is_none() => start.until(&self.now(), bytes),
            Some(_) => self.last,
            None => self.spent(),
        };
        self.leases.record(&self.lease, spent.filter(|_| !self.skipped), true);
    }
}

impl Iterator for LeaseExtents<'_> {
    type Item = (u64, usize);

    fn next(&mut self) -> Option<(u64, usize)> {
        if self.at == self.lease.range.end {
            if self.ended {
                return None;
            }
            // With one request at a time the lease is done, and counts when the next one is decided on.
            let done = self.whole.is_none() && self.lease.strategy.depth == 1;
            if done {
                self.record();
            }
            let Some(next) = self.leases.more(&self.lease) else {
                if self.whole.is_some() {
                    self.last = self.spent();
                }
                self.ended = true;
                return None;
            };
            if !done {
                self.record();
            }
            (self.at, self.lease) = (next.range.start, next);
        }
        let first = || Some(((self.clock)(self.lease.trial), 0));
        match self.ahead.checked_sub(1) {
            Some(ahead) => {
                self.whole = self.whole.or_else(first);
                self.ahead = ahead;
            }
            None => self.since = self.since.or_else(first),
        }
        let len = self.request.min(self.lease.range.end - self.at);
        self.at += len;
        [&mut self.since, &mut self.whole].into_iter().flatten().for_each(|(_, bytes)| *bytes += len);
        Some((self.at - len, len as usize))
    }
}

/// A point in time, and what the worker's thread has used until then.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    pub(super) time: Instant,
    /// The time that the thread has spent on handing over results.
    pub(super) held: Duration,
    /// CPU time of the thread so far in seconds, and the number of times that it has waited, if the system counts them. Only
    /// during a trial: these are system calls.
    pub(super) thread: Option<(f64, Option<u64>)>,
}

impl Moment {
    fn now(trial: bool) -> Self {
        let thread = || (sys::thread_cpu_time().as_secs_f64(), sys::thread_waits());
        Self { time: Instant::now(), held: held(), thread: trial.then(thread) }
    }

    /// The cost of `bytes` from this moment to a later one. For a worker that never waited, the time is its CPU time: for the rest
    /// of the wall time, another thread had its processor. The time of the receiver of results does not count; `None` if it is most
    /// of the time.
    fn until(&self, later: &Self, bytes: u64) -> Option<Spent> {
        let (wall, held) = (later.time - self.time, later.held - self.held);
        if held > wall / 2 {
            return None;
        }
        let (wall, held) = (wall.as_secs_f64(), held.as_secs_f64());
        Some(match (self.thread, later.thread) {
            (Some((before, waits)), Some((cpu, later_waits))) => {
                let cpu = cpu - before;
                let ran = waits.is_some() && waits == later_waits;
                Spent { bytes, seconds: (if ran { cpu } else { wall } - held).max(0.0), cpu }
            }
            _ => Spent { bytes, seconds: wall - held, cpu: 0.0 },
        })
    }
}
