//! The open loop: requests begin when they are due, whatever became of those before, and their time counts from then.
//!
//! A closed loop asks for the next request when the last is done: while the storage stalls it asks for nothing, and
//! the stall is one slow request among thousands of quick ones. That is coordinated omission (Gil Tene). Here those
//! that would have been asked for meanwhile are due all the same, and each is as late as its user would have
//! found it.

use std::collections::VecDeque;
use std::time::Duration;

use fullbore::Result;
use fullbore::engine::Latencies;

/// What serves requests, and the clock by which it does.
pub(super) trait Server {
    /// Seconds since the start.
    fn now(&self) -> f64;

    /// Begins request `number`; `slot` is what it is called by when it is done.
    fn begin(&mut self, slot: usize, number: u64) -> Result<()>;

    /// A request that is done, by its slot.
    fn finished(&mut self) -> Result<Option<usize>>;

    /// Lets time pass, until `until` at most or until a request may be done; `f64::INFINITY`: until one may be.
    fn wait(&mut self, until: f64) -> Result<()>;
}

/// What became of the requests of a schedule.
#[derive(Debug, Clone, Default)]
pub(super) struct ServedRequests {
    /// From the moment they were due to the moment they were seen to be done; of those not even begun when there was no
    /// more time, as long as they had waited by then.
    pub(super) latencies: Latencies,
    /// Requests done.
    pub(super) done: u64,
    /// Requests that were due and never begun.
    pub(super) given_up: u64,
    /// The most that were due and not begun at any moment.
    pub(super) backlog: usize,
    /// Mean number of requests with the system.
    pub(super) depth: f64,
    /// From the start to the end of the last request.
    pub(super) seconds: f64,
}

/// Serves a schedule. At most `depth` requests are with the system at once; the others that are due wait for their turn until
/// `limit`, in seconds from the start, and are given up then. `stopped` is asked now and then.
pub(super) fn serve(
    schedule: Vec<f64>,
    server: &mut impl Server,
    depth: usize,
    limit: f64,
    stopped: &dyn Fn() -> bool,
) -> Result<ServedRequests> {
    let mut schedule = schedule.into_iter().peekable();
    let mut waiting: VecDeque<f64> = VecDeque::new();
    // By slot: when it was due, and when it was begun.
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
            // With every slot taken, what comes due cannot be begun before one of them is free.
            _ if out_of_time => f64::INFINITY,
            _ if vacant.is_empty() => limit,
            next => next.unwrap_or(f64::INFINITY),
        })?;
    }
}

/// A clock that steps back by a hair is no reason to fail.
pub(super) fn seconds(time: f64) -> Duration {
    Duration::try_from_secs_f64(time.max(0.0)).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::arrivals::{Spacing, schedule};
    use super::*;

    /// A device with one server that takes `service` seconds a request, first come first served, in a time of its own. It
    /// stands still from `stall.0` to `stall.1`.
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
            assert!(next.is_finite() && next > self.now, "waits for nothing at {}", self.now);
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

    /// One request after the other, as a closed loop of depth 1 does.
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

    /// Pollaczek and Khinchine: the mean wait of M/D/1 is ρ/(2(1 - ρ)) services.
    #[test]
    fn the_mean_is_that_of_a_queue_with_random_arrivals_and_constant_service() {
        for share in [0.25, 0.5, 0.75, 0.9] {
            let served = run(&mut SimulatedDevice::new(1e-3), 1e3 * share, 1000.0);
            let mean = served.latencies.mean().unwrap().as_secs_f64();
            let theory = 1e-3 * (1.0 + share / (2.0 * (1.0 - share)));
            assert!((mean / theory - 1.0).abs() < 0.05, "{share}: {mean} {theory}");
            assert!((served.depth / (theory * 1e3 * share) - 1.0).abs() < 0.06, "Little's law at {share}");
        }
    }

    /// Half a second of standstill in ten: every twentieth user meets it. A closed loop meets it once.
    #[test]
    fn a_stall_shows_at_its_full_length_where_a_closed_loop_hides_it() {
        let stalled = || SimulatedDevice { stall: (5.0, 5.5), ..SimulatedDevice::new(1e-3) };
        let served = run(&mut stalled(), 200.0, 10.0);
        let p99 = quantile(&served, 0.99);
        // A tenth of a second of the standstill has 1% of the requests: the last percent waited 0.4 s and more.
        assert!((0.36..0.5).contains(&p99), "{p99}");
        let longest = served.latencies.longest().unwrap().as_secs_f64();
        assert!((0.48..0.55).contains(&longest), "{longest}");
        let closed = closed(&mut stalled(), 10.0);
        let hidden = closed.quantile(0.999).unwrap().as_secs_f64();
        assert!((hidden / 1e-3 - 1.0).abs() < 0.01, "{hidden}");
        assert!(closed.longest().unwrap().as_secs_f64() > 0.5);
    }

    /// Twice what it can do: the backlog grows to the end of the schedule and is worked off after it, or given up.
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
        assert_eq!(cut.latencies.count(), cut.done + cut.given_up, "none is forgotten");
        let stopped = serve(twice(), &mut SimulatedDevice::new(1e-3), 8, 3.0, &|| true).unwrap();
        assert_eq!(stopped.done, 0);
    }
}
