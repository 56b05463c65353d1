//! Continuous transfer until the device is steady, then idle periods and transfers that spend the regained credit.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{fmt, thread};

use fullbore::Result;
use fullbore::buf::Pool;
use fullbore::error::Error;
use fullbore::file::{File, Output};
use fullbore::operation::generate::Stamped;
use fullbore::operation::{BlockMemory, Generate};
use fullbore::pattern::{self, Order, Scope, Stats};
use serde::Deserialize;

use super::one_way::{Direction, OneWayIo, Precondition};
use super::requested_strategy::RequestedStrategy;
use super::settings::{RequestOrder, Settings, settings};
use super::workload::{ExpectedState, Iteration, ParsedWorkload, Ramp, RunContext, RunResult, Workload};
use crate::document::Labels;
use crate::stats::{Course, Slicer, Stretch, steady_state};

/// Length of a slice in seconds.
const SLICE_S: f64 = 0.05;

/// Largest share of the time for the first stretch.
const FIRST: f64 = 0.55;

/// Smallest share of the time for the first stretch, if it becomes steady after a fall.
const FIRST_AT_LEAST: f64 = 0.2;

/// Rounds of the first stretch if it takes its whole time, and the shortest round in seconds.
const ROUNDS: f64 = 30.0;
const SHORTEST_ROUND_S: f64 = 0.25;

/// A mean of five rounds below this share of the highest one is a fall.
const FALLEN: f64 = 0.9;

/// The first idle period as a share of the time that remains; each is twice the one before.
const FIRST_IDLE: f64 = 1.0 / 14.0;

/// The first idle period after a fall, also as a share of the time in which the sustained rate would regain the credit: the
/// refill rate is seen only while the credit is not full.
const REGAINED: f64 = 0.25;
const SHORTEST_IDLE_S: f64 = 0.2;

/// Shortest stretch after an idle period, in slices.
const SHORTEST: usize = 8;

/// Largest mean of the second half of a stretch as a multiple of the sustained rate, once the credit is spent.
const SPENT: f64 = 1.08;

/// Time of a run if no time is set, in seconds.
const DEFAULT_S: f64 = 10.0;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct SustainedSpec {
    /// The strategy in the syntax of `--strategy`; it must bypass the page cache.
    strategy: String,
    request: Option<String>,
    depth: Option<u32>,
    #[serde(default)]
    direction: Direction,
    #[serde(default)]
    order: RequestOrder,
}

#[derive(Debug)]
struct SustainedWorkload {
    order: RequestOrder,
    io: OneWayIo,
    seconds: f64,
    number: u64,
}

pub(super) fn parse(given: Settings) -> ParsedWorkload {
    let spec: SustainedSpec = settings(given)?;
    spec.order.check(&[RequestOrder::Sequential, RequestOrder::Random])?;
    let requested = RequestedStrategy::new(&spec.strategy, spec.request.as_deref(), spec.depth)?;
    let io = OneWayIo::new(spec.direction, requested);
    if !io.direct() {
        return Err("the page cache would take the requests: name a strategy that bypasses it".into());
    }
    Ok(Box::new(SustainedWorkload { order: spec.order, io, seconds: DEFAULT_S, number: 0 }))
}

impl SustainedWorkload {
    fn file<'b>(&self, context: &'b RunContext<'_>) -> &'b File {
        Precondition::of(&self.io, None, None).file(context.test_files())
    }

    /// Transfers the file once, or until `enough`; counts bytes read when they arrive, written when they are handed over.
    fn pass(
        &self,
        pass: u64,
        context: &RunContext<'_>,
        output: Option<&Output>,
        (count, enough): (&AtomicU64, &AtomicBool),
    ) -> Result<Stats> {
        let (file, strategy) = (self.file(context), self.io.strategy());
        let request = strategy.request as u64;
        let blocks = file.stamp()?.len / request;
        let order = match self.order {
            RequestOrder::Random => {
                Order::Random { seed: context.seed_of((self.number << 32) + pass), count: blocks }
            }
            _ => Order::Sequential,
        };
        let scope = Scope { range: 0..blocks * request, order };
        if let Some((data, output)) = self.io.data().zip(output) {
            let data = CountedData { data, count };
            return pattern::fill(&data, &scope, output, &strategy, context.progress, enough);
        }
        let look = |(): &mut (), _: u64, data: &[u8]| {
            count.fetch_add(data.len() as u64, Ordering::Relaxed);
        };
        let progress = context.progress;
        pattern::visit(file, &scope, &strategy, progress, enough, || (), look).map(|(stats, _)| stats)
    }

    /// Transfers continuously until `done` accepts the bytes of the slices so far; returns these.
    fn stretch(
        &self,
        moved: &mut Moved,
        context: &RunContext<'_>,
        done: impl Fn(&[u64]) -> bool + Send + Sync,
    ) -> Result<Vec<u64>> {
        let (strategy, writes) = (self.io.strategy(), self.io.writes());
        let output = match writes {
            true => Some(Output::overwrite(self.file(context).path())?),
            false => None,
        };
        // Bytes handed over that may not be written yet.
        let in_flight = strategy.request * strategy.depth * strategy.workers * usize::from(writes);
        let (enough, count) = (AtomicBool::new(false), AtomicU64::new(0));
        let start = Instant::now();
        let slices = thread::scope(|scope| {
            let record = || {
                let mut slicer = Slicer::new(SLICE_S);
                while !enough.load(Ordering::Relaxed) {
                    let due = Duration::from_secs_f64((slicer.slices().len() + 1) as f64 * SLICE_S);
                    thread::sleep(due.saturating_sub(start.elapsed()));
                    let bytes = count.load(Ordering::Relaxed).saturating_sub(in_flight as u64);
                    slicer.add(start.elapsed().as_secs_f64(), bytes);
                    if done(slicer.slices()) {
                        enough.store(true, Ordering::Relaxed);
                    }
                }
                slicer.into_slices()
            };
            let recorder = thread::Builder::new()
                .spawn_scoped(scope, record)
                .map_err(|error| Error::io("start a thread for", self.file(context).path(), error))?;
            let mut transferred = Ok(());
            while transferred.is_ok() && !enough.load(Ordering::Relaxed) {
                moved.passes += 1;
                let pass = self.pass(moved.passes, context, output.as_ref(), (&count, &enough));
                transferred = pass.map(|stats| {
                    moved.bytes += stats.bytes;
                    moved.io_stats.add(if writes { &stats.writes } else { &stats.reads });
                });
            }
            enough.store(true, Ordering::Relaxed);
            let slices = recorder.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            transferred.map(|()| slices)
        })?;
        moved.seconds += start.elapsed().as_secs_f64();
        Ok(slices)
    }

    /// Runs the first stretch, then stretches after idle periods, each twice as long as the last, while there is time.
    fn course(&self, moved: &mut Moved, context: &RunContext<'_>) -> Result<Course> {
        let (start, seconds) = (Instant::now(), self.seconds);
        let left = || seconds - start.elapsed().as_secs_f64();
        let round_s = (FIRST * seconds / ROUNDS).max(SHORTEST_ROUND_S);
        let rounds_of = (round_s / SLICE_S).round() as usize;
        let round_s = rounds_of as f64 * SLICE_S;
        let first = self.stretch(moved, context, |slices| {
            let elapsed = slices.len() as f64 * SLICE_S;
            elapsed >= FIRST * seconds
                || elapsed >= FIRST_AT_LEAST * seconds
                    && slices.len().is_multiple_of(rounds_of)
                    && settled(slices, rounds_of)
        })?;
        let sustained = mean(&first[first.len() - first.len().min(5 * rounds_of)..]);
        let mut stretches = vec![Stretch { idle_s: 0.0, bytes: first }];
        let mut idle = first_idle(&stretches[0].bytes, rounds_of, left());
        // Time of the last stretch; the next one takes at least as long.
        let mut last = 2.0 * SHORTEST as f64 * SLICE_S;
        while idle > 0.0 && idle + last <= left() {
            let resting = Instant::now();
            while resting.elapsed().as_secs_f64() < idle && !context.progress.is_cancelled() {
                thread::sleep(Duration::from_secs_f64(
                    (idle - resting.elapsed().as_secs_f64()).clamp(0.0, 0.1),
                ));
            }
            let idle_s = resting.elapsed().as_secs_f64();
            let room = left();
            let began = Instant::now();
            // Once the second half is free of the burst, the stretch continues for the same time.
            let spent = AtomicUsize::new(0);
            let bytes = self.stretch(moved, context, |slices| {
                if spent.load(Ordering::Relaxed) == 0 && is_spent(slices, sustained) {
                    spent.store(2 * slices.len(), Ordering::Relaxed);
                }
                let end = spent.load(Ordering::Relaxed);
                end > 0 && slices.len() >= end || slices.len() as f64 * SLICE_S >= room
            })?;
            last = began.elapsed().as_secs_f64();
            stretches.push(Stretch { idle_s, bytes });
            idle *= 2.0;
        }
        Ok(Course { slice_s: SLICE_S, round_s, stretches })
    }
}

#[derive(Debug, Default)]
struct Moved {
    passes: u64,
    bytes: u64,
    seconds: f64,
    io_stats: fullbore::engine::IoStats,
}

fn mean(slices: &[u64]) -> f64 {
    slices.iter().sum::<u64>() as f64 / slices.len().max(1) as f64
}

fn rounds(slices: &[u64], round: usize) -> Vec<f64> {
    slices.chunks_exact(round).map(mean).collect()
}

/// Returns the mean of the last five rounds if it is lower than that of an earlier round.
fn fallen(rounds: &[f64]) -> Option<f64> {
    let highest = rounds.iter().copied().fold(0.0, f64::max);
    let last = &rounds[rounds.len().checked_sub(5)?..];
    Some(last.iter().sum::<f64>() / 5.0).filter(|last| *last < FALLEN * highest)
}

/// True if the rate has fallen and is steady over the last five rounds.
fn settled(slices: &[u64], round: usize) -> bool {
    let rounds = rounds(slices, round);
    steady_state(&rounds) && fallen(&rounds).is_some()
}

/// Returns the length of the first idle period in seconds; `left` is the time that remains.
fn first_idle(first: &[u64], round: usize, left: f64) -> f64 {
    let share = left * FIRST_IDLE;
    let Some(sustained) = fallen(&rounds(first, round)).filter(|sustained| *sustained > 0.0) else {
        return share;
    };
    let beyond = |sum: &mut f64, slice: &u64| {
        *sum += *slice as f64 / sustained - 1.0;
        Some(*sum)
    };
    let credit_s = first.iter().scan(0.0, beyond).fold(0.0, f64::max) * SLICE_S;
    share.min((credit_s * REGAINED).max(SHORTEST_IDLE_S))
}

/// True if the second half of a stretch has the sustained rate.
fn is_spent(slices: &[u64], sustained: f64) -> bool {
    slices.len() >= SHORTEST && mean(&slices[slices.len() / 2..]) <= SPENT * sustained
}

impl Workload for SustainedWorkload {
    fn labels(&self) -> Labels {
        Labels {
            order: Some(self.order.words().into()),
            variant: Some("continuous".into()),
            ..self.io.labels()
        }
    }

    fn open(&mut self, context: &RunContext<'_>) -> Result<()> {
        context.check_device(true)?;
        let (file, len) = (self.file(context), context.test_files().len);
        self.io.open(file, (len, self.order), context.seed)
    }

    fn elastic(&self) -> bool {
        false
    }

    fn is_continuous(&self) -> bool {
        true
    }

    fn set_time(&mut self, seconds: f64) {
        self.seconds = seconds;
    }

    fn prepare(&mut self, iteration: Iteration, context: &RunContext<'_>) -> Result<ExpectedState> {
        self.number = iteration.number;
        let whole = (self.file(context).clone(), 0..context.test_files().len);
        Precondition::of(&self.io, None, None).prepare(vec![whole])
    }

    fn ramp_up(&mut self, ramp: Ramp<'_>, context: &RunContext<'_>) -> Result<()> {
        let enough = |_: &[u64]| ramp.enough.load(Ordering::Relaxed);
        self.stretch(&mut Moved::default(), context, enough).map(drop)
    }

    fn run(&mut self, context: &RunContext<'_>) -> Result<RunResult> {
        let mut moved = Moved::default();
        let course = self.course(&mut moved, context)?;
        let (requests, depth) = (moved.io_stats.requests, Some(moved.io_stats.depth()));
        let result = RunResult::timed(moved.bytes, moved.seconds, requests, depth);
        Ok(RunResult { course: Some(course.coarsened()), ..result })
    }
}

/// Written data that adds every block to a count of bytes.
#[derive(Debug)]
pub(super) struct CountedData<'a> {
    pub(super) data: &'a Stamped,
    pub(super) count: &'a AtomicU64,
}

impl fmt::Display for CountedData<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.data.fmt(f)
    }
}

impl Generate for CountedData<'_> {
    fn memory(&self) -> BlockMemory {
        BlockMemory::REVIEWED
    }

    fn fill(&self, offset: u64, target: &mut [u8]) {
        self.count.fetch_add(target.len() as u64, Ordering::Relaxed);
        self.data.fill(offset, target);
    }

    fn renew(&self, offset: u64, target: &mut [u8]) {
        self.count.fetch_add(target.len() as u64, Ordering::Relaxed);
        self.data.renew(offset, target);
    }

    fn prime(&self, pool: &mut Pool) {
        self.data.prime(pool);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_idle_period_regains_a_part_of_the_credit() {
        // 36 for a second, then 12: a credit of 24, which 12 per second would regain in two seconds.
        let slices = |seconds: usize, rate: u64| vec![rate; seconds * 20];
        let fallen = [slices(1, 36), slices(12, 12)].concat();
        assert_eq!(first_idle(&fallen, 5, 100.0), 0.5);
        assert_eq!(first_idle(&fallen, 5, 2.8), 2.8 * FIRST_IDLE);
        let short = [vec![36; 5], slices(12, 12)].concat();
        assert_eq!(first_idle(&short, 5, 100.0), SHORTEST_IDLE_S);
        assert_eq!(first_idle(&slices(12, 12), 5, 100.0), 100.0 * FIRST_IDLE, "no fall");
        assert_eq!(first_idle(&slices(1, 0), 5, 100.0), 100.0 * FIRST_IDLE);
    }

    #[test]
    fn labels_have_the_order_and_are_apart_from_short_samples() {
        let labels = |text: &str| parse(text.parse().unwrap()).unwrap().labels();
        let found = labels("strategy = 'method=direct,request=4K'\norder = 'random'\ndirection = 'write'");
        assert_eq!((found.order.as_deref(), found.variant.as_deref()), (Some("random"), Some("continuous")));
        assert_eq!((found.operation.as_str(), found.request_bytes), ("write", Some(4096)));
    }

    #[test]
    fn a_stretch_is_settled_after_a_fall_only() {
        let level = |bytes, count| vec![bytes; count];
        assert!(!settled(&level(100, 60), 5));
        assert!(settled(&[level(100, 20), level(50, 25)].concat(), 5));
        assert!(!settled(&[level(100, 20), level(50, 20)].concat(), 5));
    }

    #[test]
    fn a_credit_is_spent_once_the_second_half_is_slow() {
        let after = |slow| [vec![100; 10], vec![50; slow]].concat();
        assert!(!is_spent(&after(8), 50.0));
        assert!(is_spent(&after(10), 50.0));
        assert!(!is_spent(&[50; 7], 50.0));
    }
}
