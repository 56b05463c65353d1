//! Experiments as data: grids of trials, read from TOML.
//!
//! A file of experiments is a set: its trials are measured in interleaved rounds. An experiment has a name, a title, a
//! question, the findings of the reference documents, the axis and the figures of its chapter, and grids. A grid is
//! every combination of its lists; each combination is the settings of one trial of an action, as `docs/experiments.md`
//! lists them.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use fullbore::engine::deep_method;
use fullbore::strategy::ProfileJob;
use serde::Deserialize;
use toml::Value;

use crate::action::{ACTIONS, Contender, RunContext, Settings, Workload};
use crate::document::{Axis, EarlierFinding, Experiment, Figure, MOST_CELLS};
use crate::units;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    experiment: Vec<Described>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Described {
    name: String,
    title: String,
    #[serde(default)]
    question: String,
    #[serde(default)]
    note: String,
    #[serde(default)]
    then: Vec<EarlierFinding>,
    axis: Axis,
    #[serde(default)]
    figures: Vec<Figure>,
    grid: Vec<toml::Table>,
}

/// Parses a set for these numbers of processors and directories: the descriptions of its experiments, which have different
/// names, and the trials without duplicates; an error has the position.
pub(crate) fn parse(
    text: &str,
    processors: usize,
    directories: usize,
) -> Result<(Vec<Experiment>, Vec<Trial>), ExperimentError> {
    let document: Document = toml::from_str(text).map_err(|error| ExperimentError(error.to_string()))?;
    let mut described = Vec::new();
    let mut trials: Vec<Trial> = Vec::new();
    let mut ids: BTreeMap<String, TrialTerms> = BTreeMap::new();
    for experiment in document.experiment {
        if described.iter().any(|known: &Experiment| known.name == experiment.name) {
            let what = format!("experiment {}: the name is given twice: rename one", experiment.name);
            return Err(ExperimentError(what));
        }
        for one in &experiment.grid {
            for trial in expand(&experiment.name, one, processors, directories)? {
                let terms = trial.terms();
                match ids.get(&trial.id) {
                    None => {
                        ids.insert(trial.id.clone(), terms);
                        trials.push(trial);
                    }
                    Some(known) if *known == terms => {}
                    Some(_) => {
                        let what = format!(
                            "experiment {}: two grids have the trial {}, with another {JOB}, {RAMP} or {SAMPLE}: leave \
                             one out, or move it to an experiment of its own",
                            experiment.name, trial.id
                        );
                        return Err(ExperimentError(what));
                    }
                }
            }
            if trials.len() > MOST_CELLS {
                let what = format!("more than {MOST_CELLS} trials, the limit of a document: leave some out");
                return Err(ExperimentError(what));
            }
        }
        described.push(Experiment {
            name: experiment.name,
            title: experiment.title,
            note: experiment.note.replace(DEEP_FACILITY, deep_facility()),
            axis: experiment.axis,
            question: experiment.question,
            then: experiment.then,
            figures: experiment.figures,
        });
    }
    Ok((described, trials))
}

/// Returns the experiments of a set and the number of trials of each on this machine.
///
/// # Errors
/// If the text is not a set, with the position.
pub fn describe(text: &str) -> Result<Vec<(Experiment, usize)>, ExperimentError> {
    let (described, trials) = parse(text, fullbore::probe::processors(), 1)?;
    let counted = |experiment: Experiment| {
        let own = trials.iter().filter(|trial| trial.experiment == experiment.name).count();
        (experiment, own)
    };
    Ok(described.into_iter().map(counted).collect())
}

/// Returns the number of equal shares of a run's time that the trials of a set in TOML take.
///
/// # Errors
/// As [`describe`].
pub fn shares(text: &str) -> Result<usize, ExperimentError> {
    let (_, trials) = parse(text, fullbore::probe::processors(), 1)?;
    Ok(trials.iter().map(|trial| trial.workload.shares()).sum())
}

#[derive(Debug)]
pub(crate) struct Trial {
    /// Unique within the run.
    pub(crate) id: String,
    pub(crate) experiment: String,
    /// Kind of job that its strategy competes for; empty: none.
    pub(crate) job: String,
    /// Seconds of the same requests before the clock starts, to exclude a device's burst from a cache or a credit.
    pub(crate) ramp: f64,
    /// Seconds per sample; `None`: as the time of the run allows.
    pub(crate) sample: Option<f64>,
    pub(crate) workload: Box<dyn Workload>,
}

/// Job, ramp and sample of a trial, which its id leaves out.
type TrialTerms = (String, f64, Option<f64>);

impl Trial {
    fn terms(&self) -> TrialTerms {
        (self.job.clone(), self.ramp, self.sample)
    }

    /// Replaces a trial for all contenders by one for each; without any it remains, and its cell states the reason.
    pub(crate) fn into_contenders(self, context: &RunContext<'_>) -> Vec<Self> {
        let Ok(Some(contenders)) = self.workload.contenders(context) else { return vec![self] };
        if contenders.is_empty() {
            return vec![self];
        }
        let standing = format!("/{}", self.workload.labels().strategy.unwrap_or_default());
        // The id of a trial that stands for all by default lacks its strategy.
        let id = if self.id.contains(&standing) { self.id.clone() } else { self.id.clone() + &standing };
        let one = |Contender { strategy, workload }: Contender| Self {
            id: id.replacen(&standing, &format!("/{strategy}"), 1),
            experiment: self.experiment.clone(),
            job: self.job.clone(),
            ramp: self.ramp,
            sample: self.sample,
            workload,
        };
        contenders.into_iter().map(one).collect()
    }
}

/// Error in a file of experiments.
#[derive(Debug)]
pub struct ExperimentError(pub(super) String);

impl fmt::Display for ExperimentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A long value that a line quotes loses its middle: the remedy is at the end.
        let lines = self.0.lines().map(|line| units::shortened(line, 281));
        f.write_str(&lines.collect::<Vec<_>>().join("\n"))
    }
}

impl std::error::Error for ExperimentError {}

/// Keys of a grid that are not the action's.
const ACTION: &str = "action";
const JOB: &str = "job";
const RAMP: &str = "ramp_seconds";
const SAMPLE: &str = "sample_seconds";
const SYSTEM: &str = "system";

/// Longest ramp and sample in seconds.
pub(crate) const DAY: f64 = 86_400.0;

const MOST_TRIALS: usize = 10_000;

/// The longest text of a trial's settings: each combination of a grid has a copy.
const MOST_TEXT: usize = 4096;

/// The systems that a grid can be limited to, by the names of [`std::env::consts::OS`].
const SYSTEMS: [&str; 4] = ["freebsd", "linux", "macos", "windows"];

/// Expands a grid into its trials: none if it is limited to another system. `{processors}` and `{directories}` in a text are
/// replaced by their numbers, `{deep}` by the method that keeps many requests in flight on this system.
pub(super) fn expand(
    experiment: &str,
    grid: &toml::Table,
    processors: usize,
    directories: usize,
) -> Result<Vec<Trial>, ExperimentError> {
    let wrong = |what: String| ExperimentError(format!("experiment {experiment}: {what}"));
    let mut grid = grid.clone();
    let mut text = |key: &str| match grid.remove(key) {
        None => Ok(String::new()),
        Some(Value::String(text)) => Ok(text),
        Some(other) => Err(wrong(format!("{key}: expected a text, found {other}"))),
    };
    let (name, job, system) = (text(ACTION)?, text(JOB)?, text(SYSTEM)?);
    if !system.is_empty() && !SYSTEMS.contains(&system.as_str()) {
        return Err(wrong(format!("{SYSTEM} {system:?} is not one of {}", SYSTEMS.join(", "))));
    }
    let jobs = ProfileJob::all().filter_map(|(_, name)| Some(name.strip_suffix(", warm")?.to_owned()));
    let jobs: Vec<String> = jobs.collect();
    if !job.is_empty() && !jobs.contains(&job) {
        return Err(wrong(format!("{JOB} {job:?} is not one of {}", jobs.join(", "))));
    }
    let mut number = |key: &str| match grid.remove(key) {
        None => Ok(None),
        Some(Value::Float(seconds)) if (0.0..=DAY).contains(&seconds) => Ok(Some(seconds)),
        Some(Value::Integer(seconds)) if (0.0..=DAY).contains(&(seconds as f64)) => Ok(Some(seconds as f64)),
        Some(other) => Err(wrong(format!("{key}: expected a number of seconds up to {DAY}, found {other}"))),
    };
    let (ramp, sample) = (number(RAMP)?.unwrap_or(0.0), number(SAMPLE)?.filter(|seconds| *seconds > 0.0));
    let Some(action) = ACTIONS.iter().find(|action| action.name == name) else {
        let known: Vec<&str> = ACTIONS.iter().map(|action| action.name).collect();
        return Err(wrong(format!("action {name:?} is not one of {}", known.join(", "))));
    };
    if !system.is_empty() && system != std::env::consts::OS {
        return Ok(Vec::new());
    }
    let count = grid.values().map(|value| values(value).len().max(1)).fold(1, usize::saturating_mul);
    if count > MOST_TRIALS {
        return Err(wrong(format!("a grid has {count} combinations; at most {MOST_TRIALS} can be measured")));
    }
    let longest = |value: &Value| values(value).iter().map(|value| value.to_string().len()).max();
    let text: usize = grid.iter().map(|(key, value)| key.len() + longest(value).unwrap_or(0)).sum();
    if text > MOST_TEXT {
        return Err(wrong(format!(
            "the settings of a trial have {text} characters; at most {MOST_TEXT} are read"
        )));
    }
    combinations(&grid)
        .into_iter()
        .map(|settings| {
            let settings = substitute(settings, processors, directories);
            let id = format!("{experiment}/{name}{}", id_suffix(&settings));
            let workload = (action.parse)(settings).map_err(|error| wrong(format!("{name}: {error}")))?;
            if sample.is_some() && !workload.elastic() {
                return Err(wrong(format!("{name} measures whole runs: leave {SAMPLE} out")));
            }
            if ramp > 0.0 && workload.is_continuous() {
                return Err(wrong(format!("{name} measures the burst, too: leave {RAMP} out")));
            }
            Ok(Trial { id, experiment: experiment.into(), job: job.clone(), ramp, sample, workload })
        })
        .collect()
}

/// The values of a list, or the only one.
fn values(value: &Value) -> &[Value] {
    if let Value::Array(values) = value { values } else { std::slice::from_ref(value) }
}

/// Returns every combination of the lists; the first key varies slowest. An empty list counts as an absent key.
fn combinations(grid: &toml::Table) -> Vec<Settings> {
    // The strategy is the most interesting key, so trials of one strategy are adjacent.
    let mut keys: Vec<(&String, &Value)> = grid.iter().collect();
    keys.sort_by_key(|(key, _)| key.as_str() != "strategy");
    let mut all = vec![Settings::new()];
    for (key, value) in keys {
        let values = values(value);
        if values.is_empty() {
            continue;
        }
        all = all
            .into_iter()
            .flat_map(|settings| {
                values.iter().map(move |value| {
                    let mut settings = settings.clone();
                    settings.insert(key.clone(), value.clone());
                    settings
                })
            })
            .collect();
    }
    all
}

/// Stands for the access method with many requests in flight.
const DEEP: &str = "{deep}";

/// Stands in a note for the facility of the system that this method uses.
const DEEP_FACILITY: &str = "{deep facility}";

fn deep_facility() -> &'static str {
    match deep_method().name {
        "uring" => "io_uring",
        "port" => "Completion port",
        _ => "POSIX asynchronous I/O",
    }
}

fn substitute(settings: Settings, processors: usize, directories: usize) -> Settings {
    let fill = |value: Value| match value {
        Value::String(text) => Value::String(
            text.replace("{processors}", &processors.to_string())
                .replace("{directories}", &directories.to_string())
                .replace(DEEP, deep_method().name),
        ),
        other => other,
    };
    settings.into_iter().map(|(key, value)| (key, fill(value))).collect()
}

/// Formats the settings for a cell's id: `/method=mmap,request=4K/cache=cold`.
fn id_suffix(settings: &Settings) -> String {
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut suffix = String::new();
    if let Some(strategy) = settings.get("strategy") {
        suffix = format!("/{}", plain(strategy));
        for key in ["request", "depth"] {
            if let Some(value) = settings.get(key) {
                suffix += &format!(",{key}={}", plain(value));
            }
        }
    }
    for (key, value) in settings {
        let in_strategy = settings.contains_key("strategy") && (key == "request" || key == "depth");
        if key != "strategy" && !in_strategy {
            suffix += &format!("/{key}={}", plain(value));
        }
    }
    suffix
}

/// A file of experiments.
#[derive(Debug, Clone, Copy)]
pub struct Set {
    /// Name on the command line.
    pub name: &'static str,
    /// The text of the file, in TOML.
    pub text: &'static str,
}

macro_rules! sets {
    ($($name:literal $(and $part:literal)*),* $(,)?) => {
        &[$(Set {
            name: $name,
            text: concat!(
                include_str!(concat!("../../experiments/", $name, ".toml")),
                $("\n", include_str!(concat!("../../experiments/", $part, ".toml"))),*
            ),
        }),*]
    };
}

/// All built-in sets, in the order of a full run.
#[rustfmt::skip]
pub const BUILT_IN: &[Set] = sets![
    "quick" and "small-files" and "append",
    "roof",
    "out-of-box",
    "unbuffered",
    "overhead",
    "depth",
    "devices",
    "streams",
    "sustained",
    "extend",
    "align",
    "block-size",
    "strategies",
    "auto",
    "file-size",
    "fresh",
    "scalar-simd",
    "interfaces",
    "user-buffer",
    "stream-buffer",
    "hints",
    "sync-or-async",
    "seek",
    "vectored",
    "huge-pages",
    "memory-offset",
    "preallocate",
    "completion",
    "latency",
    "phases",
    "device-cache",
    "pipeline",
    "small-files",
    "append",
    "utilities",
];

/// The set that `fullbore bench` runs by default.
pub const QUICK: &str = BUILT_IN[0].text;

/// Returns the built-in set with this name.
pub fn built_in(name: &str) -> Option<&'static Set> {
    BUILT_IN.iter().find(|set| set.name == name)
}
