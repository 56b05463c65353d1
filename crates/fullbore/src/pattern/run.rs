//! A run: the workers of a strategy, or of several contenders, each with its own transfer loop.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::Stats;
use super::adaptive::{Lease, Leases, Parts, Settings, Spent};
use super::order::{Order, Scope};
use super::setup_cpu::SetupCpu;
use super::stripes::Stripes;
use super::threads::{FirstError, Started, on_threads};
use super::transfer_loop::{Cut, Sink, Source, Transfer, TransferLoop};
use crate::engine::IoStats;
use crate::error::{Error, ErrorKind, Result};
use crate::probe::{self, ProcessUsage};
use crate::strategy::{ADAPTIVE, Adaptive, Choice, Strategy};
use crate::sys;

/// The parts of a run.
pub(super) struct Run<'a> {
    pub(super) transfer: Transfer<'a>,
    pub(super) scope: &'a Scope,
    pub(super) choice: Choice<'a>,
    /// The largest number of workers.
    pub(super) most: usize,
    /// Set by a visitor that needs no more blocks.
    pub(super) enough: &'a AtomicBool,
}

/// Runs without a visitor.
pub(super) fn run(transfer: Transfer<'_>, scope: &Scope, choice: Choice<'_>) -> Result<Stats> {
    let run = Run { transfer, scope, choice, most: usize::MAX, enough: &AtomicBool::new(false) };
    run.visit(&|| (), &|(), _, _| Ok(())).map(|(stats, _)| stats)
}

/// The distribution of a run's requests.
enum Shares<'a> {
    /// Stripes of one strategy.
    Fixed { strategy: &'a Strategy, cut: Cut, stripes: Stripes },
    /// Leases under several contenders.
    Adaptive(Leases<'a>),
}

impl Shares<'_> {
    /// Releases workers that wait for a share.
    fn stop(&self) {
        if let Self::Adaptive(leases) = self {
            leases.stop();
        }
    }
}

/// The extents of a worker's leases for one contender, one lease after another.
struct LeaseExtents<'l> {
    leases: &'l Leases<'l>,
    lease: Lease,
    at: u64,
    request: u64,
    since: Option<Moment>,
    /// True in the first lease: buffers touched for the first time and an empty pipeline are no measure of the rest.
    first: bool,
}

impl<'l> LeaseExtents<'l> {
    fn new(leases: &'l Leases<'l>, lease: Lease, request: usize) -> Self {
        Self { leases, at: lease.range.start, lease, request: request as u64, since: None, first: true }
    }

    /// The cost of the lease, if it counts.
    fn spent(&mut self) -> Option<Spent> {
        let now = Moment::now();
        let since = self.since.replace(now).filter(|_| !std::mem::take(&mut self.first));
        since.map(|start| start.until(&now))
    }

    /// Records the last lease, after the last request is done.
    fn end(mut self) {
        let spent = self.spent();
        self.leases.record(&self.lease, spent, true);
    }
}

impl Iterator for LeaseExtents<'_> {
    type Item = (u64, usize);

    fn next(&mut self) -> Option<(u64, usize)> {
        if self.since.is_none() {
            self.since = Some(Moment::now());
        }
        if self.at == self.lease.range.end {
            let next = self.leases.more(&self.lease)?;
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
    /// CPU time of the thread so far, in seconds.
    cpu: f64,
    /// Number of times that the thread has waited.
    waits: Option<u64>,
}

impl Moment {
    fn now() -> Self {
        let waits = ProcessUsage::of_thread().ok().map(|usage| usage.voluntary_switches);
        Self { time: Instant::now(), cpu: sys::thread_cpu_time().as_secs_f64(), waits }
    }

    /// The cost from this moment to a later one. The time of a worker that waited for nothing is its CPU time: the rest
    /// of the wall time, another thread had its processor.
    fn until(&self, later: &Self) -> Spent {
        let cpu = later.cpu - self.cpu;
        let waited = self.waits.is_none() || self.waits != later.waits;
        Spent { seconds: if waited { (later.time - self.time).as_secs_f64() } else { cpu }, cpu }
    }
}

/// The bytes that a worker moved, and its counts of reads and writes.
type Moved = (u64, IoStats, IoStats);

impl Run<'_> {
    /// Runs with one visitor state per worker.
    pub(super) fn visit<S: Send>(
        &self,
        identity: &(impl Fn() -> S + Sync),
        block: &(impl Fn(&mut S, u64, &[u8]) -> Result<()> + Sync),
    ) -> Result<(Stats, Vec<S>)> {
        let Transfer { sink, progress, .. } = self.transfer;
        let (shares, workers) = self.shares();
        let failed = AtomicBool::new(false);
        let first = FirstError::default();
        // From the first request to the last: opening and closing are not part of the throughput.
        let span: Mutex<Option<(Instant, Instant)>> = Mutex::new(None);
        let let_go = || {
            shares.stop();
            match sink {
                Sink::Stream(output) => output.cancel(),
                Sink::Visitor { failed } => failed(),
                Sink::File(_) => {}
            }
        };
        let lost = || {
            failed.store(true, Ordering::Relaxed);
            let_go();
        };
        let fail = |error: Error| {
            first.put(error);
            lost();
        };
        let setup: Mutex<(f64, f64)> = Mutex::default();
        let go_on = || {
            !failed.load(Ordering::Relaxed)
                && !progress.is_cancelled()
                && !self.enough.load(Ordering::Relaxed)
        };
        let one = |worker: usize, started: &Started| -> Option<(Moved, S)> {
            let mut setup_cpu = SetupCpu::begin();
            let mut state = identity();
            let mut moved = Moved::default();
            let mut open_and_run = |strategy: &Strategy, extents: &mut dyn Iterator<Item = (u64, usize)>| {
                let mut visitor = |offset: u64, data: &[u8]| block(&mut state, offset, data);
                let mut transfer_loop =
                    TransferLoop::open(&self.transfer, strategy, self.request(strategy), &mut visitor)?;
                setup_cpu.pause();
                let start = Instant::now();
                let result = transfer_loop.run(extents, &go_on);
                let end = Instant::now();
                setup_cpu.resume();
                let mut span = span.lock().unwrap_or_else(PoisonError::into_inner);
                let known = span.get_or_insert((start, end));
                *known = (known.0.min(start), known.1.max(end));
                let (bytes, reads, writes) = result?;
                moved.0 += bytes;
                moved.1.add(&reads);
                moved.2.add(&writes);
                Ok(())
            };
            let result = match &shares {
                Shares::Fixed { strategy, cut, stripes } => {
                    let mut extents = stripes.of(worker, || started.count()).map(|index| cut.extent(index));
                    open_and_run(strategy, &mut extents)
                }
                Shares::Adaptive(leases) => {
                    leases.started(started.count());
                    std::iter::from_fn(|| if go_on() { leases.next() } else { None }).try_for_each(|lease| {
                        let strategy = lease.strategy.clone();
                        let mut extents = LeaseExtents::new(leases, lease, self.request(&strategy));
                        open_and_run(&strategy, &mut extents)?;
                        extents.end();
                        Ok(())
                    })
                }
            };
            let (user, system) = setup_cpu.end();
            let mut sum = setup.lock().unwrap_or_else(PoisonError::into_inner);
            *sum = (sum.0 + user, sum.1 + system);
            drop(sum);
            if !go_on() {
                shares.stop();
            }
            if progress.is_cancelled() {
                let_go(); // bytes that others wait for will not come
            }
            match result {
                Ok(()) => Some((moved, state)),
                Err(error) => {
                    fail(error);
                    None
                }
            }
        };
        let results = on_threads(workers, &one, &lost);
        first.result()?;
        if progress.is_cancelled() {
            return Err(Error::new(ErrorKind::Cancelled, "finish", "the run", "interrupted"));
        }
        let span = span.into_inner().unwrap_or_else(PoisonError::into_inner);
        let seconds = span.map_or(0.0, |(start, end)| (end - start).as_secs_f64());
        let (setup_user, setup_system) = setup.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut stats = Stats { seconds, setup_user, setup_system, ..Stats::default() };
        let mut states = Vec::with_capacity(results.len());
        for ((bytes, reads, writes), state) in results.into_iter().flatten() {
            stats.bytes += bytes;
            stats.reads.add(&reads);
            stats.writes.add(&writes);
            states.push(state);
        }
        Ok((stats, states))
    }

    /// The request size of a strategy, rounded down to the operation's unit.
    fn request(&self, strategy: &Strategy) -> usize {
        let unit = self.transfer.work.split.unit();
        (strategy.request / unit).max(1) * unit
    }

    /// The distribution of the requests, and the number of workers.
    fn shares(&self) -> (Shares<'_>, usize) {
        if let Some((leases, workers)) = self.choice.adaptive.and_then(|adaptive| self.leases(adaptive)) {
            return (Shares::Adaptive(leases), workers);
        }
        let (strategy, range) = (self.choice.first, &self.scope.range);
        let request = self.request(strategy);
        let cut =
            Cut { start: range.start, len: range.end - range.start, request, order: self.transfer.order };
        let count = cut.order.count(cut.blocks());
        let stripes = Stripes::new(count, strategy.stripe.div_ceil(request as u64), strategy.model);
        let workers = match self.transfer.source {
            Source::Stream(_) => strategy.workers,
            _ => strategy.workers.min(count.max(1) as usize),
        };
        (Shares::Fixed { strategy, cut, stripes }, workers.min(self.most))
    }

    /// The leases of an adaptive run, and the number of workers; `None` if it is too short, or has no choice.
    fn leases<'l>(&'l self, adaptive: Adaptive<'l>) -> Option<(Leases<'l>, usize)> {
        let (Source::File { file, len }, Order::Sequential) = (self.transfer.source, self.transfer.order)
        else {
            return None;
        };
        let range = self.scope.range.clone();
        let unit = self.transfer.work.split.unit() as u64;
        let len_of_range = range.end - range.start;
        let grain = grain(unit, len_of_range).filter(|grain| grain * 64 <= len_of_range)?;
        #[cfg(test)]
        let short = adaptive.shuffle.is_none() && range.end - range.start < ADAPTIVE;
        #[cfg(not(test))]
        let short = range.end - range.start < ADAPTIVE;
        if short || self.transfer.work.in_place {
            return None;
        }
        let contenders = adaptive.contenders;
        let workers = |strategies: &[Strategy]| strategies.iter().map(|strategy| strategy.workers).max();
        let most = workers(&contenders.cached).max(workers(&contenders.uncached)).unwrap_or(1);
        // Threads for a trial of more workers wait until they are needed.
        let most = match adaptive.spec.workers {
            None if most > 1 => probe::processors().min(2 * most).max(most),
            _ => most,
        };
        let workers = most.min(self.most);
        let [cached, uncached] = match (contenders.cached.is_empty(), contenders.uncached.is_empty()) {
            (false, false) => regions(file, range, *len, grain),
            (true, _) => [Vec::new(), vec![range]],
            (_, true) => [vec![range], Vec::new()],
        };
        let parts = vec![
            Parts { cached: true, ranges: cached, contenders: contenders.cached.clone() },
            Parts { cached: false, ranges: uncached, contenders: contenders.uncached.clone() },
        ];
        let settings = Settings {
            grain,
            in_order: matches!(self.transfer.sink, Sink::Stream(_)),
            most: workers,
            writes: !matches!(self.transfer.sink, Sink::Visitor { .. }),
            spec: adaptive.spec,
            selections: adaptive.selections,
            #[cfg(test)]
            shuffle: adaptive.shuffle,
        };
        Some((Leases::new(parts, settings), workers))
    }
}

/// The least length of a lease of a range, in bytes: whole units of the operation and whole blocks of direct I/O.
fn grain(unit: u64, range: u64) -> Option<u64> {
    let about = (range / 128).min(1 << 20);
    let block = crate::buf::ALIGNMENT as u64;
    let shared =
        (1..=block.trailing_zeros()).rev().map(|bits| 1 << bits).find(|&power| unit.is_multiple_of(power));
    let least = unit.checked_mul(block / shared.unwrap_or(1))?;
    least.checked_mul((about / least).max(1))
}

/// The parts of a range that are in the page cache, and those that are not.
fn regions(
    file: &crate::file::File,
    range: std::ops::Range<u64>,
    len: u64,
    grain: u64,
) -> [Vec<std::ops::Range<u64>>; 2] {
    /// The most calls.
    const STEPS: u64 = 512;
    let step = ((range.end - range.start) / STEPS).max(8 << 20).next_multiple_of(grain);
    let mut found: [Vec<std::ops::Range<u64>>; 2] = Default::default();
    let mut start = range.start;
    while start < range.end {
        let end = (start + step).min(range.end);
        let share =
            probe::residency_within(file, start..end, len).ok().and_then(|residency| residency.share());
        let list = &mut found[usize::from(share.is_some_and(|share| share < 0.5))];
        match list.last_mut() {
            Some(last) if last.end == start => last.end = end,
            _ => list.push(start..end),
        }
        start = end;
    }
    found
}
