//! Phases of a request's time: submitting call, queue, device, completion; and the device's requests: splits, merges,
//! sizes.
//!
//! The application's times come from the loop here, the other times from the kernel's block tracing, if it is
//! permitted. Without block tracing, the device time comes from the counters (`/sys/block/*/stat`), and the
//! queue time is unknown.

mod trace;

use std::ops::Range;

use fullbore::Result;
use fullbore::engine::Latencies;
use fullbore::file::File;
use fullbore::pattern::Order;
use fullbore::probe::{self, DeviceCounters, DeviceNumber, Transfers};
use serde::Deserialize;

use self::trace::{Trace, TraceSums, sum_events};
use super::latency::percentiles;
use super::one_way::{Direction, OneWayIo, Precondition, Target};
use super::requested_strategy::RequestedStrategy;
use super::settings::{RequestOrder, Settings, settings};
use super::workload::{
    ExpectedState, Iteration, ParsedWorkload, Ramp, RunContext, RunResult, Workload, repeat_until,
};
use crate::document::{Labels, Phases};
use crate::test_files::TestFiles;

/// Maximum number of requests per sample: each adds some lines to the trace.
const MOST: u64 = 4096;

/// Minimum number of requests per sample, in multiples of the requests in flight.
const LEAST: u64 = 4;

/// Maximum difference between traced and requested bytes, as a share, for the trace to count.
const TRACED: f64 = 0.01;

const SECTOR: u64 = 512;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct PhasesSpec {
    /// The strategy in the syntax of `--strategy`: a method that bypasses the page cache, one worker.
    strategy: String,
    request: Option<String>,
    depth: Option<u32>,
    #[serde(default)]
    direction: Direction,
}

#[derive(Debug)]
struct PhasesWorkload {
    io: OneWayIo,
    /// The devices whose counters are read: of a partition its own, because those of the whole disk include them.
    devices: Vec<DeviceNumber>,
    /// Sectors of the file on the disk; or the reason why tracing is unusable here.
    traceable: std::result::Result<TraceableFile, String>,
    /// Range of one sample.
    first: u64,
    requests: u64,
    trace: Option<Trace>,
    stamps: RequestTimestamps,
    counted: Option<Transfers>,
}

#[derive(Debug)]
struct TraceableFile {
    /// Sectors on the disk, sorted.
    sectors: Vec<Range<u64>>,
    /// The numbers under which events report the disk: its own, and that of the file system's partition.
    devices: Vec<DeviceNumber>,
}

pub(super) fn parse(given: Settings) -> ParsedWorkload {
    let spec: PhasesSpec = settings(given)?;
    let requested = RequestedStrategy::new(&spec.strategy, spec.request.as_deref(), spec.depth)?;
    let strategy = requested.plain();
    let (method, cache) = spec.direction.of(&strategy);
    if !method.capabilities.passes_cache(cache) {
        return Err("phases need requests to the device: name a strategy that bypasses the page cache".into());
    }
    if strategy.workers > 1 || method.capabilities.batched {
        return Err("phases need one worker that submits each request separately".into());
    }
    Ok(Box::new(PhasesWorkload {
        io: OneWayIo::new(spec.direction, requested),
        devices: Vec::new(),
        traceable: Err("not opened".into()),
        first: 0,
        requests: 0,
        trace: None,
        stamps: RequestTimestamps::default(),
        counted: None,
    }))
}

impl PhasesWorkload {
    /// Returns the reads or writes that the devices have completed so far.
    fn count(&self) -> Option<Transfers> {
        let mut sum = Transfers::default();
        for &device in &self.devices {
            let counters = DeviceCounters::now(device).ok()?;
            let one = if self.io.writes() { counters.writes } else { counters.reads };
            sum.requests += one.requests;
            sum.merged += one.merged;
            sum.bytes += one.bytes;
            sum.ms += one.ms;
        }
        (!self.devices.is_empty()).then_some(sum)
    }

    fn serve(&self, requests: u64, test_files: &TestFiles) -> Result<RequestTimestamps> {
        let file = test_files.cold.clone();
        let target = self.io.target(file, test_files.len, self.first, Order::Sequential);
        let depth = target.strategy.depth;
        time_requests(&target, depth, requests)
    }
}

/// Locates a file on its disk. The error is a reason for a human reader, the same in every run.
fn traceable(file: &File, test_files: &TestFiles) -> std::result::Result<TraceableFile, String> {
    let facts = probe::facts(test_files.directory()).map_err(|error| error.without_path().to_string())?;
    let [device] = &facts.devices[..] else {
        return Err("the file is not on one device".to_owned());
    };
    if device.composition.is_some() {
        return Err(format!("{} is composed of other devices, which receive the requests", device.name));
    }
    let partition = device.partition.as_ref();
    let start = match partition {
        Some(partition) => partition.start.ok_or("the start of the partition is unknown")?,
        None => 0,
    };
    let extents =
        probe::extents(file).map_err(|error| format!("the extents of the file are unknown: {error}"))?;
    let mut sectors = Vec::with_capacity(extents.len());
    for extent in extents {
        let physical = extent.physical.ok_or("a part of the file has no sectors of its own")?;
        let first = (start + physical) / SECTOR;
        sectors.push(first..first + extent.length.div_ceil(SECTOR));
    }
    sectors.sort_unstable_by_key(|range| range.start);
    let devices = partition.map(|partition| partition.number).into_iter().chain([device.number]).collect();
    Ok(TraceableFile { sectors, devices })
}

fn phases(stamps: &RequestTimestamps, traced: Option<TraceSums>, counted: Option<Transfers>) -> Phases {
    let requests = stamps.requests as f64;
    let total = stamps.seen - stamps.submitted;
    let known = |traced: &TraceSums| {
        ((traced.sectors * SECTOR) as f64 / stamps.bytes.max(1) as f64 - 1.0).abs() <= TRACED
            && traced.device_requests > 0
    };
    let mut phases = Phases { submit_s: stamps.call.unwrap_or(0.0), ..Phases::default() };
    if let Some(traced) = traced.filter(known) {
        // Converts sums over sectors to sums over requests, and times to durations since submission.
        let of_requests = requests / traced.sectors as f64;
        let after = |moments: f64| moments * of_requests - stamps.submitted;
        let (queued, issued, completed) =
            (after(traced.queued), after(traced.issued), after(traced.completed));
        // A request that enters the block layer late, delayed by a throttle or passed to another thread, was queueing
        // before.
        phases.submit_s = queued.min(stamps.call.unwrap_or(f64::INFINITY)).max(0.0);
        phases.queue_s = Some((issued - phases.submit_s).max(0.0));
        phases.device_s = Some((completed - issued).max(0.0));
        phases.complete_s = (total - completed).max(0.0);
        phases.device_requests = traced.device_requests;
        phases.merges = traced.merges;
        phases.device_request_bytes = (traced.sectors * SECTOR) as f64 / traced.device_requests as f64;
    } else if let Some(counted) = counted.filter(|counted| counted.requests > 0) {
        // Parts of one request are at the device concurrently: a request's device time is that of a part, not their
        // sum.
        let mean = counted.ms as f64 * 1e-3 / counted.requests as f64;
        phases.device_s = Some((mean * requests).min((total - phases.submit_s).max(0.0)));
        phases.device_requests = counted.requests;
        phases.merges = counted.merged;
        phases.device_request_bytes = counted.bytes as f64 / counted.requests as f64;
        phases.complete_s = (total - phases.submit_s - phases.device_s.unwrap_or(0.0)).max(0.0);
    } else {
        phases.complete_s = (total - phases.submit_s).max(0.0);
    }
    phases.splits = (phases.device_requests + phases.merges).saturating_sub(stamps.requests);
    phases
}

impl Workload for PhasesWorkload {
    fn labels(&self) -> Labels {
        Labels {
            order: Some("sequential".into()),
            variant: self.io.planned().map(|_| match &self.traceable {
                Ok(_) => "block trace".to_owned(),
                Err(reason) => format!("no block trace: {reason}"),
            }),
            ..self.io.labels()
        }
    }

    fn open(&mut self, context: &RunContext<'_>) -> Result<()> {
        let test_files = context.test_files();
        context.check_device(true)?;
        self.io.open(&test_files.cold, (test_files.len, RequestOrder::Sequential), context.seed)?;
        self.devices = context.devices.to_vec();
        // Once for the whole trial: the label states the result.
        self.traceable = traceable(&test_files.cold, test_files)
            .and_then(|found| Trace::of(&found.devices).map(|_| found));
        Ok(())
    }

    fn strategy(&self) -> Option<String> {
        self.io.planned()
    }

    fn prepare(&mut self, iteration: Iteration, context: &RunContext<'_>) -> Result<ExpectedState> {
        let test_files = context.test_files();
        let strategy = self.io.strategy();
        let request = strategy.request as u64;
        let blocks = test_files.len / request;
        let least = LEAST * strategy.depth as u64;
        self.requests = (iteration.span / request).clamp(least, MOST.max(least)).min(blocks).max(1);
        // The next run of the file, so that no device cache holds it.
        self.first = iteration.number.wrapping_mul(self.requests) % blocks;
        let precondition = Precondition::of(&self.io, None, None);
        let state = precondition.prepare(vec![(test_files.cold.clone(), 0..test_files.len)])?;
        self.trace = self.traceable.as_ref().ok().and_then(|found| Trace::of(&found.devices).ok());
        Ok(state)
    }

    fn ramp_up(&mut self, ramp: Ramp<'_>, context: &RunContext<'_>) -> Result<()> {
        repeat_until(ramp.enough, || {
            self.serve(LEAST * self.io.strategy().depth as u64, context.test_files()).map(drop)
        })
    }

    fn run(&mut self, context: &RunContext<'_>) -> Result<RunResult> {
        if self.trace.as_ref().is_some_and(|trace| trace.begin().is_err()) {
            self.trace = None;
        }
        let before = self.count();
        self.stamps = self.serve(self.requests, context.test_files())?;
        let after = self.count();
        self.counted = after.zip(before).map(|(after, before)| after.since(before));
        let stamps = &self.stamps;
        let depth = (stamps.seen - stamps.submitted) / stamps.seconds.max(1e-9);
        let result = RunResult::timed(stamps.bytes, stamps.seconds, stamps.requests, Some(depth));
        Ok(RunResult { latency: percentiles(&stamps.latencies), ..result })
    }

    fn finish_measurement(&mut self, done: &mut RunResult) -> Result<()> {
        let events = self.trace.as_ref().and_then(|trace| trace.end().ok());
        let traced = events
            .zip(self.traceable.as_ref().ok())
            .map(|(events, found)| sum_events(events, self.io.writes(), &found.sectors, self.stamps.origin));
        done.phases = Some(phases(&self.stamps, traced, self.counted));
        Ok(())
    }

    fn clean_up(&mut self, _context: &RunContext<'_>) -> Result<()> {
        self.trace = None;
        Ok(())
    }
}

fn now() -> f64 {
    fullbore::sys::monotonic_nanoseconds() as f64 * 1e-9
}

/// Sums over requests, in seconds; times count from the origin.
#[derive(Debug, Clone, Default, PartialEq)]
struct RequestTimestamps {
    /// Monotonic time of the first submission.
    origin: f64,
    /// Sum of the times of submission.
    submitted: f64,
    /// Sum of the times of completion.
    seen: f64,
    /// Time in submitting calls; `None` if the same call waits for the device.
    call: Option<f64>,
    requests: u64,
    bytes: u64,
    /// Duration from the first submission to the last completion.
    seconds: f64,
    latencies: Latencies,
}

/// Keeps `depth` requests in flight until `requests` have completed.
fn time_requests(target: &Target<'_>, depth: usize, requests: u64) -> Result<RequestTimestamps> {
    let (mut channel, mut pool) = target.open(depth)?;
    let apart = target.capabilities().depth > 1;
    let mut stamps = RequestTimestamps { call: apart.then_some(0.0), ..RequestTimestamps::default() };
    channel.time_requests();
    // By token, which is a slot.
    let mut submitted = vec![0.0; depth];
    let mut vacant: Vec<usize> = (0..depth).rev().collect();
    let mut number = 0;
    stamps.origin = now();
    let since = |origin: f64| now() - origin;
    while stamps.requests < requests {
        let mut fresh = Vec::new();
        while number < requests
            && let Some(slot) = vacant.pop()
            && let Some(buf) = pool.take()
        {
            submitted[slot] = since(stamps.origin);
            target.enqueue(&mut channel, slot as u64, number, buf)?;
            fresh.push(slot);
            number += 1;
        }
        channel.commit()?;
        if let Some(call) = &mut stamps.call {
            let handed = since(stamps.origin);
            *call += fresh.iter().map(|&slot| handed - submitted[slot]).sum::<f64>();
        }
        let Some(mut done) = channel.next()? else { break };
        let seen = since(stamps.origin);
        // Completions that arrived together have the same time.
        loop {
            let slot = done.token as usize;
            stamps.submitted += submitted[slot];
            stamps.seen += seen;
            stamps.requests += 1;
            stamps.bytes += done.buf.len() as u64;
            stamps.seconds = seen;
            vacant.push(slot);
            pool.put(done.buf);
            match channel.ready()? {
                Some(more) => done = more,
                None => break,
            }
        }
    }
    stamps.latencies = channel.take_latencies();
    Ok(stamps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamps() -> RequestTimestamps {
        // Ten requests of 4 KiB, submitted at 0, each completed after 1 ms; 10 µs in the call.
        RequestTimestamps {
            origin: 0.0,
            submitted: 5.0,
            seen: 5.01,
            call: Some(100e-6),
            requests: 10,
            bytes: 40_960,
            seconds: 1.0,
            ..RequestTimestamps::default()
        }
    }

    fn close(value: f64, truth: f64) {
        assert!((value - truth).abs() < 1e-9, "{value} {truth}");
    }

    /// Creates sums over 80 sectors with these times since submission.
    fn traced(queued: f64, issued: f64, completed: f64) -> TraceSums {
        let sum = |after: f64| 80.0 * (0.5 + after);
        TraceSums {
            sectors: 80,
            queued: sum(queued),
            issued: sum(issued),
            completed: sum(completed),
            device_requests: 20,
            merges: 0,
        }
    }

    #[test]
    fn traced_phases_add_up_to_the_total() {
        let found = phases(&stamps(), Some(traced(8e-6, 20e-6, 900e-6)), None);
        close(found.submit_s, 80e-6);
        close(found.queue_s.unwrap(), 120e-6);
        close(found.device_s.unwrap(), 8.8e-3);
        close(found.complete_s, 1e-3);
        assert_eq!((found.device_requests, found.splits), (20, 10));
        close(found.device_request_bytes, 2048.0);
        // Delayed after the call had returned: queue time.
        let throttled = phases(&stamps(), Some(traced(500e-6, 520e-6, 900e-6)), None);
        close(throttled.submit_s, 100e-6);
        close(throttled.queue_s.unwrap(), 5.1e-3);
        let sum = throttled.submit_s + throttled.queue_s.unwrap() + throttled.device_s.unwrap();
        close(sum + throttled.complete_s, 0.01);
    }

    #[test]
    fn milliseconds_are_counted_past_the_end_of_the_counter() {
        let reading = |requests, ms| Transfers { requests, ms, ..Transfers::default() };
        assert_eq!(reading(9, 5).since(reading(7, u64::from(u32::MAX) - 4)), reading(2, 10));
    }

    #[test]
    fn counters_are_used_without_a_trace() {
        let counted = Transfers { requests: 20, merged: 0, bytes: 40_960, ms: 12 };
        let partial = TraceSums { sectors: 40, ..traced(8e-6, 20e-6, 900e-6) };
        for traced in [None, Some(partial)] {
            let found = phases(&stamps(), traced, Some(counted));
            assert_eq!((found.queue_s, found.device_requests, found.splits), (None, 20, 10));
            close(found.submit_s, 100e-6);
            close(found.device_s.unwrap(), 6e-3);
            close(found.complete_s, 3.9e-3);
        }
        let nothing = phases(&RequestTimestamps { call: None, ..stamps() }, None, None);
        assert_eq!((nothing.device_s, nothing.submit_s), (None, 0.0));
        close(nothing.complete_s, 0.01);
    }
}
