//! The open loop: requests start when they are due, independently of earlier ones, and their latency counts from then.
//!
//! A closed loop starts the next request when the previous one has completed. During a stall of the storage it starts
//! none, so the stall appears as one slow request among thousands of fast ones. This error is called coordinated
//! omission (Gil Tene). In the open loop, requests due during the stall count with the latency that their users would
//! have seen.

use std::collections::VecDeque;
use std::time::Duration;

use fullbore::Result;
use fullbore::buf::Pool;
use fullbore::engine::{IoQueue, Latencies};
use fullbore::error::{Error, ErrorKind};
use serde::{Deserialize, Serialize};

use super::super::one_way::Target;
use crate::clock::Clock;
use crate::stats::Xoshiro256;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, Default)]
#[serde(rename_all = "lowercase")]
pub(super) enum Spacing {
    /// Poisson arrivals, as of many independent users: exponentially distributed gaps.
    #[default]
    Poisson,
    Constant,
}

/// Returns the arrival times of `load` requests per second over `seconds`, in seconds from the start, ascending.
///
/// Poisson arrivals are conditioned on their number, which is therefore the same in every sample: exponentially
/// distributed gaps, scaled so that their sum is the time (the order statistics of a uniform sample).
pub(super) fn schedule(spacing: Spacing, load: f64, seconds: f64, seed: u64) -> Vec<f64> {
    let count = ((load * seconds).round() as usize).max(1);
    let mut dice = Xoshiro256::seeded(seed);
    let gap = || match spacing {
        // 1 - u is in (0, 1], so the logarithm is finite.
        Spacing::Poisson => -(1.0 - dice.unit()).ln(),
        Spacing::Constant => 1.0,
    };
    let gaps: Vec<f64> = std::iter::repeat_with(gap).take(count + 1).collect();
    let scale = seconds / gaps.iter().sum::<f64>();
    let mut now = 0.0;
    gaps[..count]
        .iter()
        .map(|gap| {
            now += gap * scale;
            now
        })
        .collect()
}

pub(super) trait Server {
    fn now(&self) -> f64;

    /// Starts request `number`; `slot` identifies it on completion.
    fn begin(&mut self, slot: usize, number: u64) -> Result<()>;

    /// Returns the slot of a completed request, if any.
    fn finished(&mut self) -> Result<Option<usize>>;

    /// Waits until `until` at most, or until a request may have completed; `f64::INFINITY`: no limit.
    fn wait(&mut self, until: f64) -> Result<()>;
}

#[derive(Debug, Clone, Default)]
pub(super) struct ServedRequests {
    /// From the due time to the observed completion; of requests never started, the time that they had waited.
    pub(super) latencies: Latencies,
    pub(super) done: u64,
    /// Requests that were due and never started.
    pub(super) given_up: u64,
    /// Maximum number of requests due and not started.
    pub(super) backlog: usize,
    pub(super) depth: f64,
    /// Seconds from the start to the end of the last request.
    pub(super) seconds: f64,
}

/// Serves a schedule. At most `depth` requests are in flight; others that are due wait until `limit`, in seconds from
/// the start, and are then abandoned. `stopped` is polled from time to time.
pub(super) fn serve(
    schedule: Vec<f64>,
    server: &mut impl Server,
    depth: usize,
    limit: f64,
    stopped: &dyn Fn() -> bool,
) -> Result<ServedRequests> {
    let mut schedule = schedule.into_iter().peekable();
    let mut waiting: VecDeque<f64> = VecDeque::new();
    // By slot: due time and start time.
    let mut flight = vec![(0.0, 0.0); depth];
    let mut vacant: Vec<usize> = (0..depth).rev().collect();
    let mut served = ServedRequests::default();
    let mut number = 0;
    let mut with_system = 0.0;
    loop {
        let now = server.now();
        while let Some(due) = schedule.next_if(|due| *due <= now) {
            waiting.push_back(due);
        }
        let out_of_time = now >= limit || stopped();
        if out_of_time {
            schedule.by_ref().for_each(drop);
            served.given_up += waiting.len() as u64;
            waiting.drain(..).for_each(|due| served.latencies.record(seconds(now - due)));
        }
        while !vacant.is_empty()
            && let Some(due) = waiting.pop_front()
        {
            if let Some(slot) = vacant.pop() {
                flight[slot] = (due, server.now());
                server.begin(slot, number)?;
                number += 1;
            }
        }
        served.backlog = served.backlog.max(waiting.len());
        let mut progress = false;
        while let Some(slot) = server.finished()? {
            let now = server.now();
            let (due, begun) = flight[slot];
            served.latencies.record(seconds(now - due));
            with_system += now - begun;
            served.done += 1;
            served.seconds = now;
            vacant.push(slot);
            progress = true;
        }
        if progress {
            continue;
        }
        let next = schedule.peek().copied();
        if vacant.len() == depth && waiting.is_empty() && next.is_none() {
            served.depth = if served.seconds > 0.0 { with_system / served.seconds } else { 0.0 };
            return Ok(served);
        }
        server.wait(match next {
            // With every slot taken, no request can start before one is free.
            _ if out_of_time => f64::INFINITY,
            _ if vacant.is_empty() => limit,
            next => next.unwrap_or(f64::INFINITY),
        })?;
    }
}

/// Converts seconds to a duration; a clock that steps back slightly yields zero, not a failure.
pub(super) fn seconds(time: f64) -> Duration {
    Duration::try_from_secs_f64(time.max(0.0)).unwrap_or(Duration::MAX)
}

/// Wakes this thread from sleep at the requested time, not up to 50 µs later, the default (`PR_SET_TIMERSLACK`).
pub(super) fn sleep_precisely() {
    // A failure makes requests slightly late, and their latency includes that.
    let _ = fullbore::sys::set_timer_slack(std::num::NonZeroU64::MIN);
}

pub(super) struct AsyncServer<'a> {
    queue: IoQueue,
    pool: Pool,
    target: &'a Target<'a>,
    clock: Clock,
}

impl<'a> AsyncServer<'a> {
    pub(super) fn open(target: &'a Target<'a>, depth: usize) -> Result<Self> {
        let (queue, pool) = target.open(depth)?;
        sleep_precisely();
        Ok(Self { queue, pool, target, clock: Clock::start() })
    }
}

impl Server for AsyncServer<'_> {
    fn now(&self) -> f64 {
        self.clock.seconds()
    }

    fn begin(&mut self, slot: usize, number: u64) -> Result<()> {
        let buf = self.pool.take().ok_or_else(|| {
            Error::new(ErrorKind::Invalid, "take a buffer", "", "none for a free slot").without_path()
        })?;
        self.target.enqueue(&mut self.queue, slot as u64, number, buf)?;
        // Each request is submitted when it is due, not in batches.
        self.queue.commit()
    }

    fn finished(&mut self) -> Result<Option<usize>> {
        Ok(self.queue.ready()?.map(|done| {
            self.pool.put(done.buf);
            done.token as usize
        }))
    }

    fn wait(&mut self, until: f64) -> Result<()> {
        // With requests in flight, only polling sees them complete in time.
        if self.queue.in_flight() == 0 {
            self.clock.wait_until(until);
        } else {
            std::hint::spin_loop();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{mean, squares};

    #[test]
    fn constant_requests_are_evenly_spaced() {
        let dues = schedule(Spacing::Constant, 100.0, 1.0, 1);
        assert_eq!(dues.len(), 100);
        assert!(dues.windows(2).all(|two| (two[1] - two[0] - 1.0 / 101.0).abs() < 1e-9));
        assert!(dues[99] < 1.0);
    }

    /// Gaps have mean and standard deviation 1/load; the variance of counts in intervals equals their mean.
    #[test]
    fn poisson_gaps_are_exponential() {
        let dues = schedule(Spacing::Poisson, 1000.0, 100.0, 7);
        assert_eq!(dues.len(), 100_000);
        assert!(dues.is_sorted() && dues[99_999] < 100.0);
        let gaps: Vec<f64> = dues.windows(2).map(|two| two[1] - two[0]).collect();
        let (mean, deviation) = (mean(&gaps), (squares(&gaps) / gaps.len() as f64).sqrt());
        assert!((mean / 1e-3 - 1.0).abs() < 0.02, "{mean}");
        assert!((deviation / 1e-3 - 1.0).abs() < 0.03, "{deviation}");
        let mut counts = vec![0f64; 10_000];
        dues.iter().for_each(|due| counts[((due * 100.0) as usize).min(9_999)] += 1.0);
        let variance = squares(&counts) / counts.len() as f64;
        assert!((variance / 10.0 - 1.0).abs() < 0.06, "{variance}");
    }

    /// A device that serves one request after another, `service` seconds each in simulated time, except during a stall.
    struct SimulatedDevice {
        now: f64,
        free: f64,
        service: f64,
        stall: (f64, f64),
        flight: VecDeque<(usize, f64)>,
    }

    impl SimulatedDevice {
        fn new(service: f64) -> Self {
            Self { now: 0.0, free: 0.0, service, stall: (f64::MAX, f64::MAX), flight: VecDeque::new() }
        }
    }

    impl Server for SimulatedDevice {
        fn now(&self) -> f64 {
            self.now
        }

        fn begin(&mut self, slot: usize, _number: u64) -> Result<()> {
            let mut end = self.free.max(self.now) + self.service;
            if end > self.stall.0 && end - self.service < self.stall.1 {
                end = self.stall.1 + self.service;
            }
            self.free = end;
            self.flight.push_back((slot, end));
            Ok(())
        }

        fn finished(&mut self) -> Result<Option<usize>> {
            let done = self.flight.front().is_some_and(|(_, end)| *end <= self.now);
            Ok(if done { self.flight.pop_front().map(|(slot, _)| slot) } else { None })
        }

        fn wait(&mut self, until: f64) -> Result<()> {
            let first = self.flight.front().map_or(f64::INFINITY, |(_, end)| *end);
            let next = first.min(until);
            assert!(next.is_finite() && next > self.now, "waits without a pending event at {}", self.now);
            self.now = next;
            Ok(())
        }
    }

    fn run(device: &mut SimulatedDevice, load: f64, total: f64) -> ServedRequests {
        serve(schedule(Spacing::Poisson, load, total, 3), device, 128, 3.0 * total, &|| false).unwrap()
    }

    fn quantile(served: &ServedRequests, share: f64) -> f64 {
        served.latencies.quantile(share).unwrap().as_secs_f64()
    }

    /// Serves one request after another, as a closed loop of depth 1 does.
    fn closed(device: &mut SimulatedDevice, total: f64) -> Latencies {
        let mut latencies = Latencies::default();
        while device.now < total {
            let begun = device.now;
            device.begin(0, 0).unwrap();
            device.wait(f64::INFINITY).unwrap();
            device.finished().unwrap();
            latencies.record(seconds(device.now - begun));
        }
        latencies
    }

    #[test]
    fn at_low_load_the_median_is_the_service_time() {
        let served = run(&mut SimulatedDevice::new(100e-6), 100.0, 100.0);
        assert!((quantile(&served, 0.5) / 100e-6 - 1.0).abs() < 0.01);
        assert!((quantile(&served, 0.9) / 100e-6 - 1.0).abs() < 0.02);
        assert!((served.depth / 0.01 - 1.0).abs() < 0.05, "Little: {}", served.depth);
        assert_eq!(served.given_up, 0);
    }

    /// Pollaczek and Khinchine: the mean wait of M/D/1 is ρ/(2(1 - ρ)) service times.
    #[test]
    fn mean_latency_is_that_of_an_m_d_1_queue() {
        for share in [0.25, 0.5, 0.75, 0.9] {
            let served = run(&mut SimulatedDevice::new(1e-3), 1e3 * share, 1000.0);
            let mean = served.latencies.mean().unwrap().as_secs_f64();
            let theory = 1e-3 * (1.0 + share / (2.0 * (1.0 - share)));
            assert!((mean / theory - 1.0).abs() < 0.05, "{share}: {mean} {theory}");
            assert!((served.depth / (theory * 1e3 * share) - 1.0).abs() < 0.06, "Little's law at {share}");
        }
    }

    /// A stall of half a second in ten: every twentieth request meets it. In a closed loop, one request meets it.
    #[test]
    fn open_loop_shows_a_stall_that_a_closed_loop_hides() {
        let stalled = || SimulatedDevice { stall: (5.0, 5.5), ..SimulatedDevice::new(1e-3) };
        let served = run(&mut stalled(), 200.0, 10.0);
        let p99 = quantile(&served, 0.99);
        // A tenth of a second of the stall has 1% of the requests: the last percent waited 0.4 s or more.
        assert!((0.36..0.5).contains(&p99), "{p99}");
        let longest = served.latencies.longest().unwrap().as_secs_f64();
        assert!((0.48..0.55).contains(&longest), "{longest}");
        let closed = closed(&mut stalled(), 10.0);
        let hidden = closed.quantile(0.999).unwrap().as_secs_f64();
        assert!((hidden / 1e-3 - 1.0).abs() < 0.01, "{hidden}");
        assert!(closed.longest().unwrap().as_secs_f64() > 0.5);
    }

    /// Twice the maximum rate: the backlog grows until the end of the schedule and is then served or abandoned.
    #[test]
    fn an_overload_grows_and_ends() {
        let twice = || schedule(Spacing::Constant, 2000.0, 1.0, 1);
        let served = serve(twice(), &mut SimulatedDevice::new(1e-3), 8, 3.0, &|| false).unwrap();
        assert_eq!((served.given_up, served.latencies.count()), (0, served.done));
        assert!((served.seconds / 2.0 - 1.0).abs() < 0.01, "{}", served.seconds);
        assert!((980..=1000).contains(&served.backlog), "{}", served.backlog);
        assert!((served.depth / 8.0 - 1.0).abs() < 0.01);
        assert!((quantile(&served, 1.0) / 1.0 - 1.0).abs() < 0.02, "the last waited as long as the schedule");

        let cut = serve(twice(), &mut SimulatedDevice::new(1e-3), 8, 1.5, &|| false).unwrap();
        assert!((480..=510).contains(&cut.given_up), "{}", cut.given_up);
        assert_eq!(cut.latencies.count(), cut.done + cut.given_up, "every request is counted");
        let stopped = serve(twice(), &mut SimulatedDevice::new(1e-3), 8, 3.0, &|| true).unwrap();
        assert_eq!(stopped.done, 0);
    }
}
