//! fio in the meter: for each cell that fio can run, a second one with fio as the program.

use std::collections::BTreeMap;
use std::time::Duration;

use fullbore::Result;
use fullbore::error::{Error, ErrorKind};
use fullbore::pattern::Order;

use super::counterpart::{Setting, Unsupported};
use super::program::{JobResult, Program, read_result};
use super::shape::{Shape, percentiles, shape};
use crate::action::{
    CoveredRange, DeviceIo, ExpectedState, Iteration, Ramp, RunContext, RunResult, Workload,
};
use crate::document::{CacheState, Labels};
use crate::experiment::Trial;
use crate::test_files::Needs;
use crate::units;

const PEER: &str = "fio";

/// Shortest sample on both sides, in seconds: fio counts time and CPU time in milliseconds.
const LEAST: f64 = 0.5;

/// Shortest sample of fio in seconds. Not longer: fullbore covers the file once, and further passes are faster.
const SHORT: f64 = 0.1;

/// Most passes over a range in one sample.
const PASSES: u64 = 1 << 20;

/// Adds fio's trial after each trial that it can run. Returns notes on the others, a sentence each.
pub(crate) fn add_peer_trials(trials: Vec<Trial>, program: &Program) -> (Vec<Trial>, Vec<String>) {
    let mut all = Vec::with_capacity(2 * trials.len());
    let mut refused: BTreeMap<String, usize> = BTreeMap::new();
    for mut trial in trials {
        let peer = match trial.workload.unopened_copy() {
            None => Err(Unsupported("fio only reads and writes files".into())),
            Some(workload) => shape(&trial.workload.labels()).map(|_| workload),
        };
        match peer {
            Ok(inner) => {
                let sample = Some(trial.sample.unwrap_or(0.0).max(LEAST));
                trial.sample = sample;
                let peer = Trial {
                    id: format!("{}/peer={PEER}", trial.id),
                    experiment: trial.experiment.clone(),
                    // Never chosen for a job: fio's methods cannot be run by fullbore.
                    job: String::new(),
                    ramp: trial.ramp,
                    sample,
                    workload: Box::new(FioWorkload {
                        inner,
                        program: program.clone(),
                        shape: None,
                        again: false,
                        ramps: false,
                        ramp: 0.0,
                        rate: None,
                        span: 0,
                    }),
                };
                all.extend([trial, peer]);
            }
            Err(Unsupported(why)) => {
                *refused.entry(why).or_default() += 1;
                all.push(trial);
            }
        }
    }
    let notes = refused
        .into_iter()
        .map(|(why, cells)| format!("not measured with fio: {}: {why}", units::count(cells, "cell")));
    (all, notes.collect())
}

/// A trial of fullbore, run by fio.
#[derive(Debug)]
struct FioWorkload {
    inner: Box<dyn Workload>,
    program: Program,
    shape: Option<Shape>,
    /// True if the same bytes may be covered again: the cache holds them before and after.
    again: bool,
    /// True if fio may warm up on them without bringing anything into a cache.
    ramps: bool,
    /// Seconds that fio runs before it measures.
    ramp: f64,
    /// Bytes per second of the last sample.
    rate: Option<f64>,
    /// Bytes of the next sample.
    span: u64,
}

impl Workload for FioWorkload {
    fn needs(&self) -> Needs {
        self.inner.needs()
    }

    fn labels(&self) -> Labels {
        Labels { peer: Some(PEER.into()), ..self.inner.labels() }
    }

    fn open(&mut self, context: &RunContext<'_>) -> Result<()> {
        self.inner.open(context)?;
        // The strategy is known only now.
        let shape = shape(&self.inner.labels())
            .map_err(|Unsupported(why)| Error::new(ErrorKind::Unsupported, "run", PEER, why))?;
        self.shape = Some(shape);
        Ok(())
    }

    fn prepare(&mut self, iteration: Iteration, context: &RunContext<'_>) -> Result<ExpectedState> {
        let expected = self.inner.prepare(iteration, context)?;
        self.span = iteration.span;
        self.ramp = 0.0;
        let labels = self.inner.labels();
        let grows = matches!(labels.file_state.as_deref(), Some("extended" | "preallocated"));
        let direct = self.shape.as_ref().is_some_and(|shape| shape.direct);
        let device = expected.device != DeviceIo::Any;
        self.again = !grows && !device && matches!(labels.cache, None | Some(CacheState::Warm));
        self.ramps = direct && !grows;
        Ok(expected)
    }

    fn ramp_up(&mut self, ramp: Ramp<'_>, context: &RunContext<'_>) -> Result<()> {
        if self.ramps {
            // By fio itself: a device would have time to recover between two runs.
            self.ramp = ramp.least;
            return Ok(());
        }
        self.inner.ramp_up(ramp, context)
    }

    fn run(&mut self, context: &RunContext<'_>) -> Result<RunResult> {
        let shape = self.shape.as_ref().ok_or_else(|| refusal("not opened".into()))?;
        let covered = self.inner.covered_range(context).ok_or_else(|| refusal("no file covered".into()))?;
        let whole = once(shape, &covered)
            .ok_or_else(|| refusal("the file is too short for one stripe per worker".into()))?;
        let mut passes = match self.rate {
            Some(rate) if self.again => ((rate * SHORT / whole as f64).ceil() as u64).clamp(1, PASSES),
            _ => 1,
        };
        let result = loop {
            let settings = self.settings(shape, &covered, whole, passes);
            let text = self.program.run(&settings, context.test_files().directory(), shape.huge)?;
            let most = shape.depth * shape.workers;
            let result = read_result(&text, shape.writes, most).map_err(refusal)?;
            // Half of it: rates vary, and a second run costs another start.
            if result.seconds >= SHORT / 2.0 || !self.again || passes >= PASSES {
                break result;
            }
            let more = (SHORT / result.seconds.max(1e-3)).ceil() as u64;
            passes = passes.saturating_mul(more.max(2)).min(PASSES);
        };
        if result.seconds <= 0.0 {
            return Err(refusal("fio ended in less time than it can measure".into()));
        }
        self.rate = Some(result.bytes as f64 / result.seconds);
        Ok(done(result, shape.workers))
    }

    fn clean_up(&mut self, context: &RunContext<'_>) -> Result<()> {
        self.inner.clean_up(context)
    }
}

fn refusal(what: String) -> Error {
    Error::new(ErrorKind::Unsupported, "run", PEER, what)
}

fn done(result: JobResult, workers: u64) -> RunResult {
    RunResult {
        bytes: result.bytes,
        seconds: Some(result.seconds),
        requests: result.requests,
        depth: result.in_flight.map(|in_flight| in_flight / workers as f64),
        latency: result.latency,
        children: Some((result.user_s, result.system_s)),
        ..RunResult::default()
    }
}

/// Bytes that fio moves in one pass over the covered range; `None` if a worker would have nothing to do.
fn once(shape: &Shape, covered: &CoveredRange) -> Option<u64> {
    let range = covered.range.end - covered.range.start;
    let bytes = match (covered.order, shape.stripe) {
        (Order::Random { count, .. }, _) => (count * shape.request).min(range),
        (Order::Sequential, Some(stripe)) => range / (stripe * shape.workers) * stripe * shape.workers,
        (Order::Sequential, None) => range,
    };
    let unit = shape.request * shape.workers;
    Some(bytes / unit * unit).filter(|bytes| *bytes > 0)
}

impl FioWorkload {
    fn settings(&self, shape: &Shape, covered: &CoveredRange, whole: u64, passes: u64) -> Vec<Setting> {
        let CoveredRange { path, range, order, timed } = covered;
        let size = match shape.stripe {
            // A job extends from its first stripe to its last.
            Some(stripe) => whole - stripe * (shape.workers - 1),
            None => range.end - range.start,
        };
        // fio runs in a directory of its own, so paths are absolute.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let mut settings = shape.settings.clone();
        settings.extend([
            ("filename", path.display().to_string().replace(':', "\\:")),
            ("offset", range.start.to_string()),
            ("size", size.to_string()),
            // The page cache was prepared before.
            ("invalidate", "0".into()),
            ("fallocate", "none".into()),
        ]);
        if *timed {
            settings.extend(percentiles());
        } else {
            // fio does not read the clock where fullbore does not.
            settings.extend(["disable_lat", "disable_clat", "disable_slat"].map(|name| (name, "1".into())));
        }
        match self.inner.labels().file_state.as_deref() {
            Some("extended" | "preallocated") => settings.push(("create_on_open", "1".into())),
            _ => settings.push(("allow_file_create", "0".into())),
        }
        if let Order::Random { seed, .. } = order {
            settings.push(("randseed", seed.wrapping_add(1).to_string()));
        }
        if self.ramp > 0.0 {
            let seconds = self.rate.map_or(LEAST, |rate| self.span as f64 / rate).max(LEAST);
            let in_ms = |seconds: f64| format!("{}ms", Duration::from_secs_f64(seconds).as_millis());
            settings.extend([
                ("time_based", "1".into()),
                ("ramp_time", in_ms(self.ramp)),
                ("runtime", in_ms(seconds)),
            ]);
        } else {
            settings.push(("io_size", (whole / shape.workers * passes).to_string()));
        }
        settings
    }
}
