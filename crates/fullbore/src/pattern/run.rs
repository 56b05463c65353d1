//! A run: the workers of a strategy, or of several contenders, each with its own transfer loop.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::adaptive::{Engines, LeaseExtents, Leases, RunInput, Terms};
use super::order::Stripes;
use super::order::{Order, Scope};
use super::progress::Stats;
use super::stream_reader::StreamReader;
use super::threads::SetupCpu;
use super::threads::{FirstError, Started, on_pool, on_threads};
use super::transfer_loop::{Cut, Sink, Source, Transfer, TransferLoop, Visitor};
use crate::strategy::{Adaptive, Contender, Model, NEVER, RunStrategy, Strategy, parts_of_blocks};
use fullbore_io::buf::ALIGNMENT;
use fullbore_io::engine::IoStats;
use fullbore_io::error::{Error, ErrorKind, Result};
use fullbore_io::lock::Mutex;

/// A run over one file or stream.
pub(super) struct Run<'a> {
    pub(super) transfer: Transfer<'a>,
    pub(super) scope: &'a Scope,
    pub(super) choice: RunStrategy<'a>,
    /// The largest number of workers.
    pub(super) most: usize,
    /// True if a trial may read parts from all over the file: the visitor accepts them in any order.
    pub(super) any_order: bool,
    /// The flag that a visitor sets when it needs no more blocks.
    pub(super) enough: &'a AtomicBool,
}

/// The distribution of a run's requests.
enum Shares<'a> {
    /// Stripes of one strategy.
    Fixed { strategy: &'a Strategy, cut: Cut, stripes: Stripes },
    /// Leases under several contenders.
    Adaptive(Leases<'a>),
    /// Blocks of a stream: the workers of `first` read the beginning, then contenders are tried. `most` has the largest request
    /// and the largest number of workers of all of them.
    Stream { reader: &'a StreamReader, first: Strategy, most: Strategy },
}

impl Shares<'_> {
    /// Releases workers that wait for a share.
    fn stop(&self) {
        match self {
            Self::Adaptive(leases) => leases.stop(),
            Self::Stream { reader, .. } => reader.stop(),
            Self::Fixed { .. } => {}
        }
    }
}

/// The bytes that a worker moved, and its counts of reads and writes.
type Moved = (u64, IoStats, IoStats);

/// Calls its argument, which runs a worker's transfer loop, with the worker's visitor.
type WithVisitor<'v> = dyn Fn(&mut dyn FnMut(&Visitor<'_>)) + Sync + 'v;

impl<'a> Run<'a> {
    /// A run of all blocks, in an order that suits their places in the file, with any number of workers.
    pub(super) fn new(transfer: Transfer<'a>, scope: &'a Scope, choice: RunStrategy<'a>) -> Self {
        Self { transfer, scope, choice, most: usize::MAX, any_order: false, enough: &NEVER }
    }

    /// Runs without a visitor. Direct writes of several workers meet only between blocks of direct I/O, since such a write of a part
    /// of a block writes the whole block: the bytes of a range before the first such boundary are written on their own.
    pub(super) fn finish(&self) -> Result<Stats> {
        let Range { start, end } = self.scope.range;
        let whole = start.checked_next_multiple_of(ALIGNMENT as u64).unwrap_or(end).min(end);
        let alone = |range| Scope { range, order: self.scope.order };
        let part = |scope: &Scope, most| Run { scope, most, ..*self }.run(&|run| run(&|_, _| Ok(())));
        let inside = start < whole && whole < end && self.scope.order == Order::Sequential;
        let first = self.choice.first;
        let several =
            self.choice.adaptive.is_some() || first.workers.min(self.most) > 1 && first.writes_past_cache();
        if !(inside && several && matches!(self.transfer.sink, Sink::File(_))) {
            return part(self.scope, self.most);
        }
        let mut stats = part(&alone(start..whole), 1)?;
        stats.add(&part(&alone(whole..end), self.most)?);
        Ok(stats)
    }

    /// Runs with one visitor state per worker.
    pub(super) fn visit<S: Send>(
        &self,
        identity: &(impl Fn() -> S + Sync),
        block: &(impl Fn(&mut S, u64, &[u8]) -> Result<()> + Sync),
    ) -> Result<(Stats, Vec<S>)> {
        let states: Mutex<Vec<S>> = Mutex::default();
        let stats = self.run(&|run| {
            let state = RefCell::new(identity());
            run(&|offset, data| block(&mut state.borrow_mut(), offset, data));
            states.lock().push(state.into_inner());
        })?;
        Ok((stats, states.into_inner()))
    }

    /// Runs with the visitor that `with_visitor` passes to its argument, once per worker.
    fn run(&self, with_visitor: &WithVisitor<'_>) -> Result<Stats> {
        let Transfer { sink, progress, .. } = self.transfer;
        let (shares, workers) = self.shares();
        let (failed, trying) = (AtomicBool::new(false), AtomicBool::new(false));
        let first = FirstError::default();
        // From the first request to the last: opening and closing are not part of the throughput.
        let span: Mutex<Option<(Instant, Instant)>> = Mutex::new(None);
        let let_go = || {
            match sink {
                Sink::Stream(output) => output.cancel(),
                Sink::Visitor { failed } => failed(),
                Sink::File(_) => {}
            }
            shares.stop();
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
                && !self.choice.unneeded.load(Ordering::Relaxed)
        };
        let work = |worker: usize, started: &Started, visitor: &Visitor<'_>| {
            let mut setup_cpu = SetupCpu::begin();
            let mut engines: Engines<'_, TransferLoop<'_, '_>> = Engines::new(started);
            let mut moved = Moved::default();
            let mut add = |transfer_loop: TransferLoop<'_, '_>| {
                let (bytes, reads, writes) = transfer_loop.moved();
                moved.0 += bytes;
                moved.1.add(&reads);
                moved.2.add(&writes);
            };
            let mut open_and_run = |strategy: &Strategy, extents: &mut dyn Iterator<Item = (u64, usize)>| {
                let request = self.request(strategy);
                let open = || TransferLoop::open(&self.transfer, strategy, request, visitor);
                let mut transfer_loop = engines.take(strategy, open, &mut add)?;
                setup_cpu.pause();
                let start = Instant::now();
                let result = transfer_loop.run(extents, &go_on);
                let end = Instant::now();
                setup_cpu.resume();
                engines.put(strategy.clone(), transfer_loop);
                let mut span = span.lock();
                let known = span.get_or_insert((start, end));
                *known = (known.0.min(start), known.1.max(end));
                result
            };
            let result = match &shares {
                Shares::Fixed { strategy, cut, stripes } => {
                    let mut extents = stripes.of(worker, || started.count()).map(|index| cut.extent(index));
                    open_and_run(strategy, &mut extents)
                }
                Shares::Stream { first, most, .. } => {
                    let strategy = if trying.load(Ordering::Relaxed) { most } else { first };
                    open_and_run(strategy, &mut std::iter::empty())
                }
                Shares::Adaptive(leases) => {
                    leases.started(started.count());
                    std::iter::from_fn(|| if go_on() { leases.next() } else { None }).try_for_each(
                        |mut lease| loop {
                            let strategy = lease.strategy.clone();
                            let mut extents = LeaseExtents::new(leases, lease, self.request(&strategy));
                            match open_and_run(&strategy, &mut extents) {
                                Ok(()) => {
                                    extents.end();
                                    break Ok(());
                                }
                                Err(error) => lease = extents.replace().ok_or(error)?,
                            }
                        },
                    )
                }
            };
            engines.close(&mut add);
            let (user, system) = setup_cpu.end();
            let mut sum = setup.lock();
            *sum = (sum.0 + user, sum.1 + system);
            drop(sum);
            if !go_on() {
                let_go(); // bytes that others wait for will not come
            }
            // A run that has enough ends the waits of its workers for their turn to write.
            let is_end = |error: &Error| {
                matches!(sink, Sink::Stream(_))
                    && error.kind() == ErrorKind::Cancelled
                    && self.enough.load(Ordering::Relaxed)
            };
            if let Some(error) = result.err().filter(|error| !is_end(error)) {
                fail(error);
            }
            moved
        };
        let one = |worker: usize, started: &Started| {
            let mut moved = Moved::default();
            with_visitor(&mut |visitor| moved = work(worker, started, visitor));
            moved
        };
        let mut results = match &shares {
            Shares::Fixed { strategy, .. } if strategy.model == Model::Pool => on_pool(workers, &one, &lost),
            _ => on_threads(workers, &one, &lost),
        };
        if let Shares::Stream { reader, most, .. } = &shares
            && go_on()
            && reader.try_contenders()
        {
            trying.store(true, Ordering::Relaxed);
            results.extend(on_threads(most.workers, &one, &lost));
        }
        first.result()?;
        if let (Shares::Stream { reader, .. }, Some(adaptive)) = (&shares, self.choice.adaptive) {
            reader.selection().into_iter().for_each(|selection| adaptive.selections.add(selection, true));
        }
        progress.check()?;
        if self.choice.unneeded.load(Ordering::Relaxed) {
            return Err(Error::cancelled());
        }
        let span = span.into_inner();
        let elapsed = span.map_or(Duration::ZERO, |(start, end)| end - start);
        let (setup_user, setup_system) = setup.into_inner();
        let mut stats = Stats { elapsed, setup_user, setup_system, ..Stats::default() };
        for (bytes, reads, writes) in results {
            stats.bytes += bytes;
            stats.reads.add(&reads);
            stats.writes.add(&writes);
        }
        Ok(stats)
    }

    /// The request size of a strategy, rounded down to the unit of the transfer.
    fn request(&self, strategy: &Strategy) -> usize {
        let unit = self.transfer.unit();
        (strategy.request / unit).max(1) * unit
    }

    /// The distribution of the requests, and the number of workers.
    fn shares(&self) -> (Shares<'_>, usize) {
        if let Some((leases, workers)) = self.choice.adaptive.and_then(|adaptive| self.leases(adaptive)) {
            return (Shares::Adaptive(leases), workers);
        }
        if let Some((reader, first, most)) = self.stream() {
            let workers = first.workers;
            return (Shares::Stream { reader, first, most }, workers);
        }
        let (strategy, range) = (self.choice.first, &self.scope.range);
        let request = self.request(strategy);
        let cut =
            Cut { start: range.start, len: range.end - range.start, request, order: self.transfer.order };
        let count = cut.order.count(cut.blocks());
        let stripe =
            strategy.stripe.div_ceil(request as u64).next_multiple_of(parts_of_blocks(request) as u64);
        let stripes = Stripes::new(count, stripe, strategy.model);
        let workers = match self.transfer.source {
            Source::Stream(_) => strategy.workers,
            _ => strategy.workers.min(stripes.count().max(1) as usize),
        };
        (Shares::Fixed { strategy, cut, stripes }, workers.min(self.most))
    }

    /// The reader of a stream that tries contenders, the strategy of its beginning, and one with the largest request and number of
    /// workers of all. `None` if there is no choice, or not the memory for all.
    fn stream(&self) -> Option<(&StreamReader, Strategy, Strategy)> {
        let (Source::Stream(reader), Some(adaptive)) = (self.transfer.source, self.choice.adaptive) else {
            return None;
        };
        let mut contenders: Vec<Contender> = Vec::new();
        for mut contender in adaptive.contenders.cached.iter().cloned() {
            contender.strategy.workers = contender.strategy.workers.min(self.most);
            if contenders.iter().all(|other| other.strategy != contender.strategy) {
                contenders.push(contender);
            }
        }
        let strategies = || contenders.iter().map(|contender| &contender.strategy);
        let most = Strategy {
            request: strategies().map(|strategy| strategy.request).max()?,
            workers: strategies().map(|strategy| strategy.workers).max()?,
            model: Model::Pool,
            ..self.choice.first.clone()
        };
        if contenders.len() < 2 || most.memory() > most.budget {
            return None;
        }
        let first = contenders.first()?.strategy.clone();
        reader.will_try(contenders);
        if most.workers == first.workers {
            // No others are to be started, and a sequential operation needs the state of its only worker until the end.
            reader.try_contenders();
            return Some((reader, most.clone(), most));
        }
        Some((reader, first, most))
    }

    /// The leases of an adaptive run, and the number of workers; `None` if it has no choice, or is too short.
    fn leases<'l>(&'l self, adaptive: Adaptive<'l>) -> Option<(Leases<'l>, usize)> {
        let Transfer { source, work, sink, order, .. } = self.transfer;
        let (Source::File { file, len }, Order::Sequential) = (source, order) else { return None };
        Leases::of(
            adaptive,
            &[RunInput { file, base: 0, len: *len }],
            &Terms {
                range: self.scope.range.clone(),
                unit: work.split.unit() as u64,
                writes: !matches!(sink, Sink::Visitor { .. }),
                any_order: self.any_order,
                most: self.most,
            },
        )
    }
}
