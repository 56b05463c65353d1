//! The number of workers for many files: it grows while the workers wait for a device that can serve more requests at a time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::pattern::progress::Progress;
use fullbore_io::file::spare;
use fullbore_io::lock::Mutex;
use fullbore_io::probe::{self, ProcessUsage};

/// The most workers. 32 read 10,000 small files of a cold tree in 0.45 of the time of two (two cores, a virtual disk).
pub(super) const MOST: usize = 32;
/// Memory of a worker's buffer, which limits their number within the budget, in bytes.
const BUFFER: u64 = 1 << 20;
/// The shortest measurement, and its least number of files for each worker.
const PERIOD: Duration = Duration::from_millis(3);
const ITEMS: usize = 8;
/// Share of the processors' time from which they limit the run.
const BUSY: f64 = 0.85;
/// Least ratio of throughput to that before a step for which the number of workers grows further.
const GAIN: f64 = 1.05;
/// The cost of a file besides its bytes, in bytes.
const FILE: u64 = 64 << 10;

/// The number of workers of a run over many files.
#[derive(Debug)]
pub(super) struct Growth {
    /// Workers with a higher index end.
    count: AtomicUsize,
    items: AtomicUsize,
    climb: Mutex<Option<(Climb, Period)>>,
}

/// The beginning of a measurement.
#[derive(Debug)]
struct Period {
    start: Instant,
    cpu: f64,
    items: usize,
    bytes: u64,
}

/// The search for the best number.
#[derive(Debug, Clone, PartialEq)]
struct Climb {
    count: usize,
    most: usize,
    processors: usize,
    /// The number before the last step, its throughput, and the measurements without a gain since then.
    before: Option<(usize, f64, u32)>,
}

/// The number of workers whose buffers fit the half of the budget that is not for pending results.
pub(super) fn buffers(budget: u64) -> usize {
    usize::try_from(budget / 2 / BUFFER).unwrap_or(usize::MAX)
}

impl Growth {
    /// Creates a number that grows from `count` workers to at most the number of items and what the budget and the limit of
    /// descriptors allow; unless `grows`, it stays.
    pub(super) fn new(
        count: usize,
        grows: bool,
        items: Option<usize>,
        budget: u64,
        progress: &Progress,
    ) -> Self {
        let climb = || {
            let most = [buffers(budget), spare(), items.unwrap_or(MOST)].into_iter().fold(MOST, usize::min);
            let climb = Climb { count, most, processors: probe::processors(), before: None };
            (most > count).then(|| (climb, Period::begin(0, progress)))
        };
        let climb = if grows && items.is_none_or(|items| items > count) { climb() } else { None };
        Self { count: AtomicUsize::new(count), items: AtomicUsize::new(0), climb: Mutex::new(climb) }
    }

    /// The most workers that there will be.
    pub(super) fn most(&self) -> usize {
        let climb = self.climb.lock();
        climb.as_ref().map_or_else(|| self.count(), |(climb, _)| climb.most)
    }

    /// The number of workers now.
    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Counts finished items; returns the indices of the workers to start now, if any.
    pub(super) fn done(&self, items: usize, progress: &Progress) -> std::ops::Range<usize> {
        self.items.fetch_add(items, Ordering::Relaxed);
        let none = 0..0;
        let Some(mut guard) = self.climb.try_lock() else { return none };
        let Some((climb, period)) = guard.as_mut() else { return none };
        // Read under the lock: other workers' items are never counted back.
        let items = self.items.load(Ordering::Relaxed);
        let elapsed = period.start.elapsed();
        if elapsed < PERIOD || items - period.items < ITEMS * climb.count {
            return none;
        }
        let next = Period::begin(items, progress);
        let seconds = elapsed.as_secs_f64();
        let units = (next.items - period.items) as f64 + (next.bytes - period.bytes) as f64 / FILE as f64;
        let before = climb.count;
        let goes_on = climb.step(units / seconds, (next.cpu - period.cpu) / seconds);
        let count = climb.count;
        self.count.store(count, Ordering::Relaxed);
        *period = next;
        if !goes_on {
            *guard = None;
        }
        before..count.max(before)
    }
}

impl Period {
    fn begin(items: usize, progress: &Progress) -> Self {
        let cpu = ProcessUsage::now().map_or(f64::NAN, |usage| usage.user + usage.system);
        Self { start: Instant::now(), cpu, items, bytes: progress.bytes_done() }
    }
}

impl Climb {
    /// Decides on the next number after a measurement: the throughput, and the processors in use. Returns false if the search
    /// is over.
    fn step(&mut self, rate: f64, busy: f64) -> bool {
        if let Some((count, best, misses)) = &mut self.before
            && rate < *best * GAIN
        {
            *misses += 1;
            if *misses == 1 {
                return true;
            }
            self.count = *count;
            return false;
        }
        // An unknown time counts as busy.
        if busy.is_nan() || busy >= BUSY * self.processors as f64 {
            self.before = None;
            return true;
        }
        if self.count * 2 > self.most {
            return false;
        }
        self.before = Some((self.count, rate, 0));
        self.count *= 2;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number that is found if `run` gives the throughput and the processors in use of a number of workers.
    fn found(processors: usize, most: usize, run: impl Fn(usize) -> (f64, f64)) -> usize {
        let mut climb = Climb { count: processors, most, processors, before: None };
        for _ in 0..100 {
            let (rate, busy) = run(climb.count);
            if !climb.step(rate, busy) {
                break;
            }
        }
        climb.count
    }

    #[test]
    fn the_number_grows_until_the_device_is_busy() {
        // A device that serves 12 requests at a time.
        assert_eq!(found(2, 32, |count| (count.min(12) as f64 * 100.0, 0.2)), 16);
        assert_eq!(found(2, 32, |count| (count as f64 * 100.0, 0.2)), 32);
        assert_eq!(found(2, 6, |count| (count as f64 * 100.0, 0.2)), 4);
    }

    #[test]
    fn a_disk_that_seeks_more_gets_its_workers_back() {
        assert_eq!(found(2, 32, |count| (100.0 / count as f64, 0.1)), 2);
    }

    #[test]
    fn busy_processors_get_no_more_workers() {
        assert_eq!(found(2, 32, |count| (count as f64 * 100.0, 1.9)), 2);
    }

    #[test]
    fn the_budget_and_the_items_limit_the_workers() {
        let progress = Progress::default();
        let most = |grows, items, budget: u64| Growth::new(2, grows, items, budget << 20, &progress).most();
        assert_eq!(most(true, None, 64), 32);
        assert_eq!(most(true, None, 8), 4);
        assert_eq!(most(true, Some(3), 64), 3);
        assert_eq!(most(false, None, 64), 2);
        assert_eq!(most(true, None, 1), 2);
    }

    /// The bytes of an earlier run with the same progress do not count, and items are counted by several threads at once.
    #[test]
    fn a_measurement_counts_its_own_items_and_bytes() {
        let progress = Progress::default();
        progress.add(1 << 40);
        let growth = Growth::new(2, true, None, 64 << 20, &progress);
        std::thread::sleep(PERIOD);
        progress.add(3 * FILE);
        growth.done(2 * ITEMS, &progress);
        let guard = growth.climb.lock();
        let (climb, period) = guard.as_ref().unwrap();
        assert_eq!((period.items, period.bytes), (2 * ITEMS, (1 << 40) + 3 * FILE));
        // Busy processors leave no throughput to compare with.
        let most = (2 * ITEMS + 3) as f64 / PERIOD.as_secs_f64();
        assert!(climb.before.is_none_or(|(count, rate, _)| count == 2 && rate <= most), "{climb:?}");
        drop(guard);
        // A count back would overflow.
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let start = Instant::now();
                    while start.elapsed() < 5 * PERIOD {
                        progress.add(100);
                        growth.done(1, &progress);
                    }
                });
            }
        });
    }
}
