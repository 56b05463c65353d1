//! One timed run of a trial, with counters before and after, and the proof of its cache state.

use std::panic::{AssertUnwindSafe, catch_unwind};

use fullbore::Result;
use fullbore::error::{Error, ErrorKind};
use fullbore::probe::{self, DeviceCounters, DeviceNumber, ProcessUsage, SystemUsage};

use crate::action::{DeviceIo, ExpectedState, Iteration, RunContext, Workload};
use crate::document::{CacheState, Proof, Sample};

/// Minimum cached share of a range for it to count as warm; cold is at most the rest. The margin is for the last pages
/// of a range, which read-ahead of adjacent ranges may add or evict.
const CACHED_SHARE: f64 = 0.99;

/// Minimum share of the bytes that must be transferred by the device for the sample to count as device I/O.
const FROM_DEVICE: f64 = 0.5;

/// Takes a sample: prepares, starts the clock, runs, and proves its labels.
///
/// # Errors
/// The work's errors. A panic is also returned as an error, because runtimes of peers panic if they cannot start a
/// thread.
pub(crate) fn take_sample(
    workload: &mut dyn Workload,
    iteration: Iteration,
    ramp: f64,
    context: &RunContext<'_>,
) -> Result<Sample> {
    let sampled = catch_unwind(AssertUnwindSafe(|| measure(workload, iteration, ramp, context)));
    sampled.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let what = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked");
        Err(Error::new(ErrorKind::Io, "measure", "the trial", what.to_owned()))
    })
}

fn measure(
    workload: &mut dyn Workload,
    iteration: Iteration,
    ramp: f64,
    context: &RunContext<'_>,
) -> Result<Sample> {
    let expected = workload.prepare(iteration, context)?;
    if ramp > 0.0 {
        workload.ramp_up(ramp, context)?;
    }
    let before = cached_pages(&expected);
    let device = || device_bytes(context.devices);
    let (device_before, system_before) = (device(), SystemUsage::now().ok());
    let usage_before = ProcessUsage::now().unwrap_or_default();
    let start_s = context.clock.seconds();
    let mut done = workload.run(context);
    let elapsed = context.clock.seconds() - start_s;
    let usage = ProcessUsage::now().unwrap_or_default().since(&usage_before);
    let system = SystemUsage::now().ok().zip(system_before).map(|(now, before)| now.since(&before));
    let device = device().zip(device_before).map(|(now, before)| (now.0 - before.0, now.1 - before.1));
    let after = cached_pages(&expected);
    if let Ok(done) = &mut done {
        workload.finish_measurement(done)?;
    }
    workload.clean_up(context)?;
    let done = done?;
    let children = done.children.unwrap_or_default();
    let (user_all, system_all) = (usage.user + children.0, usage.system + children.1);
    let (user_s, system_s) =
        ((user_all - done.setup_cpu.0).max(0.0), (system_all - done.setup_cpu.1).max(0.0));
    let mut sample = Sample {
        start_s,
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
        ..Sample::default()
    };
    sample.proof =
        proof(&expected, &sample, before.and_then(CachedPages::share), !context.devices.is_empty());
    Ok(sample)
}

/// Pages of the expected ranges.
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

/// Compares a sample's labels with the counters.
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
