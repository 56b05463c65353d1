//! Worker threads: the calling thread, and as many more as the system can start; and their CPU time outside the transfer.

use std::cell::Cell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Scope;
use std::time::{Duration, Instant};

use fullbore_io::error::{Error, Result};
use fullbore_io::lock::Mutex;
use fullbore_io::probe::ProcessUsage;
use fullbore_io::sys;

thread_local! {
    /// See [`held`].
    static HELD: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// The time that this thread has spent so far on handing over results, which depends on their receiver.
pub(super) fn held() -> Duration {
    HELD.get()
}

/// Calls `hand_over`, whose time is that of the receiver of results.
pub(super) fn holding<T>(hand_over: impl FnOnce() -> T) -> T {
    // The receiver may hand over results, too: that time counts once.
    let (start, before) = (Instant::now(), held());
    let result = hand_over();
    HELD.set(before + start.elapsed());
    result
}

/// The number of workers of a run, known once all threads have started.
#[derive(Debug, Default)]
pub(super) struct Started(OnceLock<usize>);

impl Started {
    pub(super) fn count(&self) -> usize {
        *self.0.wait()
    }
}

/// Calls `one` for each of the workers `0..workers` and returns the results in worker order. If the system can start
/// fewer threads, there are fewer workers, with the lowest numbers. `lost` is called if a worker panics, to release
/// threads that wait for its results.
pub(super) fn on_threads<T: Send>(
    workers: usize,
    one: &(dyn Fn(usize, &Started) -> T + Sync),
    lost: &(dyn Fn() + Sync),
) -> Vec<T> {
    let started = &Started::default();
    let watched =
        move |worker| caught(|| one(worker, started), lost).unwrap_or_else(|panic| resume_unwind(panic));
    std::thread::scope(|scope| {
        let start = |worker| std::thread::Builder::new().spawn_scoped(scope, move || watched(worker)).ok();
        let threads: Vec<_> = (1..workers).map_while(start).collect();
        let _ = started.0.set(1 + threads.len());
        let mine = watched(0);
        let others =
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        std::iter::once(mine).chain(others).collect()
    })
}

/// As [`on_threads`], on threads of the system's pool if it has one, for work that does not depend on the number of workers: a
/// worker that the pool has not started when the calling thread's ends is left out.
pub(super) fn on_pool<T: Send>(
    workers: usize,
    one: &(dyn Fn(usize, &Started) -> T + Sync),
    lost: &(dyn Fn() + Sync),
) -> Vec<T> {
    let started = Started::default();
    let _ = started.0.set(workers.max(1));
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, std::thread::Result<T>)>> = Mutex::default();
    let work = || {
        let worker = next.fetch_add(1, Ordering::Relaxed);
        let result = caught(|| one(worker, &started), lost);
        done.lock().push((worker, result));
    };
    if sys::call_on_pool(workers.saturating_sub(1), &work).is_err() {
        return on_threads(workers, one, lost);
    }
    let mut done = done.into_inner();
    done.sort_unstable_by_key(|(worker, _)| *worker);
    done.into_iter().map(|(_, result)| result.unwrap_or_else(|panic| resume_unwind(panic))).collect()
}

/// The work of a worker with an index; its second argument starts the worker with another one.
pub(super) type GrowingWork<'w> = dyn Fn(usize, &dyn Fn(usize)) + Sync + 'w;

/// Calls `one` for each of the workers `0..workers`, as [`on_threads`] does, and for those that workers start while they
/// run: `one` receives a function that starts the worker with an index, if the system can start a thread.
pub(super) fn on_more_threads(workers: usize, one: &GrowingWork<'_>, lost: &(dyn Fn() + Sync)) {
    fn run<'scope>(scope: &'scope Scope<'scope, '_>, workers: Range<usize>, one: &'scope GrowingWork<'_>) {
        let start = |worker: usize| {
            // Without another thread, there is one fewer worker.
            let run = move || run(scope, worker..worker + 1, one);
            let _ = std::thread::Builder::new().spawn_scoped(scope, run);
        };
        (workers.start + 1..workers.end).for_each(start);
        one(workers.start, &start);
    }
    let panic = Mutex::new(None);
    let one = |worker: usize, start: &dyn Fn(usize)| {
        if let Err(payload) = caught(|| one(worker, start), lost) {
            panic.lock().get_or_insert(payload);
        }
    };
    std::thread::scope(|scope| run(scope, 0..workers, &one));
    if let Some(payload) = panic.into_inner() {
        resume_unwind(payload);
    }
}

/// The result of the work of a worker; calls `lost` if it panics.
fn caught<T>(work: impl FnOnce() -> T, lost: &(dyn Fn() + Sync)) -> std::thread::Result<T> {
    catch_unwind(AssertUnwindSafe(work)).inspect_err(|_| lost())
}

#[derive(Debug, Default)]
pub(super) struct FirstError(Mutex<Option<Error>>);

impl FirstError {
    /// Keeps the first error: it has the cause, later ones follow from it.
    pub(super) fn put(&self, error: Error) {
        self.0.lock().get_or_insert(error);
    }

    pub(super) fn result(self) -> Result<()> {
        self.0.into_inner().map_or(Ok(()), Err)
    }
}

/// A counter of setup CPU time in seconds, user and system; it counts nothing if the system does not report it.
pub(super) struct SetupCpu {
    /// CPU time of the thread when counting started or resumed.
    since: Option<ProcessUsage>,
    user: f64,
    system: f64,
}

impl SetupCpu {
    pub(super) fn begin() -> Self {
        Self { since: ProcessUsage::of_thread().ok(), user: 0.0, system: 0.0 }
    }

    pub(super) fn pause(&mut self) {
        if let Some(since) = self.since.take()
            && let Ok(now) = ProcessUsage::of_thread()
        {
            let used = now.since(&since);
            self.user += used.user;
            self.system += used.system;
        }
    }

    pub(super) fn resume(&mut self) {
        self.since = ProcessUsage::of_thread().ok();
    }

    /// Stops counting; returns user and system CPU time in seconds.
    pub(super) fn end(mut self) -> (f64, f64) {
        self.pause();
        (self.user, self.system)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_worker_gets_its_number_and_the_count() {
        for workers in [0, 1, 2, 5] {
            let count = workers.max(1);
            let expected: Vec<_> = (0..count).map(|worker| (worker, count)).collect();
            let one = |worker: usize, started: &Started| (worker, started.count());
            assert_eq!(on_threads(workers, &one, &|| {}), expected);
            // Each waits for the others, so that none is left out.
            let all = std::sync::Barrier::new(count);
            let one = |worker: usize, started: &Started| {
                all.wait();
                one(worker, started)
            };
            assert_eq!(on_pool(workers, &one, &|| {}), expected);
        }
    }

    #[test]
    fn workers_start_others() {
        let (seen, one) = (std::sync::Mutex::new(Vec::new()), std::sync::atomic::AtomicUsize::new(2));
        let work = |worker: usize, start: &dyn Fn(usize)| {
            seen.lock().unwrap().push(worker);
            let next = one.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            if next < 9 {
                start(next);
            }
        };
        on_more_threads(2, &work, &|| {});
        let mut seen = seen.into_inner().unwrap();
        seen.sort_unstable();
        assert_eq!(seen, (0..9).collect::<Vec<_>>());
    }

    #[test]
    fn a_panic_releases_waiting_threads() {
        for pooled in [false, true] {
            let lost = (std::sync::Mutex::new(false), std::sync::Condvar::new());
            let waits = |worker: usize, _: &Started| {
                assert_ne!(worker, 1, "on purpose");
                let lock = lost.0.lock().unwrap();
                drop(lost.1.wait_while(lock, |lost| !*lost).unwrap());
            };
            let release = || {
                *lost.0.lock().unwrap() = true;
                lost.1.notify_all();
            };
            let result = catch_unwind(AssertUnwindSafe(|| match pooled {
                false => on_threads(3, &waits, &release),
                true => on_pool(3, &waits, &release),
            }));
            assert!(result.is_err());
        }
        // The panic of any worker reaches the caller with its message.
        for one in [0, 1] {
            let work = |worker: usize, _: &dyn Fn(usize)| assert_ne!(worker, one, "on purpose");
            let result = catch_unwind(AssertUnwindSafe(|| on_more_threads(2, &work, &|| {})));
            assert!(result.unwrap_err().downcast_ref::<String>().unwrap().contains("on purpose"));
        }
    }

    /// Uses 60 ms of CPU time: Windows counts it in ticks of 15 ms.
    fn work() {
        let start = ProcessUsage::of_thread().unwrap();
        let used = || ProcessUsage::of_thread().unwrap().since(&start);
        while used().user + used().system < 0.06 {
            std::hint::black_box((0..100_000u64).fold(0, |sum, one| sum ^ std::hint::black_box(one)));
        }
    }

    #[test]
    fn work_during_a_pause_is_not_counted() {
        let mut setup = SetupCpu::begin();
        work();
        setup.pause();
        let counted = setup.user + setup.system;
        assert!(counted > 0.0);
        for _ in 0..4 {
            work();
        }
        setup.resume();
        let (user, system) = setup.end();
        assert!(user + system < 3.0 * counted, "{} after {counted}", user + system);
    }
}
