//! The extents of a worker's leases, and the time that it spends on them.

use std::time::Instant;

use super::lease::{Lease, Spent};
use super::leases::Leases;
use fullbore_io::sys;

/// The extents of a worker's leases for one contender, one lease after another.
pub(in crate::pattern) struct LeaseExtents<'l> {
    leases: &'l Leases<'l>,
    lease: Lease,
    at: u64,
    request: u64,
    since: Option<Moment>,
    /// True in the first lease of a cached part: buffers touched for the first time are no measure of the rest. From a
    /// device every lease counts: read-ahead belongs to the leases after it.
    first: bool,
    ended: bool,
}

impl<'l> LeaseExtents<'l> {
    pub(in crate::pattern) fn new(leases: &'l Leases<'l>, lease: Lease, request: usize) -> Self {
        let first = leases.is_cached(&lease);
        Self {
            leases,
            at: lease.range.start,
            lease,
            request: request as u64,
            since: None,
            first,
            ended: false,
        }
    }

    /// The cost of the lease, if it counts.
    fn spent(&mut self) -> Option<Spent> {
        let now = Moment::now(self.lease.trial);
        let since = self.since.replace(now).filter(|_| !std::mem::take(&mut self.first));
        since.map(|start| start.until(&now))
    }

    /// The lease of the same part under another contender, after this one could not be opened; `None` if that was not the failure,
    /// or there is no other.
    pub(in crate::pattern) fn replace(self) -> Option<Lease> {
        if self.since.is_some() { None } else { self.leases.replace(&self.lease) }
    }

    /// Records the last lease, after the last request is done.
    pub(in crate::pattern) fn end(mut self) {
        let spent = self.spent();
        self.leases.record(&self.lease, spent, true);
    }
}

impl Iterator for LeaseExtents<'_> {
    type Item = (u64, usize);

    fn next(&mut self) -> Option<(u64, usize)> {
        if self.since.is_none() {
            self.since = Some(Moment::now(self.lease.trial));
        }
        if self.at == self.lease.range.end {
            let more = if self.ended { None } else { self.leases.more(&self.lease) };
            self.ended = more.is_none();
            let next = more?;
            let spent = self.spent();
            self.leases.record(&self.lease, spent, false);
            (self.at, self.lease) = (next.range.start, next);
        }
        let len = self.request.min(self.lease.range.end - self.at);
        self.at += len;
        Some((self.at - len, len as usize))
    }
}

/// A moment in a worker's life.
#[derive(Debug, Clone, Copy)]
struct Moment {
    time: Instant,
    /// CPU time of the thread so far in seconds, and the number of times that it has waited, if the system counts them. Only
    /// during a trial: these are system calls.
    thread: Option<(f64, Option<u64>)>,
}

impl Moment {
    fn now(trial: bool) -> Self {
        let thread = || (sys::thread_cpu_time().as_secs_f64(), sys::thread_waits());
        Self { time: Instant::now(), thread: trial.then(thread) }
    }

    /// The cost from this moment to a later one. The time of a worker that waited for nothing is its CPU time: the rest
    /// of the wall time, another thread had its processor.
    fn until(&self, later: &Self) -> Spent {
        let wall = (later.time - self.time).as_secs_f64();
        match (self.thread, later.thread) {
            (Some((before, waits)), Some((cpu, later_waits))) => {
                let cpu = cpu - before;
                let ran = waits.is_some() && waits == later_waits;
                Spent { seconds: if ran { cpu } else { wall }, cpu }
            }
            _ => Spent { seconds: wall, cpu: 0.0 },
        }
    }
}
