//! One timed run of a trial, with counters before and after, and the proof of its cache state.

use std::panic::{AssertUnwindSafe, catch_unwind};

use fullbore::Result;
use fullbore::error::{Error, ErrorKind, panic_text};
use fullbore::probe::{self, DeviceCounters, DeviceNumber, ProcessUsage, SystemUsage};

use crate::action::{
    DeviceIo, DeviceLimits, ExpectedState, Iteration, RunContext, SteadyPace, Workload,
    ramp_up_without_cache, steady_pace,
};
use crate::document::{CacheState, Proof, Regime, Sample, Slices, SteadyPart};
use crate::recorder::{Counters, Recording, record, sum};
use crate::stats::Reading;

/// Minimum cached share of a range for it to count as warm; cold is at most the rest. The margin is for the last pages
/// of a range, which read-ahead of adjacent ranges may add or evict.
const CACHED_SHARE: f64 = 0.99;

/// Minimum share of the bytes that must be transferred by the device for the sample to count as device I/O.
const FROM_DEVICE: f64 = 0.5;

/// Does work whose panic is returned as an error, because runtimes of peers panic if they cannot start a thread.
pub(crate) fn catching(work: impl FnOnce() -> Result<Sample>) -> Result<Sample> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let what = panic_text(&*panic).unwrap_or("it panicked");
        Err(Error::new(ErrorKind::Io, "measure", "", what.to_owned()).without_path())
    })
}

/// Takes a sample: prepares, starts the clock, runs, and proves its labels; then ends the run, also a failed one.
pub(crate) fn take_sample(
    workload: &mut dyn Workload,
    iteration: Iteration,
    ramp: f64,
    context: &RunContext<'_>,
    limits: &DeviceLimits,
) -> Result<Sample> {
    let sample = sampled(workload, iteration, ramp, context, limits);
    let ended = context.clean_up(workload);
    let sample = sample?;
    ended.map(|()| sample)
}

fn sampled(
    workload: &mut dyn Workload,
    iteration: Iteration,
    ramp: f64,
    context: &RunContext<'_>,
    limits: &DeviceLimits,
) -> Result<Sample> {
    let mut expected = workload.prepare(iteration, context)?;
    // A continuous run finds the credit itself: the search for limits would spend it.
    let counters = counters(&expected, context).filter(|_| !workload.is_continuous());
    if let Some(counters) = &counters
        && limits.search(counters.writes, context)?
    {
        expected = workload.prepare(iteration, context)?;
    }
    let spends =
        counters.as_ref().filter(|counters| workload.elastic() && limits.limits_samples(counters.writes));
    // Cached work says nothing about the limits of a device.
    let without_limits = DeviceLimits::default();
    let ramp_limits = if counters.is_some() { limits } else { &without_limits };
    let ramp_counters =
        counters.unwrap_or(Counters { devices: &[], writes: false, progress: context.progress });
    if ramp > 0.0 || spends.is_some() {
        let is_cold = expected.cache == Some(CacheState::Cold);
        let is_evicted = is_cold || expected.cache == Some(CacheState::Mixed);
        let reads = spends.is_some_and(|counters| !counters.writes);
        let mut bypassed = false;
        ramp_limits.spend_credit(&ramp_counters, ramp, |ramp| match expected.ranges.as_slice() {
            // Eviction after the ramp would be a pause, in which a limited device accumulates credit.
            [(file, _)] if is_evicted && reads && ramp_up_without_cache(file, ramp, context)? => {
                bypassed = true;
                Ok(())
            }
            _ => workload.ramp_up(ramp, context),
        })?;
        // A half-cached range has cached pages in any case, and a ramp that bypasses the cache does not change them.
        let is_unchanged = bypassed && !is_cold;
        if is_evicted && !is_unchanged && cached_pages(&expected).is_none_or(|held| held.cached > 0) {
            // The ramp has read a part of the range into the page cache.
            expected = workload.prepare(iteration, context)?;
        }
    } else if expected.fills_page_cache && context.returns_free_memory {
        // Memory that was just in use is as fast as on other machines.
        workload.run(context)?;
        context.clean_up(workload)?;
        expected = workload.prepare(iteration, context)?;
    }
    let before = cached_pages(&expected);
    let device = || device_bytes(context.devices);
    let (device_before, system_before) = (device(), SystemUsage::now().ok());
    let usage_before = ProcessUsage::now().unwrap_or_default();
    let start_s = context.clock.seconds();
    let (done, recording, recorder_cpu) = match &counters {
        Some(counters) => record(counters, |_| false, |_| workload.run(context)),
        None => (workload.run(context), Recording::new(), (0.0, 0.0)),
    };
    let elapsed = context.clock.seconds() - start_s;
    let usage = ProcessUsage::now().unwrap_or_default().since(&usage_before);
    let system = SystemUsage::now().ok().zip(system_before).map(|(now, before)| now.since(&before));
    // The counters of a device that was attached again begin at 0.
    let device = device().zip(device_before);
    let device = device.map(|(now, old)| (now.0.saturating_sub(old.0), now.1.saturating_sub(old.1)));
    let after = cached_pages(&expected);
    let mut done = done?;
    workload.finish_measurement(&mut done)?;
    let children = done.children.unwrap_or_default();
    let (user_all, system_all) = (usage.user + children.0, usage.system + children.1);
    let of_work = |all: f64, setup: f64, recorder: f64| (all - setup - recorder).max(0.0);
    let user_s = of_work(user_all, done.setup_cpu.0, recorder_cpu.0);
    let system_s = of_work(system_all, done.setup_cpu.1, recorder_cpu.1);
    let mut sample = Sample {
        start_s: context.earlier + start_s,
        bytes: done.bytes,
        seconds: done.seconds.unwrap_or(elapsed),
        requests: done.requests,
        user_s,
        system_s,
        uncharged_s: system.map(|system| (system.busy() - user_all - system_all).max(0.0)),
        minor_faults: Some(usage.minor_faults),
        major_faults: Some(usage.major_faults),
        cached_before_bytes: before.map(|held| held.cached),
        cached_after_bytes: after.map(|held| held.cached),
        cache_total_bytes: before.map(|held| held.total),
        device_read_bytes: device.map(|(read, _)| read),
        device_written_bytes: device.map(|(_, written)| written),
        depth_mean: done.depth,
        latency: done.latency,
        phases: done.phases,
        streams: done.streams,
        course: done.course,
        ..Sample::default()
    };
    if let Some(counters) = &counters {
        add_course(&mut sample, counters, &recording, workload.elastic(), limits);
    }
    if sample.course.is_some() {
        // It has both regimes; the fit of its course separates them.
        sample.regime = Some(Regime::Unknown);
    }
    sample.proof =
        proof(&expected, &sample, before.and_then(CachedPages::share), !context.devices.is_empty());
    Ok(sample)
}

/// Returns the counters of a sample that moves bytes from or to a device.
fn counters<'a>(expected: &ExpectedState, context: &RunContext<'a>) -> Option<Counters<'a>> {
    let counters = Counters { devices: context.devices, writes: false, progress: context.progress };
    // A part of a half-cached range comes from the device.
    let mixed = expected.cache == Some(CacheState::Mixed) && !context.devices.is_empty();
    match expected.device {
        DeviceIo::Any => mixed.then_some(counters),
        DeviceIo::Reads => Some(counters),
        DeviceIo::Writes => Some(Counters { writes: true, ..counters }),
    }
}

const SLICES: usize = 40;

/// Maximum difference between the bytes of the device and those of the application, as a share, for the course of the
/// device to be that of the application.
const COUNTED: f64 = 0.1;

/// Adds the regime, the course and the steady part. Opening and closing are part of work on whole files, so it has no
/// steady part.
fn add_course(
    sample: &mut Sample,
    counters: &Counters<'_>,
    recording: &Recording,
    elastic: bool,
    limits: &DeviceLimits,
) {
    let series = sum(recording, 0..recording.len());
    let ends = series.first().copied().zip(series.last().copied());
    let Some((first, last)) = ends.filter(|(first, last)| last.bytes > first.bytes) else {
        sample.regime = Some(Regime::Unknown);
        return;
    };
    let moved = last.bytes - first.bytes;
    sample.regime = Some(limits.regime(counters, recording));
    sample.writes = Some(counters.writes);
    let count = SLICES.min(series.len() - 1).max(1);
    let seconds = (last.at - first.at) / count as f64;
    let ends: Vec<f64> = (0..=count).map(|end| bytes_at(&series, first.at + end as f64 * seconds)).collect();
    let bytes = ends.windows(2).map(|ends| (ends[1] - ends[0]).round() as u64).collect();
    sample.slices = Some(Slices { seconds, bytes });
    let period = limits.period(counters.writes);
    // A peer's own ramp moves bytes that it does not count.
    let same = (sample.bytes as f64 / moved - 1.0).abs() <= COUNTED;
    // Without a limit, a fall is chance. The start of a peer is part of the recording alone.
    let counts = |steady: &SteadyPace| elastic && same && steady.seconds <= sample.seconds;
    let limited = limits.limited(counters.writes);
    let steady = limited.then(|| steady_pace(recording, period)).flatten().filter(counts);
    if let Some(SteadyPace { pace, seconds, .. }) = steady {
        let bytes = pace.bytes * seconds * sample.bytes as f64 / moved;
        sample.steady = Some(SteadyPart { bytes, seconds });
    }
    sample.uncertainty = period.map_or(0.0, |period| match steady {
        // One reading at each end.
        Some(SteadyPace { seconds, whole_periods: true, .. }) => (period / 10.0).min(0.01) / seconds,
        Some(SteadyPace { seconds, .. }) => period / seconds,
        None => period / sample.seconds,
    });
}

/// Returns the bytes moved by a time, interpolated linearly between two readings.
fn bytes_at(series: &[Reading], at: f64) -> f64 {
    let next = series.partition_point(|reading| reading.at < at).clamp(1, series.len() - 1);
    let (from, to) = (&series[next - 1], &series[next]);
    let share = ((at - from.at) / (to.at - from.at)).clamp(0.0, 1.0);
    from.bytes + share * (to.bytes - from.bytes)
}

#[derive(Debug, Clone, Copy)]
struct CachedPages {
    cached: u64,
    total: u64,
}

impl CachedPages {
    fn share(self) -> Option<f64> {
        // Pages at the ends of a range count whole, even if the range has only a part of them.
        (self.total > 0).then(|| (self.cached as f64 / self.total as f64).min(1.0))
    }
}

/// Counts the cached pages of all expected ranges; `None` if there are no ranges or the system does not report them.
fn cached_pages(expected: &ExpectedState) -> Option<CachedPages> {
    let mut sum = CachedPages { cached: 0, total: 0 };
    for (file, range) in &expected.ranges {
        let found = probe::residency(file, range.clone()).ok()?;
        sum.cached += found.cached;
        // In whole pages, as the cached bytes.
        sum.total += found.total;
    }
    (!expected.ranges.is_empty()).then_some(sum)
}

fn proof(expected: &ExpectedState, sample: &Sample, cached: Option<f64>, device_known: bool) -> Proof {
    let contradicted = |reason: String| Proof::Contradicted { reason };
    let unproved = |reason: &str| Proof::Unproved { reason: reason.into() };
    let from_device = |moved: Option<u64>| moved.map(|moved| moved as f64 / sample.bytes.max(1) as f64);
    let (least, most, wanted) = match expected.cache {
        Some(CacheState::Warm) => (CACHED_SHARE, 1.0, "all"),
        Some(CacheState::Cold) => (0.0, 1.0 - CACHED_SHARE, "none"),
        Some(CacheState::Mixed) => (1.0 - CACHED_SHARE, CACHED_SHARE, "some"),
        None => (0.0, 1.0, ""),
    };
    match (expected.cache, cached) {
        (Some(_), Some(cached)) if !(least..=most).contains(&cached) => {
            let share = cached * 100.0;
            return contradicted(format!(
                "{share:.0}% of the range was in the page cache, expected {wanted}"
            ));
        }
        (Some(_), None) => return unproved("the system does not report cached pages"),
        _ => {}
    }
    let (moved, way) = match expected.device {
        DeviceIo::Any => return Proof::Confirmed,
        _ if !device_known => return unproved("no device with counters is known"),
        DeviceIo::Reads => (from_device(sample.device_read_bytes), "read"),
        DeviceIo::Writes => (from_device(sample.device_written_bytes), "wrote"),
    };
    match moved {
        Some(share) if share < FROM_DEVICE => {
            contradicted(format!("the device {way} {:.0}% of the bytes", share * 100.0))
        }
        Some(_) => Proof::Confirmed,
        None => unproved("the device's counters cannot be read"),
    }
}

/// Returns the bytes that the devices have read and written so far.
fn device_bytes(devices: &[DeviceNumber]) -> Option<(u64, u64)> {
    let mut sum = (0, 0);
    for &device in devices {
        let counters = DeviceCounters::now(device).ok()?;
        sum = (sum.0 + counters.reads.bytes, sum.1 + counters.writes.bytes);
    }
    (!devices.is_empty()).then_some(sum)
}

#[cfg(test)]
mod tests {
    use fullbore::pattern::Progress;
    use fullbore_testkit::ground::build_directory;

    use super::*;
    use crate::action::{Ramp, RunResult};
    use crate::document::Labels;
    use crate::experiment;
    use crate::test_files::{Needs, TestFiles};

    /// A workload that fills the page cache with a new file, and its calls: the numbers of samples that are prepared, and `None`
    /// for a run.
    #[derive(Debug, Default)]
    struct Recorded {
        calls: Vec<Option<u64>>,
        /// True if it creates the file and fails before the clock starts.
        fails: bool,
    }

    impl Workload for Recorded {
        fn labels(&self) -> Labels {
            Labels::default()
        }

        fn open(&mut self, _: &RunContext<'_>) -> Result<()> {
            Ok(())
        }

        fn prepare(&mut self, iteration: Iteration, context: &RunContext<'_>) -> Result<ExpectedState> {
            assert!(!context.test_files().fresh.exists());
            self.calls.push(Some(iteration.number));
            Ok(ExpectedState { fills_page_cache: true, ..ExpectedState::default() })
        }

        fn ramp_up(&mut self, _: Ramp<'_>, context: &RunContext<'_>) -> Result<()> {
            if self.fails {
                self.run(context)?;
                return Err(Error::cancelled());
            }
            Ok(())
        }

        fn run(&mut self, context: &RunContext<'_>) -> Result<RunResult> {
            std::fs::write(&context.test_files().fresh, "new").unwrap();
            self.calls.push(None);
            Ok(RunResult::default())
        }
    }

    #[test]
    fn a_failed_sample_leaves_no_new_file() {
        let directory = tempfile::tempdir_in(build_directory()).unwrap();
        let progress = Progress::default();
        let file_sets = [TestFiles::of_test(directory.path(), 1 << 20, Needs::default())];
        let context = RunContext::of(&file_sets, &progress);
        let (iteration, limits) = (Iteration { span: 0, number: 1 }, DeviceLimits::default());
        let mut workload = Recorded { fails: true, ..Recorded::default() };
        let error = take_sample(&mut workload, iteration, 0.01, &context, &limits).unwrap_err();
        assert_eq!(workload.calls, [Some(1), None]);
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert!(!file_sets[0].fresh.exists());
    }

    #[test]
    fn memory_that_the_host_took_back_is_used_before_the_sample() {
        let directory = tempfile::tempdir_in(build_directory()).unwrap();
        let progress = Progress::default();
        let file_sets = [TestFiles::of_test(directory.path(), 1 << 20, Needs::default())];
        let calls = |returns_free_memory: bool, ramp: f64| {
            let context = RunContext { returns_free_memory, ..RunContext::of(&file_sets, &progress) };
            let (iteration, limits) = (Iteration { span: 0, number: 1 }, DeviceLimits::default());
            let mut workload = Recorded::default();
            take_sample(&mut workload, iteration, ramp, &context, &limits).unwrap();
            workload.calls
        };
        assert_eq!(calls(false, 0.0), [Some(1), None]);
        assert_eq!(calls(true, 0.0), [Some(1), None, Some(1), None]);
        // The ramp has used the memory.
        assert_eq!(calls(true, 0.01), [Some(1), None]);
    }

    #[test]
    fn samples_of_a_half_cached_file_are_counted_at_the_device() {
        let (file_sets, progress): ([TestFiles; 0], _) = ([], Progress::default());
        let devices = [DeviceNumber { major: 8, minor: 0 }];
        let context = RunContext { devices: &devices, ..RunContext::of(&file_sets, &progress) };
        let counted = |cache| {
            let expected = ExpectedState { cache: Some(cache), ..ExpectedState::default() };
            counters(&expected, &context).is_some()
        };
        assert!(counted(CacheState::Mixed) && !counted(CacheState::Warm));
    }

    #[test]
    fn a_half_cached_file_is_half_cached_after_a_ramp() {
        let set = "[[experiment]]\nname = 'test'\ntitle = 'Test'\naxis = 'none'\n\
                   [[experiment.grid]]\naction = 'read'\ncache = 'mixed'\n\
                   strategy = 'method=buffered,request=64K,workers=1,model=serial'";
        let mut trial = experiment::parse(set, 1, 1).unwrap().1.remove(0);
        let directory = tempfile::tempdir_in(build_directory()).unwrap();
        let progress = Progress::default();
        let file_sets = [TestFiles::of_test(directory.path(), 4 << 20, Needs::default())];
        let context = RunContext::of(&file_sets, &progress);
        trial.workload.open(&context).unwrap();
        let mut proof = |number: u64, ramp: f64| {
            let iteration = Iteration { span: 4 << 20, number };
            let limits = DeviceLimits::default();
            take_sample(trial.workload.as_mut(), iteration, ramp, &context, &limits).unwrap().proof
        };
        let without = proof(1, 0.0);
        if without != Proof::Confirmed {
            return println!("skipped: pages are not evicted here: {without:?}");
        }
        // The system may evict or read a page at any time, rarely.
        let found = [2, 3, 4].map(|number| proof(number, 0.02));
        assert!(found.contains(&Proof::Confirmed), "{found:?}");
    }
}
