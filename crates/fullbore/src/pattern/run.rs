//! A run: the workers of a strategy, each with a lane of its own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::aside::Aside;
use super::lane::{Cut, Drain, Feed, Lane, Work};
use super::order::Scope;
use super::stripes::Stripes;
use super::threads::{FirstError, Started, on_threads};
use super::{Monitor, Outcome};
use crate::engine::Tally;
use crate::error::{Error, Kind, Result};
use crate::strategy::Strategy;

/// What a run goes through, and how.
pub(super) struct Run<'a> {
    pub(super) feed: &'a Feed<'a>,
    pub(super) work: &'a Work<'a>,
    pub(super) drain: &'a Drain<'a>,
    pub(super) scope: &'a Scope,
    pub(super) strategy: &'a Strategy,
    pub(super) monitor: &'a Monitor,
    /// Set by a visitor that has seen enough.
    pub(super) enough: &'a AtomicBool,
}

/// Runs without a visitor.
pub(super) fn run(
    feed: &Feed<'_>,
    work: &Work<'_>,
    drain: &Drain<'_>,
    scope: &Scope,
    strategy: &Strategy,
    monitor: &Monitor,
) -> Result<Outcome> {
    let run = Run { feed, work, drain, scope, strategy, monitor, enough: &AtomicBool::new(false) };
    run.visit(&|| (), &|(), _, _| Ok(())).map(|(outcome, _)| outcome)
}

impl Run<'_> {
    /// Runs with a visitor a worker.
    pub(super) fn visit<S: Send>(
        &self,
        identity: &(impl Fn() -> S + Sync),
        block: &(impl Fn(&mut S, u64, &[u8]) -> Result<()> + Sync),
    ) -> Result<(Outcome, Vec<S>)> {
        let Self { feed, work, drain, scope, strategy, monitor, enough } = *self;
        let request = request_size(strategy.request, work.split.unit());
        let cut = Cut {
            start: scope.range.start,
            len: scope.range.end - scope.range.start,
            request,
            order: scope.order,
        };
        let count = scope.order.count(cut.blocks());
        let stripes = Stripes::new(count, strategy.stripe.div_ceil(request as u64), strategy.model);
        let workers = match feed {
            Feed::Stream(_) => strategy.workers,
            _ => strategy.workers.min(count.max(1) as usize),
        };
        let failed = AtomicBool::new(false);
        let first = FirstError::default();
        // From the first request to the last: opening and closing are no part of how fast the bytes move.
        let span: Mutex<Option<(Instant, Instant)>> = Mutex::new(None);
        let let_go = || match drain {
            Drain::Stream(output) => output.abandon(),
            Drain::Visitor { failed } => failed(),
            Drain::File(_) => {}
        };
        let lost = || {
            failed.store(true, Ordering::Relaxed);
            let_go();
        };
        let fail = |error: Error| {
            first.put(error);
            lost();
        };
        let aside: Mutex<(f64, f64)> = Mutex::default();
        let one = |worker: usize, started: &Started| -> Option<(u64, Tally, Tally, S)> {
            let mut apart = Aside::begin();
            let mut state = identity();
            let mut visitor = |offset: u64, data: &[u8]| block(&mut state, offset, data);
            let go_on =
                || !failed.load(Ordering::Relaxed) && !monitor.stopped() && !enough.load(Ordering::Relaxed);
            let result = Lane::open(feed, work, drain, scope.order, strategy, request, monitor, &mut visitor)
                .and_then(|mut lane| {
                    apart.pause();
                    let start = Instant::now();
                    let result = lane.run(cut, &mut stripes.of(worker, || started.count()), &go_on);
                    let end = Instant::now();
                    apart.go_on();
                    let mut span = span.lock().unwrap_or_else(PoisonError::into_inner);
                    let known = span.get_or_insert((start, end));
                    *known = (known.0.min(start), known.1.max(end));
                    result
                });
            let (user, system) = apart.end();
            let mut sum = aside.lock().unwrap_or_else(PoisonError::into_inner);
            *sum = (sum.0 + user, sum.1 + system);
            drop(sum);
            if monitor.stopped() {
                let_go(); // what others wait for does not come any more
            }
            match result {
                Ok((bytes, reads, writes)) => Some((bytes, reads, writes, state)),
                Err(error) => {
                    fail(error);
                    None
                }
            }
        };
        let results = on_threads(workers, &one, &lost);
        first.result()?;
        if monitor.stopped() {
            return Err(Error::new(Kind::Interrupted, "finish", "the run", "it was told to stop"));
        }
        let span = span.into_inner().unwrap_or_else(PoisonError::into_inner);
        let seconds = span.map_or(0.0, |(start, end)| (end - start).as_secs_f64());
        let (aside_user, aside_system) = aside.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut outcome = Outcome { seconds, aside_user, aside_system, ..Outcome::default() };
        let mut states = Vec::with_capacity(results.len());
        for (bytes, reads, writes, state) in results.into_iter().flatten() {
            outcome.bytes += bytes;
            outcome.reads.add(&reads);
            outcome.writes.add(&writes);
            states.push(state);
        }
        Ok((outcome, states))
    }
}

/// The request size that an operation's cuts allow: rounded down to its unit.
fn request_size(asked: usize, unit: usize) -> usize {
    (asked / unit).max(1) * unit
}
