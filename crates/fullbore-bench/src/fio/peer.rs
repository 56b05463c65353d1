//! fio beside the meter: for each cell that it can do a second one, the same but for the program that does it.

use std::collections::BTreeMap;
use std::time::Duration;

use fullbore::Result;
use fullbore::error::{Error, Kind};
use fullbore::pattern::Order;

use super::job_result::{self, JobResult};
use super::program::Program;
use super::shape::{Shape, percentiles, shape};
use super::{Setting, Unsupported};
use crate::action::{CoveredRange, DeviceIo, ExpectedState, Iteration, RunResult, Workload};
use crate::document::{CacheState, Labels};
use crate::experiment::Trial;
use crate::sample::RunContext;
use crate::test_files::Needs;
use crate::units;

/// The name of the peer in labels and ids.
const PEER: &str = "fio";

/// A sample shall take so long on both sides, in seconds: fio counts time and processor time in milliseconds.
const LEAST: f64 = 0.5;

/// Where the file is too short for that, this is the least for fio, in seconds. Not more, because ours goes over it once,
/// and whoever goes over it longer has it faster.
const SHORT: f64 = 0.1;

/// The most often that a range is gone over in one sample.
const PASSES: u64 = 1 << 20;

/// Puts fio's trial behind each trial that it can do. Returns what is to be said of the others, a sentence each.
pub(crate) fn add_peer_trials(trials: Vec<Trial>, program: &Program) -> (Vec<Trial>, Vec<String>) {
    let mut all = Vec::with_capacity(2 * trials.len());
    let mut refused: BTreeMap<String, usize> = BTreeMap::new();
    for mut trial in trials {
        let peer = match trial.workload.unopened_copy() {
            None => Err(Unsupported("fio reads and writes files, it does no other work".into())),
            Some(workload) => shape(&trial.workload.labels()).map(|_| workload),
        };
        match peer {
            Ok(inner) => {
                let sample = Some(trial.sample.unwrap_or(0.0).max(LEAST));
                trial.sample = sample;
                let peer = Trial {
                    id: format!("{}/peer={PEER}", trial.id),
                    experiment: trial.experiment.clone(),
                    // It shall not be chosen for anything: nobody here can run it.
                    job: String::new(),
                    ramp: trial.ramp,
                    sample,
                    workload: Box::new(FioWorkload {
                        inner,
                        program: program.clone(),
                        shape: None,
                        repeat: RepeatRules::default(),
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
        .map(|(why, cells)| format!("not beside fio: {}: {why}", units::count(cells, "cell")));
    (all, notes.collect())
}

/// What matters of the claim of a sample.
#[derive(Debug, Default)]
struct RepeatRules {
    /// Whether the same bytes may be gone over again: the cache holds them before and after.
    again: bool,
    /// Whether fio may warm itself up on them: no cache is brought in by that.
    ramps: bool,
}

/// A trial of ours, done by fio.
#[derive(Debug)]
struct FioWorkload {
    inner: Box<dyn Workload>,
    program: Program,
    /// Known once opened.
    shape: Option<Shape>,
    repeat: RepeatRules,
    /// Seconds that fio runs before it counts.
    ramp: f64,
    /// Bytes a second that the last sample gave.
    rate: Option<f64>,
    /// Bytes that the next sample is about.
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
            .map_err(|Unsupported(why)| Error::new(Kind::Unsupported, "run", PEER, why))?;
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
        self.repeat = RepeatRules {
            again: !grows && !device && matches!(labels.cache, None | Some(CacheState::Warm)),
            ramps: direct && !grows,
        };
        Ok(expected)
    }

    fn ramp_up(&mut self, seconds: f64, context: &RunContext<'_>) -> Result<()> {
        if self.repeat.ramps {
            // By fio itself: between two runs of it a device has time to recover.
            self.ramp = seconds;
            return Ok(());
        }
        self.inner.ramp_up(seconds, context)
    }

    fn run(&mut self, context: &RunContext<'_>) -> Result<RunResult> {
        let shape = self.shape.as_ref().ok_or_else(|| refusal("it was not opened".into()))?;
        let covered = self.inner.covered_range(context).ok_or_else(|| refusal("it covers no file".into()))?;
        let whole = once(shape, &covered).ok_or_else(|| {
            refusal("the workers of fio need a stripe each, and the file is too short for that".into())
        })?;
        let mut passes = match self.rate {
            Some(rate) if self.repeat.again => ((rate * SHORT / whole as f64).ceil() as u64).clamp(1, PASSES),
            _ => 1,
        };
        let result = loop {
            let settings = self.settings(shape, &covered, whole, passes);
            let text = self.program.run(&settings, context.test_files().directory(), shape.huge)?;
            let most = shape.depth * shape.workers;
            let result = job_result::read(&text, shape.writes, most).map_err(refusal)?;
            // Half of it: rates vary, and a second run costs another start.
            if result.seconds >= SHORT / 2.0 || !self.repeat.again || passes >= PASSES {
                break result;
            }
            let more = (SHORT / result.seconds.max(1e-3)).ceil() as u64;
            passes = passes.saturating_mul(more.max(2)).min(PASSES);
        };
        if result.seconds <= 0.0 {
            return Err(refusal("fio was done in less time than it counts".into()));
        }
        self.rate = Some(result.bytes as f64 / result.seconds);
        Ok(done(result, shape.workers))
    }

    fn clean_up(&mut self, context: &RunContext<'_>) -> Result<()> {
        self.inner.clean_up(context)
    }
}

fn refusal(what: String) -> Error {
    Error::new(Kind::Unsupported, "run", PEER, what)
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

/// How many bytes fio moves in one pass over what is covered; `None` if there is nothing for a worker.
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
    /// The job over what is covered.
    fn settings(&self, shape: &Shape, covered: &CoveredRange, whole: u64, passes: u64) -> Vec<Setting> {
        let CoveredRange { path, range, order, timed } = covered;
        let size = match shape.stripe {
            // A job goes from its first stripe to its last.
            Some(stripe) => whole - stripe * (shape.workers - 1),
            None => range.end - range.start,
        };
        // fio runs in a directory of its own.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let mut settings = shape.settings.clone();
        settings.extend([
            ("filename", path.display().to_string().replace(':', "\\:")),
            ("offset", range.start.to_string()),
            ("size", size.to_string()),
            // What the page cache holds was seen to before.
            ("invalidate", "0".into()),
            ("fallocate", "none".into()),
        ]);
        if *timed {
            settings.extend(percentiles());
        } else {
            // Nor does fio look at the clock where we do not.
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
