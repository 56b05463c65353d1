//! Threads as the server of the open loop, for synchronous methods: each thread takes the next due request and blocks
//! until its call returns. The number of threads is the maximum in flight; other due requests wait.

use std::collections::VecDeque;

use fullbore::Result;
use fullbore::engine::Latencies;
use fullbore::error::{Error, ErrorKind};
use fullbore::lock::Mutex;

use super::open_loop::{ServedRequests, seconds, sleep_precisely};
use crate::clock::Clock;

/// Shared state of the threads; the thread that holds the lock waits for the next request.
#[derive(Default)]
struct SharedSchedule {
    schedule: VecDeque<f64>,
    number: u64,
    backlog: usize,
    latencies: Latencies,
    given_up: u64,
}

#[derive(Default)]
struct ThreadResult {
    latencies: Latencies,
    busy: f64,
    last: f64,
}

/// Serves a schedule as [`serve`](super::open_loop::serve) does. `call` creates, in its thread, the function called with
/// the number of each request; `start_clock` starts the schedule when all threads are ready.
pub(super) fn serve_by_threads<C: FnMut(u64) -> Result<()>>(
    schedule: Vec<f64>,
    threads: usize,
    limit: f64,
    is_cancelled: &(dyn Fn() -> bool + Sync),
    start_clock: impl Fn() -> Clock + Sync,
    call: impl Fn() -> Result<C> + Sync,
) -> Result<ServedRequests> {
    let shared = Mutex::new(SharedSchedule { schedule: schedule.into(), ..SharedSchedule::default() });
    // `None` if not all threads could be started.
    let ready: std::sync::OnceLock<Option<std::sync::Barrier>> = std::sync::OnceLock::new();
    let clock = std::sync::OnceLock::new();
    let one = || -> Result<ThreadResult> {
        sleep_precisely();
        let opened = call();
        let Some(ready) = ready.wait() else { return Ok(ThreadResult::default()) };
        ready.wait();
        let clock = clock.get_or_init(&start_clock);
        let mut result = ThreadResult::default();
        let mut call = opened?;
        while let Some((due, number)) = next(&shared, clock, limit, is_cancelled) {
            let begun = clock.seconds();
            if let Err(error) = call(number) {
                // The other threads have no more requests to wait for.
                shared.lock().schedule.clear();
                return Err(error);
            }
            result.last = clock.seconds();
            result.busy += result.last - begun;
            result.latencies.record(seconds(result.last - due));
        }
        Ok(result)
    };
    let results: Vec<Result<ThreadResult>> = std::thread::scope(|scope| {
        let start = |_| std::thread::Builder::new().spawn_scoped(scope, one);
        let (mut started, mut refused) = (Vec::with_capacity(threads), None);
        for thread in (0..threads).map(start) {
            match thread {
                Ok(thread) => started.push(thread),
                Err(error) => refused = Some(Error::io("start a thread", "", error).without_path()),
            }
        }
        let _ = ready.set(refused.is_none().then(|| std::sync::Barrier::new(threads)));
        let lost = |_| Err(Error::new(ErrorKind::Io, "measure", "", "a thread ended early").without_path());
        let results = started.into_iter().map(|thread| thread.join().unwrap_or_else(lost));
        refused.map(Err).into_iter().chain(results).collect()
    });
    let shared = shared.into_inner();
    let mut served = ServedRequests {
        latencies: shared.latencies,
        given_up: shared.given_up,
        backlog: shared.backlog,
        ..ServedRequests::default()
    };
    let mut busy = 0.0;
    for result in results {
        let result = result?;
        served.done += result.latencies.count();
        served.latencies.add(&result.latencies);
        served.seconds = served.seconds.max(result.last);
        busy += result.busy;
    }
    served.depth = if served.seconds > 0.0 { busy / served.seconds } else { 0.0 };
    Ok(served)
}

/// Waits for the next request until it is due; `None` if there is none or the time is over.
fn next(
    shared: &Mutex<SharedSchedule>,
    clock: &Clock,
    limit: f64,
    is_cancelled: &(dyn Fn() -> bool + Sync),
) -> Option<(f64, u64)> {
    let mut shared = shared.lock();
    let now = clock.seconds();
    if now >= limit || is_cancelled() {
        for due in std::mem::take(&mut shared.schedule) {
            shared.given_up += 1;
            shared.latencies.record(seconds(now - due));
        }
    }
    let due = shared.schedule.pop_front()?;
    // Due times ascend, so the due requests come first.
    let behind = shared.schedule.partition_point(|due| *due <= now);
    shared.backlog = shared.backlog.max(behind);
    shared.number += 1;
    let number = shared.number - 1;
    // The lock is held while waiting: exactly one thread waits for the clock, the others for the lock.
    clock.wait_until(due);
    Some((due, number))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use super::super::open_loop::{Spacing, schedule};
    use super::*;

    #[test]
    fn every_request_runs_once_when_due() {
        let made = Mutex::new(BTreeSet::new());
        let clock = Clock::set();
        let dues = schedule(Spacing::Constant, 200.0, 0.2, 1);
        let served = serve_by_threads(
            dues.clone(),
            4,
            60.0,
            &|| false,
            || clock.clone(),
            || {
                Ok(|number| {
                    // The clock counts whole nanoseconds.
                    assert!(clock.seconds() + 1e-9 >= dues[number as usize], "not before it is due");
                    clock.advance(Duration::from_millis(2));
                    assert!(made.lock().insert(number));
                    Ok(())
                })
            },
        )
        .unwrap();
        assert_eq!(made.into_inner(), (0..40).collect());
        assert_eq!((served.done, served.given_up, served.latencies.count()), (40, 0, 40));
        assert!(served.latencies.quantile(0.01).unwrap() >= Duration::from_millis(2) * 99 / 100);
        assert!(served.depth > 0.0 && served.seconds > 0.19);
    }

    /// One thread, and each call takes ten times the gap: each request also waits for all earlier calls.
    #[test]
    fn waiting_for_a_thread_counts_in_the_latency() {
        let serve = |limit: f64| {
            let clock = Clock::set();
            let slow = || {
                Ok(|_| {
                    clock.advance(Duration::from_millis(10));
                    Ok(())
                })
            };
            let dues = schedule(Spacing::Constant, 1000.0, 0.02, 1);
            serve_by_threads(dues, 1, limit, &|| false, || clock.clone(), slow).unwrap()
        };
        let served = serve(60.0);
        assert_eq!(served.done, 20);
        assert!(served.latencies.longest().unwrap() >= Duration::from_millis(180));
        assert!(served.backlog >= 10, "{}", served.backlog);
        let cut = serve(0.05);
        assert!(cut.given_up > 0 && cut.done + cut.given_up == 20);
        assert_eq!(cut.latencies.count(), 20, "abandoned requests count with the time that they waited");
    }

    #[test]
    fn error_stops_all_threads() {
        let dues = schedule(Spacing::Constant, 10.0, 1000.0, 1);
        let fails = || Ok(|_| Err(Error::new(ErrorKind::Io, "read", "file", "no")));
        assert!(serve_by_threads(dues, 3, 2000.0, &|| false, Clock::set, fails).is_err());
        let dues = schedule(Spacing::Constant, 10.0, 0.1, 1);
        let unopened =
            || -> Result<fn(u64) -> Result<()>> { Err(Error::new(ErrorKind::Io, "open", "file", "no")) };
        assert!(serve_by_threads(dues, 3, 1.0, &|| false, Clock::set, unopened).is_err());
    }
}
