//! One timed run of a trial, framed by the counters and the proof of its cache state.

use std::ops::Range;
use std::sync::Barrier;
use std::time::Instant;

use fullbore::file::{Durability, File, Output, Placement};
use fullbore::operation::generate::Stamped;
use fullbore::operation::{self, Kernel};
use fullbore::pattern::{self, Monitor, Order, Outcome, Scope};
use fullbore::probe::{self, DeviceCounters, DeviceNumber, ProcessUsage, SystemUsage};
use fullbore::strategy::{Plan, Strategy, Wish, plan};
use fullbore::{Error, Result};

use crate::bed::Bed;
use crate::document::{CacheState, Proof, Sample};
use crate::experiment::{Action, Target, Trial, TrialOrder};

/// A page cache that holds at least this share of a range holds it; one that holds at most the rest does not. The
/// last pages of a range are those that read-ahead of its neighbours may bring or drop.
const HELD: f64 = 0.99;

/// A sample has at least this many requests for each that may be in flight.
const LEAST: usize = 4;

/// At least this share of the bytes must have come from the device, for a read to have been one of the device.
const FROM_DEVICE: f64 = 0.5;

/// Takes samples of one trial.
#[derive(Debug)]
pub(crate) struct Sampler {
    /// The trial.
    pub(crate) trial: Trial,
    /// Its strategy in full.
    pub(crate) strategy: Strategy,
    data: Option<Stamped>,
}

/// Where a run takes place.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    /// The files.
    pub(crate) bed: &'a Bed,
    /// The devices under them, as far as known.
    pub(crate) devices: &'a [DeviceNumber],
    /// What may stop it.
    pub(crate) monitor: &'a Monitor,
    /// When the whole run began.
    pub(crate) start: Instant,
}

impl Sampler {
    /// Makes sure that the trial's strategy can be had on these files.
    ///
    /// # Errors
    /// If it cannot, with the reason.
    pub(crate) fn new(trial: Trial, bed: &Bed, seed: u64) -> Result<Self> {
        let wish: Wish = trial.strategy.parse().map_err(|error| {
            Error::new(fullbore::error::Kind::Invalid, "plan", &trial.id, format!("{error}"))
        })?;
        let file = Self::file(&trial, wished_past_cache(&wish), bed);
        let asked = trial.strategy.as_str();
        let planned = match trial.action {
            Action::Read => plan(Some(file), Some(bed.len), None, &wish, Some(asked), None)?,
            Action::Write => {
                let output = Output::create(file.path(), Placement::Overwrite, None)?;
                let planned = plan(None, Some(bed.len), Some(&output), &wish, Some(asked), None)?;
                output.commit_len(bed.len, Durability::Process)?;
                planned
            }
            Action::Transform => {
                let output = Output::create(&bed.output, Placement::Overwrite, Some(file))?;
                let planned =
                    plan(Some(file), Some(bed.transform_len), Some(&output), &wish, Some(asked), None)?;
                output.commit_len(bed.transform_len, Durability::Process)?;
                planned
            }
            Action::Memory => return Ok(Self { trial, strategy: Strategy::plain(), data: None }),
        };
        if let Some(reason) = replaced(&planned, &wish) {
            return Err(Error::new(fullbore::error::Kind::Unsupported, "measure", file.path(), reason));
        }
        let strategy = planned.strategy;
        let data = (trial.action == Action::Write).then(|| Stamped::new(seed, strategy.request));
        Ok(Self { trial, strategy, data })
    }

    /// The file whose cache state the trial is about.
    fn file<'b>(trial: &Trial, direct: bool, bed: &'b Bed) -> &'b File {
        match (trial.action, trial.cache) {
            (Action::Transform, Some(CacheState::Cold)) => &bed.cold_input,
            (Action::Transform, _) => &bed.input,
            (Action::Write, _) if !direct => &bed.written,
            (_, Some(CacheState::Warm)) => &bed.warm,
            _ => &bed.cold,
        }
    }

    /// Whether the trial passes the page cache by.
    fn direct(&self) -> bool {
        use fullbore::engine::Cache::Direct;
        match self.trial.action {
            Action::Read => self.strategy.read_cache == Direct,
            Action::Write => self.strategy.write_cache == Direct,
            _ => false,
        }
    }

    /// Runs the trial once over about `span` bytes, `turn` places into its file.
    ///
    /// # Errors
    /// Those of the run.
    pub(crate) fn take(&self, span: u64, turn: u64, place: &Place<'_>) -> Result<Sample> {
        let file = Self::file(&self.trial, self.direct(), place.bed);
        let (range, order) = self.part(span, turn, place.bed);
        self.prepare(file, &range)?;
        self.ramp_up(file, &range, order, place)?;
        let total = range.end - range.start;
        let held = |file: &File| match self.trial.cache.is_some() || self.direct() {
            true => probe::residency(file, range.clone()).ok(),
            false => None,
        };
        let before = held(file);
        let device = || moved(place.devices);
        let (device_before, system_before) = (device(), SystemUsage::now().ok());
        let usage_before = ProcessUsage::now().unwrap_or_default();
        let start_s = place.start.elapsed().as_secs_f64();
        let clock = Instant::now();
        let outcome = self.run(file, &range, order, place)?;
        let elapsed = clock.elapsed().as_secs_f64();
        let usage = ProcessUsage::now().unwrap_or_default().since(&usage_before);
        let system = SystemUsage::now().ok().zip(system_before).map(|(now, before)| now.since(&before));
        let device = device().zip(device_before).map(|(now, before)| (now.0 - before.0, now.1 - before.1));
        let after = held(file);
        let (reads, writes) = (outcome.reads, outcome.writes);
        let mut sample = Sample {
            start_s,
            bytes: outcome.bytes,
            // A tool's user waits for opening and committing too; a request's rate has nothing to do with them.
            seconds: if self.trial.action == Action::Transform { elapsed } else { outcome.seconds },
            requests: reads.requests + writes.requests,
            user_s: usage.user,
            system_s: usage.system,
            uncharged_s: system.map(|system| (system.busy() - usage.processor()).max(0.0)),
            minor_faults: Some(usage.minor_faults),
            major_faults: Some(usage.major_faults),
            cached_before_bytes: before.map(|held| held.cached),
            cached_after_bytes: after.map(|held| held.cached),
            cache_total_bytes: before.map(|_| total),
            device_read_bytes: device.map(|(read, _)| read),
            device_written_bytes: device.map(|(_, written)| written),
            depth_mean: Some(if self.trial.action == Action::Write { writes.depth() } else { reads.depth() }),
            ..Sample::default()
        };
        sample.proof = self.proof(&sample, before.and_then(|held| held.share()), !place.devices.is_empty());
        Ok(sample)
    }

    /// The bytes of this turn: the next run of the file, so that no cache of the device's own has it, or blocks
    /// all over it.
    fn part(&self, span: u64, turn: u64, bed: &Bed) -> (Range<u64>, Order) {
        let len = match self.trial.action {
            Action::Transform => return (0..bed.transform_len, Order::Sequential),
            Action::Memory => return (0..span, Order::Sequential),
            Action::Read | Action::Write => bed.len,
        };
        let request = self.strategy.request as u64;
        // Whole requests, and enough of them for the depth to be reached.
        let least = request * (LEAST * self.strategy.depth * self.strategy.workers) as u64;
        let span = (span.max(least) / request * request).clamp(request.min(len), len);
        if self.trial.order == TrialOrder::Random {
            return (0..len, Order::Random { seed: turn, count: span / request });
        }
        let places = (len / span).max(1);
        let start = turn % places * span;
        (start..start + span, Order::Sequential)
    }

    /// Brings the file into the state that the trial asks for, out of the time taken.
    fn prepare(&self, file: &File, range: &Range<u64>) -> Result<()> {
        match self.trial.cache {
            Some(CacheState::Warm) => Bed::warm_up(file, range),
            Some(CacheState::Cold) => Bed::cool_down(file),
            None if self.trial.action == Action::Write && !self.direct() => Bed::warm_up(file, range),
            // Past the cache the bytes must come from the device, so they may not be in the cache.
            _ if self.direct() => Bed::cool_down(file),
            _ => Ok(()),
        }
    }

    /// Runs the same requests for a while before the clock starts, if the trial asks for it: over the end of the
    /// range, which the sample comes to last.
    fn ramp_up(&self, file: &File, range: &Range<u64>, order: Order, place: &Place<'_>) -> Result<()> {
        let until = Instant::now() + std::time::Duration::from_secs_f64(self.trial.ramp);
        let step = (self.strategy.request * self.strategy.depth * self.strategy.workers) as u64;
        let mut end = range.end;
        while Instant::now() < until {
            let part = end.saturating_sub(step).max(range.start)..end;
            self.run(file, &part, order, place)?;
            end = if part.start > range.start { part.start } else { range.end };
        }
        Ok(())
    }

    fn run(&self, file: &File, range: &Range<u64>, order: Order, place: &Place<'_>) -> Result<Outcome> {
        let strategy = &self.strategy;
        let bed = place.bed;
        match self.trial.action {
            Action::Read => self.read(file, range, order, place),
            Action::Write => {
                let output = Output::create(file.path(), Placement::Overwrite, None)?;
                let scope = Scope { range: range.clone(), order };
                match &self.data {
                    Some(data) => pattern::fill(data, &scope, &output, strategy, place.monitor),
                    None => Ok(Outcome::default()),
                }
            }
            Action::Transform => {
                let operation = operation::parse(&self.trial.operation, Kernel::Simd).map_err(|error| {
                    Error::new(fullbore::error::Kind::Invalid, "measure", file.path(), error.to_string())
                })?;
                let (path, placement) = match self.trial.target {
                    Target::Existing => (&bed.output, Placement::Overwrite),
                    Target::New => (&bed.fresh, Placement::Replace),
                };
                let output = Output::create(path, placement, Some(file))?;
                pattern::transform(&*operation, file, output, strategy, Durability::Process, place.monitor)
            }
            Action::Memory => Ok(memory_copy(range.end)),
        }
    }

    fn read(&self, file: &File, range: &Range<u64>, order: Order, place: &Place<'_>) -> Result<Outcome> {
        let scope = Scope { range: range.clone(), order };
        // A system call has brought every byte to the reader; a mapping has brought none before it is touched.
        let mapped = self.strategy.read.capabilities.mapped;
        let look = |sum: &mut u64, _offset: u64, data: &[u8]| {
            if mapped {
                *sum = data
                    .iter()
                    .step_by(CACHE_LINE)
                    .fold(*sum, |sum, &byte| sum.wrapping_add(u64::from(byte)));
            }
        };
        let (outcome, sums) = pattern::visit(file, &scope, &self.strategy, place.monitor, || 0u64, look)?;
        std::hint::black_box(sums);
        Ok(outcome)
    }

    /// Whether the counters bear out what the sample is labelled.
    fn proof(&self, sample: &Sample, cached: Option<f64>, device_known: bool) -> Proof {
        let contradicted = |reason: String| Proof::Contradicted { reason };
        let unproved = |reason: &str| Proof::Unproved { reason: reason.into() };
        let from_device = |moved: Option<u64>| moved.map(|moved| moved as f64 / sample.bytes.max(1) as f64);
        match (self.trial.cache, cached) {
            (Some(CacheState::Warm), Some(cached)) if cached < HELD => {
                return contradicted(format!(
                    "{:.0}% of the range was in the page cache, not all",
                    cached * 100.0
                ));
            }
            (Some(CacheState::Cold), Some(cached)) if cached > 1.0 - HELD => {
                return contradicted(format!(
                    "{:.0}% of the range was in the page cache, not none",
                    cached * 100.0
                ));
            }
            (Some(_), None) => return unproved("the system does not say what the page cache holds"),
            _ => {}
        }
        let reads_device = self.trial.cache == Some(CacheState::Cold)
            || (self.direct() && self.trial.action == Action::Read);
        let writes_device = self.direct() && self.trial.action == Action::Write;
        if (reads_device || writes_device) && !device_known {
            return unproved("no device is known whose counters could tell");
        }
        let (moved, way) = match () {
            () if reads_device => (from_device(sample.device_read_bytes), "read"),
            () if writes_device => (from_device(sample.device_written_bytes), "wrote"),
            () => return Proof::Confirmed,
        };
        match moved {
            Some(share) if share < FROM_DEVICE => {
                contradicted(format!("the device {way} {:.0}% of the bytes", share * 100.0))
            }
            Some(_) => Proof::Confirmed,
            None => unproved("the device's counters cannot be read"),
        }
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

/// The unit in which memory comes to the processor, in bytes.
const CACHE_LINE: usize = 64;

/// Whether a trial is going to pass the page cache by where it writes.
fn wished_past_cache(wish: &Wish) -> bool {
    use fullbore::engine::{Cache, Choice};
    let always = wish.write.is_some_and(|method| method.capabilities.direct == Choice::Always);
    always || wish.write_cache == Some(Cache::Direct)
}

/// Why the strategy is not the one asked for, if so.
fn replaced(planned: &Plan, wish: &Wish) -> Option<String> {
    let kept = |asked: Option<&fullbore::engine::Method>, got: &fullbore::engine::Method| {
        asked.is_none_or(|asked| asked == got)
    };
    let same = kept(wish.read, planned.strategy.read) || planned.situation.len.is_none();
    if same && kept(wish.write, planned.strategy.write) {
        return None;
    }
    Some(planned.notes.join("; "))
}

/// Copies `bytes` from memory to a buffer, every processor its part: what reading can be at best.
fn memory_copy(bytes: u64) -> Outcome {
    /// Larger than the processor's own caches.
    const PART: usize = 64 << 20;
    /// What a reader's buffer is: it stays in the processor's cache.
    const BUFFER: usize = 256 << 10;
    let workers = probe::processors();
    let rounds = (bytes / (workers * PART) as u64).max(1);
    let ready = Barrier::new(workers);
    let seconds: Vec<f64> = std::thread::scope(|scope| {
        let copiers: Vec<_> = (0..workers)
            .map(|_| {
                scope.spawn(|| {
                    let source = vec![1u8; PART];
                    let mut target = vec![2u8; BUFFER];
                    ready.wait();
                    let clock = Instant::now();
                    for _ in 0..rounds {
                        for part in source.chunks_exact(BUFFER) {
                            target.copy_from_slice(std::hint::black_box(part));
                            std::hint::black_box(&mut target);
                        }
                    }
                    clock.elapsed().as_secs_f64()
                })
            })
            .collect();
        copiers.into_iter().filter_map(|copier| copier.join().ok()).collect()
    });
    Outcome {
        bytes: rounds * PART as u64 * seconds.len() as u64,
        seconds: seconds.into_iter().fold(0.0, f64::max),
        ..Outcome::default()
    }
}
