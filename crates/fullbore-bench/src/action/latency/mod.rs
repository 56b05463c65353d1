//! Latency of requests that arrive at a set rate: percentiles of an open loop, without coordinated omission.

mod open_loop;
mod threads;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use fullbore::Result;
use fullbore::engine::Latencies;
use fullbore::error::Error;
use fullbore::lock::Mutex;
use fullbore::pattern::{Order, Scope};
use serde::Deserialize;

use self::open_loop::{AsyncServer, ServedRequests, Spacing, schedule, serve};
use super::one_way::{Direction, OneWayIo, Precondition, Target, read_or_overwrite};
use super::requested_strategy::RequestedStrategy;
use super::settings::{RequestOrder, Settings, refuse, settings};
use super::workload::{
    ExpectedState, Iteration, ParsedWorkload, Ramp, RunContext, RunResult, Workload, repeat_until,
};
use crate::clock::Clock;
use crate::document::{CacheState, Labels, Latency, word};
use crate::test_files::Needs;

/// Minimum and maximum duration of a sample, in seconds.
const SPAN: (f64, f64) = (0.05, 5.0);

/// A system that does not keep up gets this multiple of the schedule's time; then the remaining requests are abandoned.
const PATIENCE: f64 = 3.0;

/// Duration of the closed loop that measures the storage's maximum rate, in seconds.
const CLOSED_LOOP_SECONDS: f64 = 0.5;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct LatencySpec {
    /// The strategy in the syntax of `--strategy`; its depth, or a synchronous method's workers, limit the requests in flight.
    strategy: String,
    request: Option<String>,
    depth: Option<u32>,
    load: Option<f64>,
    /// Requests per second as a share of the closed loop's with the same strategy.
    share: Option<f64>,
    #[serde(default)]
    direction: Direction,
    #[serde(default = "random")]
    order: RequestOrder,
    #[serde(default)]
    arrivals: Spacing,
    /// Requested page-cache state; none if the page cache is bypassed.
    cache: Option<CacheState>,
}

fn random() -> RequestOrder {
    RequestOrder::Random
}

/// Greatest load in requests per second: the times of all requests of a sample are in memory.
const MOST_LOAD: f64 = 1e7;

/// Requests are scheduled in advance: a larger share would only need memory.
const MOST_SHARE: f64 = 10.0;

#[derive(Debug)]
struct LatencyWorkload {
    spec: LatencySpec,
    io: OneWayIo,
    /// Requests per second, known once opened.
    load: f64,
    iteration: Iteration,
    seconds: f64,
}

pub(super) fn parse(given: Settings) -> ParsedWorkload {
    let spec: LatencySpec = settings(given)?;
    spec.order.check(&[RequestOrder::Random, RequestOrder::Sequential])?;
    let load = match (spec.load, spec.share) {
        (Some(load), None) => load,
        // The rate is known after a closed loop has run.
        (None, Some(share)) => share,
        _ => {
            return Err("set one of `load` (requests per second) and `share` (of the closed loop's)".into());
        }
    };
    if spec.share.is_some_and(|share| share > MOST_SHARE) {
        return Err(format!(
            "share: expected at most {MOST_SHARE} times the rate of the closed loop, found {load}"
        ));
    }
    if !(load > 0.0 && load <= MOST_LOAD) {
        return Err(format!(
            "load: expected up to {MOST_LOAD} requests per second, more than 0, found {load}"
        ));
    }
    let requested = RequestedStrategy::new(&spec.strategy, spec.request.as_deref(), spec.depth)?;
    let strategy = requested.plain();
    let (method, cache) = spec.direction.of(&strategy);
    let (method, direct) = (method.capabilities, method.capabilities.passes_cache(cache));
    let (buffered_writes, mixed) = (spec.direction.writes(), spec.cache == Some(CacheState::Mixed));
    refuse([
        (
            !method.transfers || method.mapped,
            "this method makes no requests, so it has no latency: name one that does",
        ),
        (method.batched, "this method batches requests, so it cannot start each when it is due"),
        (method.depth > 1 && strategy.workers > 1, "a method with depth takes one worker"),
        (direct && spec.cache.is_some(), "this strategy bypasses the page cache: leave out `cache`"),
        (
            !direct && buffered_writes,
            "buffered writes do not wait for the device: name a strategy that bypasses the page cache",
        ),
        (mixed, "`cache` is warm or cold"),
    ])?;
    let iteration = Iteration { span: 0, number: 0 };
    let io = OneWayIo::new(spec.direction, requested);
    Ok(Box::new(LatencyWorkload { spec, io, load: 0.0, iteration, seconds: 0.0 }))
}

/// Rates of closed loops by their parameters, so that the cells of one experiment take shares of the same rate.
static REACHED: Mutex<BTreeMap<String, f64>> = Mutex::new(BTreeMap::new());

/// Does work that ends soon after its flag is set, which is after `seconds`.
pub(super) fn for_at_most<T>(seconds: f64, work: impl FnOnce(&AtomicBool) -> T) -> T {
    let flag = AtomicBool::new(false);
    let enough = &flag;
    std::thread::scope(|scope| {
        let (done, end) = mpsc::channel::<()>();
        let set = move || {
            let _ = end.recv_timeout(Duration::from_secs_f64(seconds));
            enough.store(true, Ordering::Relaxed);
        };
        // Without a thread, the work is done to its end.
        let _ = std::thread::Builder::new().spawn_scoped(scope, set);
        let result = work(enough);
        drop(done);
        result
    })
}

impl LatencyWorkload {
    fn warm(&self) -> bool {
        self.spec.cache == Some(CacheState::Warm)
    }

    fn precondition(&self) -> Precondition {
        let cache = self.spec.cache.or((!self.io.direct()).then_some(CacheState::Cold));
        Precondition::of(&self.io, None, cache)
    }

    fn order(&self, seed: u64, count: u64) -> Order {
        match self.spec.order {
            RequestOrder::Random => Order::Random { seed, count },
            _ => Order::Sequential,
        }
    }

    /// Returns the requests per second of a closed loop with the same strategy, measured once per run.
    fn reached(&self, context: &RunContext<'_>) -> Result<f64> {
        let test_files = context.test_files();
        let (file, strategy) = (self.precondition().file(test_files), self.io.strategy());
        let direction = self.spec.direction;
        let name = format!(
            "{} {strategy} {direction:?} {:?} {:?}",
            test_files.named().display(),
            self.spec.order,
            self.spec.cache
        );
        let mut reached = REACHED.lock();
        if let Some(&known) = reached.get(&name) {
            return Ok(known);
        }
        let blocks = test_files.len / strategy.request as u64;
        let mut count = 64 * (strategy.depth * strategy.workers) as u64;
        let rate = loop {
            count = count.min(blocks);
            self.precondition().establish(file, &(0..test_files.len))?;
            let end = if self.spec.order == RequestOrder::Sequential { count } else { blocks };
            let scope = Scope { range: 0..end * strategy.request as u64, order: self.order(count, count) };
            let data = self.io.data();
            let stats = for_at_most(CLOSED_LOOP_SECONDS, |enough| {
                read_or_overwrite(file, &scope, &strategy, data, enough, context.progress)
            })?;
            let seconds = stats.elapsed.as_secs_f64().max(1e-9);
            let rate = stats.bytes as f64 / strategy.request as f64 / seconds;
            if seconds >= CLOSED_LOOP_SECONDS / 2.0 || count >= blocks {
                break rate;
            }
            count = ((rate * CLOSED_LOOP_SECONDS) as u64).max(2 * count);
        };
        reached.insert(name, rate);
        Ok(rate)
    }

    fn serve(&self, number: u64, seconds: f64, context: &RunContext<'_>) -> Result<ServedRequests> {
        let strategy = self.io.strategy();
        let file = self.precondition().file(context.test_files()).clone();
        let len = file.stamp()?.len;
        let blocks = len / strategy.request as u64;
        // A different part each time, so that no device cache holds it.
        let first = match self.spec.order {
            RequestOrder::Random => 0,
            _ => number.wrapping_mul((self.load * seconds) as u64) % blocks,
        };
        let order = self.order(context.seed.wrapping_add(number), blocks);
        let (depth, workers) = (strategy.depth, strategy.workers);
        let target = self.io.target(file, len, first, order);
        let dues = schedule(self.spec.arrivals, self.load, seconds, context.seed.wrapping_add(number));
        let limit = PATIENCE * seconds;
        let stopped = || context.progress.is_cancelled();
        let served = if target.capabilities().depth > 1 {
            serve(dues, &mut AsyncServer::open(&target, depth)?, depth, limit, &stopped)?
        } else {
            threads::serve_by_threads(dues, workers, limit, &stopped, Clock::start, || {
                let (mut queue, mut pool) = target.open(1)?;
                let target = &target;
                Ok(move |number| {
                    let buf = Target::take(&mut pool)?;
                    target.enqueue(&mut queue, 0, number, buf)?;
                    if let Some(done) = queue.next()? {
                        pool.put(done.buf);
                    }
                    Ok(())
                })
            })?
        };
        if context.progress.is_cancelled() {
            return Err(Error::cancelled());
        }
        Ok(served)
    }
}

pub(super) fn percentiles(latencies: &Latencies) -> Option<Latency> {
    let at = |share| latencies.quantile(share).map(|time| time.as_secs_f64());
    Some(Latency {
        p50_s: at(0.5)?,
        p90_s: at(0.9)?,
        p99_s: at(0.99)?,
        p999_s: at(0.999)?,
        max_s: latencies.longest()?.as_secs_f64(),
    })
}

impl Workload for LatencyWorkload {
    fn needs(&self) -> Needs {
        Needs { warm: self.warm(), ..Needs::default() }
    }

    fn labels(&self) -> Labels {
        Labels {
            // The depth of an open loop is a result.
            depth: None,
            cache: self.spec.cache,
            order: Some(self.spec.order.words().into()),
            load_per_s: (self.load > 0.0).then_some(self.load.round() as u64),
            variant: Some(format!("open loop, {}", word(self.spec.arrivals))),
            ..self.io.labels()
        }
    }

    fn open(&mut self, context: &RunContext<'_>) -> Result<()> {
        let test_files = context.test_files();
        context.check_device(!self.warm())?;
        let file = self.precondition().file(test_files);
        self.io.open(file, (test_files.len, self.spec.order), context.seed)?;
        self.load = match (self.spec.load, self.spec.share) {
            (Some(load), _) => load,
            (None, share) => share.unwrap_or(1.0) * self.reached(context)?,
        };
        Ok(())
    }

    fn strategy(&self) -> Option<String> {
        self.io.planned()
    }

    fn prepare(&mut self, iteration: Iteration, context: &RunContext<'_>) -> Result<ExpectedState> {
        let file = self.precondition().file(context.test_files()).clone();
        let len = file.stamp()?.len;
        let pace = self.load * self.io.strategy().request as f64;
        self.seconds = (iteration.span as f64 / pace).clamp(SPAN.0, SPAN.1);
        self.iteration = iteration;
        self.precondition().prepare(vec![(file, 0..len)])
    }

    fn ramp_up(&mut self, ramp: Ramp<'_>, context: &RunContext<'_>) -> Result<()> {
        // Other blocks than those of the sample.
        let mut number = !self.iteration.number;
        repeat_until(ramp.enough, || {
            number = number.wrapping_sub(1);
            self.serve(number, self.seconds, context).map(drop)
        })
    }

    fn run(&mut self, context: &RunContext<'_>) -> Result<RunResult> {
        let served = self.serve(self.iteration.number, self.seconds, context)?;
        let bytes = served.done * self.io.strategy().request as u64;
        let seconds = served.seconds.max(self.seconds);
        let result = RunResult::timed(bytes, seconds, served.done, Some(served.depth));
        Ok(RunResult { latency: percentiles(&served.latencies), ..result })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn work_ends_at_its_limit() {
        let begin = Instant::now();
        for_at_most(0.02, |enough| {
            while !enough.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
        });
        assert!(begin.elapsed() >= Duration::from_millis(20));
        let begin = Instant::now();
        assert!(!for_at_most(60.0, |enough| enough.load(Ordering::Relaxed)));
        assert!(begin.elapsed() < Duration::from_secs(30), "short work is not prolonged");
    }
}
