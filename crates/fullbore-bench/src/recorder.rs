//! Records the transfers of devices while work is done: a thread reads their counters every few milliseconds.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fullbore::pattern::Progress;
use fullbore::probe::{DeviceCounters, DeviceNumber, ProcessUsage};

use crate::stats::Reading;

const TICK: Duration = Duration::from_millis(5);

#[derive(Debug, Clone, Copy)]
pub(crate) struct Counters<'a> {
    /// The devices; if there are none, the bytes of `progress` are counted instead.
    pub(crate) devices: &'a [DeviceNumber],
    pub(crate) writes: bool,
    pub(crate) progress: &'a Progress,
}

impl Counters<'_> {
    /// Reads the counters of each device; `None` if one cannot be read.
    fn read(&self) -> Option<Vec<(u64, u64)>> {
        if self.devices.is_empty() {
            return Some(vec![(self.progress.bytes_done(), 0)]);
        }
        let one = |&device: &DeviceNumber| {
            let now = DeviceCounters::now(device).ok()?;
            let transfers = if self.writes { now.writes } else { now.reads };
            Some((transfers.bytes, transfers.requests))
        };
        self.devices.iter().map(one).collect()
    }
}

/// Recorded readings of each device, or of the progress.
pub(crate) type Recording = Vec<Vec<Reading>>;

/// Adds up the readings of the devices at `places`.
pub(crate) fn sum(recording: &Recording, places: impl Iterator<Item = usize> + Clone) -> Vec<Reading> {
    let count = recording.first().map_or(0, Vec::len);
    (0..count)
        .map(|index| {
            places.clone().fold(Reading::default(), |sum, place| {
                let reading = recording[place][index];
                Reading {
                    at: reading.at,
                    bytes: sum.bytes + reading.bytes,
                    requests: sum.requests + reading.requests,
                }
            })
        })
        .collect()
}

/// Does the work while the counters are recorded; also returns the user and system CPU time of the recording in seconds.
///
/// The work's flag is set once `enough`, called after each reading, returns true; and at once if no thread can be started or
/// the counters cannot be read, so that work which waits for the flag ends. The recording is then empty.
pub(crate) fn record<T>(
    counters: &Counters<'_>,
    mut enough: impl FnMut(&Recording) -> bool + Send,
    work: impl FnOnce(&AtomicBool) -> T,
) -> (T, Recording, (f64, f64)) {
    let (reached, ended) = (AtomicBool::new(false), AtomicBool::new(false));
    let Some(first) = counters.read() else {
        reached.store(true, Ordering::Relaxed);
        return (work(&reached), Vec::new(), (0.0, 0.0));
    };
    let start = Instant::now();
    let watch = || {
        let mut recording: Recording = vec![vec![Reading::default()]; first.len()];
        let mut due = start;
        loop {
            due += TICK;
            if !ended.load(Ordering::Acquire) {
                thread::park_timeout(due.saturating_duration_since(Instant::now()));
            }
            // The last reading is after the work.
            let is_last = ended.load(Ordering::Acquire);
            // Taken before and after, so that a delay between clock and counters is halved.
            let before = start.elapsed();
            let Some(now) = counters.read() else { break };
            let at = (before + start.elapsed()).as_secs_f64() / 2.0;
            for ((series, now), first) in recording.iter_mut().zip(&now).zip(&first) {
                let bytes = now.0.saturating_sub(first.0) as f64;
                series.push(Reading { at, bytes, requests: now.1.saturating_sub(first.1) as f64 });
            }
            if !reached.load(Ordering::Relaxed) && enough(&recording) {
                reached.store(true, Ordering::Relaxed);
            }
            if is_last {
                break;
            }
        }
        reached.store(true, Ordering::Relaxed);
        let own = ProcessUsage::of_thread().unwrap_or_default();
        (recording, (own.user, own.system))
    };
    thread::scope(|scope| {
        let Ok(watcher) = thread::Builder::new().spawn_scoped(scope, watch) else {
            reached.store(true, Ordering::Relaxed);
            return (work(&reached), Vec::new(), (0.0, 0.0));
        };
        // A panic of the work must end the watcher, too.
        let end = EndOnDrop { ended: &ended, thread: watcher.thread().clone() };
        let done = work(&reached);
        drop(end);
        let (recording, cpu) = watcher.join().unwrap_or_default();
        (done, recording, cpu)
    })
}

struct EndOnDrop<'a> {
    ended: &'a AtomicBool,
    thread: thread::Thread,
}

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_recorded_until_enough() {
        let progress = Progress::default();
        let counters = Counters { devices: &[], writes: false, progress: &progress };
        let enough = |recording: &Recording| recording[0].last().is_some_and(|now| now.bytes >= 4e6);
        let (moved, recording, _) = record(&counters, enough, |enough| {
            let mut moved = 0;
            while !enough.load(Ordering::Relaxed) {
                progress.add(1 << 20);
                moved += 1 << 20;
                thread::sleep(Duration::from_millis(1));
            }
            moved
        });
        let [series] = recording.as_slice() else { panic!("one series") };
        assert_eq!(series.last().unwrap().bytes, f64::from(moved), "the last reading is after the work");
        assert!(series.windows(2).all(|pair| pair[0].at < pair[1].at && pair[0].bytes <= pair[1].bytes));
        let total = sum(&vec![series.clone(), series.clone()], 0..2);
        assert_eq!(total.last().unwrap().bytes, 2.0 * f64::from(moved));
    }

    #[test]
    fn short_work_has_a_reading_after_it() {
        let progress = Progress::default();
        let counters = Counters { devices: &[], writes: false, progress: &progress };
        let ((), recording, _) = record(&counters, |_| false, |_| progress.add(7));
        assert_eq!(recording[0].last().unwrap().bytes, 7.0);
    }

    #[test]
    fn unreadable_counters_end_work_that_waits() {
        let missing = DeviceNumber { major: 4095, minor: 1_048_575 };
        let counters = Counters { devices: &[missing], writes: false, progress: &Progress::default() };
        let (ended, recording, _) =
            record(&counters, |_| false, |enough| while !enough.load(Ordering::Relaxed) {});
        assert_eq!((ended, recording.len()), ((), 0));
    }

    #[test]
    fn panic_of_the_work_ends_the_recording() {
        let progress = Progress::default();
        let counters = Counters { devices: &[], writes: false, progress: &progress };
        let panicking = std::panic::AssertUnwindSafe(|| record(&counters, |_| false, |_| panic!("work")));
        assert!(std::panic::catch_unwind(panicking).is_err());
    }
}
