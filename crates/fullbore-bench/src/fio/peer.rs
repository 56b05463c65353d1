//! fio in the meter: for each cell that fio can run, a second one with fio as the program; its path, version, runs and
//! results.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use fullbore::Result;
use fullbore::error::{Error, ErrorKind};
use fullbore::pattern::Order;
use serde::Deserialize;

use super::shape::{HUGE_PAGES, Setting, Shape, Unsupported, percentiles, shape};
use crate::action::{
    CoveredRange, DeviceIo, ExpectedState, Iteration, Ramp, RunContext, RunResult, Workload,
};
use crate::document::{CacheState, FileState, Labels, Latency};
use crate::experiment::Trial;
use crate::test_files::Needs;
use crate::{child, units};

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
    /// True if fio may warm up on the same bytes without bringing anything into a cache.
    ramps: bool,
    /// Seconds that fio runs before it measures.
    ramp: f64,
    /// Bytes per second of the last sample.
    rate: Option<f64>,
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
        self.shape = Some(shape(&self.inner.labels()).map_err(|Unsupported(why)| refusal(why))?);
        Ok(())
    }

    fn prepare(&mut self, iteration: Iteration, context: &RunContext<'_>) -> Result<ExpectedState> {
        let expected = self.inner.prepare(iteration, context)?;
        self.span = iteration.span;
        self.ramp = 0.0;
        let labels = self.inner.labels();
        let grows = matches!(labels.file_state, Some(FileState::Extended | FileState::Preallocated));
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
        let (result, seconds) = loop {
            let settings = self.settings(shape, &covered, whole, passes);
            let text = self.program.run(&settings, context.test_files().directory(), shape.huge)?;
            let result = read_result(&text, shape.writes, shape.depth, shape.workers).map_err(refusal)?;
            let seconds = result.seconds.unwrap_or(0.0);
            // Half of it: rates vary, and a second run costs another start.
            if seconds >= SHORT / 2.0 || !self.again || passes >= PASSES {
                break (result, seconds);
            }
            let more = (SHORT / seconds.max(1e-3)).ceil() as u64;
            passes = passes.saturating_mul(more.max(2)).min(PASSES);
        };
        if seconds <= 0.0 {
            return Err(refusal("fio ended in less time than it can measure".into()));
        }
        self.rate = Some(result.bytes as f64 / seconds);
        Ok(result)
    }

    fn clean_up(&mut self, context: &RunContext<'_>) -> Result<()> {
        self.inner.clean_up(context)
    }
}

fn refusal(what: String) -> Error {
    Error::new(ErrorKind::Unsupported, "run", PEER, what)
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
        match self.inner.labels().file_state {
            Some(FileState::Extended | FileState::Preallocated) => {
                settings.push(("create_on_open", "1".into()))
            }
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

#[derive(Debug, Clone)]
pub(crate) struct Program {
    path: PathBuf,
    /// The version as printed: `fio-3.33`.
    pub(crate) version: String,
}

impl Program {
    /// Finds fio along `PATH`; fails if it is not installed, or older than version 3.
    pub(crate) fn find() -> Result<Self> {
        let refuse = |what: String| refusal(what).advise("install it (Debian: apt install fio)");
        let path = child::find(PEER).ok_or_else(|| refuse("not installed".into()))?;
        let said = child::output(Command::new(&path).arg("--version").stdout(Stdio::piped()), None)
            .map_err(|error| Error::io("run", &path, error))?;
        let version = String::from_utf8_lossy(&said.stdout).trim().to_owned();
        let major = version.strip_prefix("fio-").and_then(|rest| rest.split('.').next());
        match major.and_then(|major| major.parse::<u32>().ok()) {
            Some(3..) => Ok(Self { path, version }),
            _ => Err(refuse(format!("{version:?} is not version 3 or later"))),
        }
    }

    /// Runs one job in `directory`, with its buffers on huge pages if `huge`, and returns what it printed.
    pub(super) fn run(&self, settings: &[Setting], directory: &Path, huge: bool) -> Result<String> {
        let mut command = Command::new(&self.path);
        command.args(["--output-format=json", "--name=peer"]);
        command.args(settings.iter().map(|(name, value)| format!("--{name}={value}")));
        if huge {
            command.env(HUGE_PAGES.0, HUGE_PAGES.1);
        }
        command.current_dir(directory).stdout(Stdio::piped()).stderr(Stdio::piped());
        let output =
            child::output(&mut command, None).map_err(|error| Error::io("run", &self.path, error))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let what = format!("fio failed: {}", child::failure(&output));
        Err(Error::new(ErrorKind::Unsupported, "run", &self.path, what))
    }
}

#[derive(Deserialize)]
struct Document {
    jobs: Vec<ReportedJob>,
}

#[derive(Deserialize)]
struct ReportedJob {
    error: i64,
    job_runtime: f64,
    usr_cpu: f64,
    sys_cpu: f64,
    read: DirectionStats,
    write: DirectionStats,
}

#[derive(Deserialize)]
struct DirectionStats {
    io_bytes: u64,
    total_ios: u64,
    runtime: u64,
    lat_ns: TimeStats,
}

#[derive(Deserialize)]
struct TimeStats {
    max: f64,
    mean: f64,
    #[serde(default)]
    percentile: BTreeMap<String, f64>,
}

/// Reads the result of a run whose jobs are reported as one group, of `workers` jobs of this depth. The seconds are those
/// from the first request to the last, in fio's whole milliseconds; 0: less, and requests were not timed.
fn read_result(text: &str, writes: bool, depth: u64, workers: u64) -> std::result::Result<RunResult, String> {
    // Warnings may precede the document.
    let start = text.find('{').ok_or("fio printed no result")?;
    let document: Document =
        serde_json::from_str(&text[start..]).map_err(|error| format!("unexpected output of fio: {error}"))?;
    let [job] = &document.jobs[..] else {
        return Err(format!("fio printed {} results instead of one", document.jobs.len()));
    };
    if job.error != 0 {
        let error = std::io::Error::from_raw_os_error(job.error as i32);
        return Err(format!("fio failed: {error}"));
    }
    let way = if writes { &job.write } else { &job.read };
    if way.total_ios == 0 {
        return Err("fio made no request".into());
    }
    let most = (depth * workers) as f64;
    let busy = way.lat_ns.mean / 1e9 * way.total_ios as f64;
    let seconds = match way.runtime {
        // Less than fio's millisecond: estimated from the time of the requests and their number in flight.
        0 => busy / most.max(1.0),
        milliseconds => milliseconds as f64 / 1e3,
    };
    // Shares are of the time of all jobs together.
    let share = |percent: f64| percent / 100.0 * job.job_runtime / 1e3;
    // By Little's law, the requests in flight of all jobs together are their rate times the time of one.
    let depth_mean =
        (way.lat_ns.mean > 0.0 && seconds > 0.0).then(|| (busy / seconds).min(most) / workers as f64);
    Ok(RunResult {
        latency: way.lat_ns.latency(),
        children: Some((share(job.usr_cpu), share(job.sys_cpu))),
        ..RunResult::timed(way.io_bytes, seconds, way.total_ios, depth_mean)
    })
}

impl TimeStats {
    fn latency(&self) -> Option<Latency> {
        let at = |name: &str| self.percentile.get(name).map(|nanoseconds| nanoseconds / 1e9);
        Some(Latency {
            p50_s: at("50.000000")?,
            p90_s: at("90.000000")?,
            p99_s: at("99.000000")?,
            p999_s: at("99.900000")?,
            max_s: self.max / 1e9,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"fio: a warning
    {"fio version": "fio-3.33", "jobs": [{"jobname": "p", "error": 0, "job_runtime": 1000,
      "usr_cpu": 10.0, "sys_cpu": 30.0,
      "read": {"io_bytes": 4096000, "runtime": 500, "total_ios": 1000,
        "lat_ns": {"min": 1, "max": 9000000, "mean": 2000000.0, "stddev": 1.0, "N": 1000,
          "percentile": {"50.000000": 1900000, "90.000000": 2500000, "99.000000": 4000000, "99.900000": 8000000}}},
      "write": {"io_bytes": 0, "runtime": 0, "total_ios": 0, "lat_ns": {"min": 0, "max": 0, "mean": 0.0}}}]}"#;

    #[test]
    fn a_result_is_read() {
        let result = read_result(TEXT, false, 2, 2).unwrap();
        assert_eq!((result.bytes, result.requests, result.seconds), (4_096_000, 1000, Some(0.5)));
        let (user, system) = result.children.unwrap();
        assert!((user - 0.1).abs() < 1e-12 && (system - 0.3).abs() < 1e-12);
        assert_eq!(result.depth, Some(2.0));
        assert_eq!(result.latency.unwrap().p99_s, 0.004);
        assert_eq!(result.latency.unwrap().max_s, 0.009);
    }

    #[test]
    fn short_runs_are_timed_by_their_requests() {
        let result = read_result(&TEXT.replace("\"runtime\": 500", "\"runtime\": 0"), false, 4, 1).unwrap();
        assert_eq!(result.seconds, Some(0.5));
    }

    #[cfg(unix)]
    #[test]
    fn errors_are_reported() {
        assert!(read_result("no document", false, 1, 1).unwrap_err().contains("no result"));
        assert!(read_result(TEXT, true, 1, 1).unwrap_err().contains("no request"));
        assert!(
            read_result(&TEXT.replace("\"error\": 0", "\"error\": 22"), false, 1, 1)
                .unwrap_err()
                .contains("nvalid")
        );
        assert!(read_result(&TEXT.replace("usr_cpu", "cpu"), false, 1, 1).unwrap_err().contains("usr_cpu"));
    }
}
