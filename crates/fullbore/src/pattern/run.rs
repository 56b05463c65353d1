//! A run: the workers of a strategy, each with its own transfer loop.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::order::Scope;
use super::setup_cpu::SetupCpu;
use super::stripes::Stripes;
use super::threads::{FirstError, Started, on_threads};
use super::transfer_loop::{Cut, Sink, Source, TransferLoop, Work};
use super::{Progress, Stats};
use crate::engine::IoStats;
use crate::error::{Error, ErrorKind, Result};
use crate::strategy::Strategy;

/// The parts of a run.
pub(super) struct Run<'a> {
    pub(super) source: &'a Source<'a>,
    pub(super) work: &'a Work<'a>,
    pub(super) sink: &'a Sink<'a>,
    pub(super) scope: &'a Scope,
    pub(super) strategy: &'a Strategy,
    pub(super) progress: &'a Progress,
    /// Set by a visitor that needs no more blocks.
    pub(super) enough: &'a AtomicBool,
}

/// Runs without a visitor.
pub(super) fn run(
    source: &Source<'_>,
    work: &Work<'_>,
    sink: &Sink<'_>,
    scope: &Scope,
    strategy: &Strategy,
    progress: &Progress,
) -> Result<Stats> {
    let run = Run { source, work, sink, scope, strategy, progress, enough: &AtomicBool::new(false) };
    run.visit(&|| (), &|(), _, _| Ok(())).map(|(stats, _)| stats)
}

impl Run<'_> {
    /// Runs with one visitor state per worker.
    pub(super) fn visit<S: Send>(
        &self,
        identity: &(impl Fn() -> S + Sync),
        block: &(impl Fn(&mut S, u64, &[u8]) -> Result<()> + Sync),
    ) -> Result<(Stats, Vec<S>)> {
        let Self { source, work, sink, scope, strategy, progress, enough } = *self;
        let request = request_size(strategy.request, work.split.unit());
        let cut = Cut {
            start: scope.range.start,
            len: scope.range.end - scope.range.start,
            request,
            order: scope.order,
        };
        let count = scope.order.count(cut.blocks());
        let stripes = Stripes::new(count, strategy.stripe.div_ceil(request as u64), strategy.model);
        let workers = match source {
            Source::Stream(_) => strategy.workers,
            _ => strategy.workers.min(count.max(1) as usize),
        };
        let failed = AtomicBool::new(false);
        let first = FirstError::default();
        // From the first request to the last: opening and closing are not part of the throughput.
        let span: Mutex<Option<(Instant, Instant)>> = Mutex::new(None);
        let let_go = || match sink {
            Sink::Stream(output) => output.cancel(),
            Sink::Visitor { failed } => failed(),
            Sink::File(_) => {}
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
        let one = |worker: usize, started: &Started| -> Option<(u64, IoStats, IoStats, S)> {
            let mut setup_cpu = SetupCpu::begin();
            let mut state = identity();
            let mut visitor = |offset: u64, data: &[u8]| block(&mut state, offset, data);
            let go_on = || {
                !failed.load(Ordering::Relaxed) && !progress.is_cancelled() && !enough.load(Ordering::Relaxed)
            };
            let result = TransferLoop::open(
                source,
                work,
                sink,
                scope.order,
                strategy,
                request,
                progress,
                &mut visitor,
            )
            .and_then(|mut transfer_loop| {
                setup_cpu.pause();
                let start = Instant::now();
                let result = transfer_loop.run(cut, &mut stripes.of(worker, || started.count()), &go_on);
                let end = Instant::now();
                setup_cpu.resume();
                let mut span = span.lock().unwrap_or_else(PoisonError::into_inner);
                let known = span.get_or_insert((start, end));
                *known = (known.0.min(start), known.1.max(end));
                result
            });
            let (user, system) = setup_cpu.end();
            let mut sum = setup.lock().unwrap_or_else(PoisonError::into_inner);
            *sum = (sum.0 + user, sum.1 + system);
            drop(sum);
            if progress.is_cancelled() {
                let_go(); // bytes that others wait for will not come
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
        if progress.is_cancelled() {
            return Err(Error::new(ErrorKind::Cancelled, "finish", "the run", "interrupted"));
        }
        let span = span.into_inner().unwrap_or_else(PoisonError::into_inner);
        let seconds = span.map_or(0.0, |(start, end)| (end - start).as_secs_f64());
        let (setup_user, setup_system) = setup.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut stats = Stats { seconds, setup_user, setup_system, ..Stats::default() };
        let mut states = Vec::with_capacity(results.len());
        for (bytes, reads, writes, state) in results.into_iter().flatten() {
            stats.bytes += bytes;
            stats.reads.add(&reads);
            stats.writes.add(&writes);
            states.push(state);
        }
        Ok((stats, states))
    }
}

/// The request size rounded down to the operation's unit.
fn request_size(request: usize, unit: usize) -> usize {
    (request / unit).max(1) * unit
}
