//! One timed run of a trial, framed by the counters and the proof of what it is labelled.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Instant;

use fullbore::Result;
use fullbore::error::{Error, Kind};
use fullbore::pattern::Monitor;
use fullbore::probe::{self, DeviceCounters, DeviceNumber, ProcessUsage, SystemUsage};

use crate::action::{Claim, Device, Turn, Work};
use crate::bed::Bed;
use crate::document::{CacheState, Proof, Sample};

/// A page cache that holds at least this share of a range holds it; one that holds at most the rest does not. The
/// last pages of a range are those that read-ahead of its neighbours may bring or drop.
const HELD: f64 = 0.99;

/// At least this share of the bytes must have come from the device, for a read to have been one of the device.
const FROM_DEVICE: f64 = 0.5;

/// Where a run takes place.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    /// The files, a bed a directory; at least one.
    pub(crate) beds: &'a [Bed],
    /// The devices under them, as far as known.
    pub(crate) devices: &'a [DeviceNumber],
    /// What may stop it.
    pub(crate) monitor: &'a Monitor,
    /// When the whole run began.
    pub(crate) start: Instant,
    /// Decides data and orders.
    pub(crate) seed: u64,
    /// The program `fullbore` itself, where it is known.
    pub(crate) program: Option<&'a Path>,
}

impl Place<'_> {
    /// The files of the first directory.
    pub(crate) fn bed(&self) -> &Bed {
        &self.beds[0]
    }

    /// Why a trial of the device cannot be made where there is none.
    pub(crate) fn no_device(&self) -> Error {
        let what = "the file system keeps its files in memory: there is no device, and nothing is cold";
        Error::new(Kind::Unsupported, "measure", self.bed().directory(), what)
    }
}

/// Takes a sample: prepares, starts the clock, runs, and says whether it was what it is labelled.
///
/// # Errors
/// Those of the work. A panic is one too: run-times of others panic where they cannot start a thread.
pub(crate) fn take(work: &mut dyn Work, turn: Turn, ramp: f64, place: &Place<'_>) -> Result<Sample> {
    let taken = catch_unwind(AssertUnwindSafe(|| frame(work, turn, ramp, place)));
    taken.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let what = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked");
        Err(Error::new(Kind::Io, "measure", "the trial", what.to_owned()))
    })
}

fn frame(work: &mut dyn Work, turn: Turn, ramp: f64, place: &Place<'_>) -> Result<Sample> {
    let claim = work.prepare(turn, place)?;
    if ramp > 0.0 {
        work.ramp_up(ramp, place)?;
    }
    let before = held(&claim);
    let device = || moved(place.devices);
    let (device_before, system_before) = (device(), SystemUsage::now().ok());
    let usage_before = ProcessUsage::now().unwrap_or_default();
    let start_s = place.start.elapsed().as_secs_f64();
    let clock = Instant::now();
    let mut done = work.run(place);
    let elapsed = clock.elapsed().as_secs_f64();
    let usage = ProcessUsage::now().unwrap_or_default().since(&usage_before);
    let system = SystemUsage::now().ok().zip(system_before).map(|(now, before)| now.since(&before));
    let device = device().zip(device_before).map(|(now, before)| (now.0 - before.0, now.1 - before.1));
    let after = held(&claim);
    if let Ok(done) = &mut done {
        work.look_back(done)?;
    }
    work.clear(place)?;
    let done = done?;
    let children = done.children.unwrap_or_default();
    let (user_all, system_all) = (usage.user + children.0, usage.system + children.1);
    let (user_s, system_s) = ((user_all - done.aside.0).max(0.0), (system_all - done.aside.1).max(0.0));
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
    sample.proof = proof(&claim, &sample, before.and_then(Held::share), !place.devices.is_empty());
    Ok(sample)
}

/// Pages of a claim's ranges.
#[derive(Debug, Clone, Copy)]
struct Held {
    cached: u64,
    total: u64,
}

impl Held {
    fn share(self) -> Option<f64> {
        // Pages at the ends of a range count whole, also where it has only a part of them.
        (self.total > 0).then(|| (self.cached as f64 / self.total as f64).min(1.0))
    }
}

/// What the page cache holds of everything that a claim is about; `None` if it is about nothing or nobody can tell.
fn held(claim: &Claim) -> Option<Held> {
    let mut sum = Held { cached: 0, total: 0 };
    for (file, range) in &claim.about {
        let found = probe::residency(file, range.clone()).ok()?;
        sum.cached += found.cached;
        // In whole pages, as what is cached.
        sum.total += found.total;
    }
    (!claim.about.is_empty()).then_some(sum)
}

/// Whether the counters bear out what the sample is labelled.
fn proof(claim: &Claim, sample: &Sample, cached: Option<f64>, device_known: bool) -> Proof {
    let contradicted = |reason: String| Proof::Contradicted { reason };
    let unproved = |reason: &str| Proof::Unproved { reason: reason.into() };
    let from_device = |moved: Option<u64>| moved.map(|moved| moved as f64 / sample.bytes.max(1) as f64);
    let (least, most, wanted) = match claim.cache {
        Some(CacheState::Warm) => (HELD, 1.0, "all"),
        Some(CacheState::Cold) => (0.0, 1.0 - HELD, "none"),
        Some(CacheState::Mixed) => (1.0 - HELD, HELD, "some"),
        None => (0.0, 1.0, ""),
    };
    match (claim.cache, cached) {
        (Some(_), Some(cached)) if !(least..=most).contains(&cached) => {
            let share = cached * 100.0;
            return contradicted(format!("{share:.0}% of the range was in the page cache, not {wanted}"));
        }
        (Some(_), None) => return unproved("the system does not say what the page cache holds"),
        _ => {}
    }
    let (moved, way) = match claim.device {
        Device::Any => return Proof::Confirmed,
        _ if !device_known => return unproved("no device is known whose counters could tell"),
        Device::Reads => (from_device(sample.device_read_bytes), "read"),
        Device::Writes => (from_device(sample.device_written_bytes), "wrote"),
    };
    match moved {
        Some(share) if share < FROM_DEVICE => {
            contradicted(format!("the device {way} {:.0}% of the bytes", share * 100.0))
        }
        Some(_) => Proof::Confirmed,
        None => unproved("the device's counters cannot be read"),
    }
}

/// Bytes that the devices have read and written so far.
fn moved(devices: &[DeviceNumber]) -> Option<(u64, u64)> {
    let mut sum = (0, 0);
    for &device in devices {
        let counters = DeviceCounters::now(device).ok()?;
        sum = (sum.0 + counters.reads.bytes, sum.1 + counters.writes.bytes);
    }
    (!devices.is_empty()).then_some(sum)
}
