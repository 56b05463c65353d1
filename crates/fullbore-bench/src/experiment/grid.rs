//! Trials, and grids: every combination of a grid's lists becomes the settings of one trial.

use std::fmt;

use fullbore::quote::clipped;
use toml::Value;

use crate::action::{ACTIONS, Contender, RunContext, Settings, Workload};

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

impl Trial {
    /// Replaces a trial for all contenders by one for each; without any it remains, and its cell states the reason.
    pub(crate) fn into_contenders(self, context: &RunContext<'_>) -> Vec<Self> {
        let Ok(Some(contenders)) = self.workload.contenders(context) else { return vec![self] };
        if contenders.is_empty() {
            return vec![self];
        }
        let standing = self.workload.labels().strategy.unwrap_or_default();
        let one = |Contender { strategy, workload }: Contender| Self {
            id: self.id.replacen(&format!("/{standing}"), &format!("/{strategy}"), 1),
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
        f.write_str(&clipped(&self.0))
    }
}

impl std::error::Error for ExperimentError {}

/// Keys of a grid that are not the action's.
const ACTION: &str = "action";
const JOB: &str = "job";
const RAMP: &str = "ramp_seconds";
const SAMPLE: &str = "sample_seconds";
const SYSTEM: &str = "system";

/// The systems that a grid can be limited to, by the names of [`std::env::consts::OS`].
const SYSTEMS: [&str; 4] = ["freebsd", "linux", "macos", "windows"];

/// Expands a grid into its trials: none if it is limited to another system. `{processors}` and `{directories}` in a text are replaced by their numbers.
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
        return Err(wrong(format!("{SYSTEM} {system:?} is none of {}", SYSTEMS.join(", "))));
    }
    let mut number = |key: &str| match grid.remove(key) {
        None => Ok(None),
        Some(Value::Float(seconds)) if seconds >= 0.0 => Ok(Some(seconds)),
        Some(Value::Integer(seconds)) if seconds >= 0 => Ok(Some(seconds as f64)),
        Some(other) => Err(wrong(format!("{key}: expected a number of seconds, found {other}"))),
    };
    let (ramp, sample) = (number(RAMP)?.unwrap_or(0.0), number(SAMPLE)?.filter(|seconds| *seconds > 0.0));
    let Some(action) = ACTIONS.iter().find(|action| action.name == name) else {
        let known: Vec<&str> = ACTIONS.iter().map(|action| action.name).collect();
        return Err(wrong(format!("action {name:?} is none of {}", known.join(", "))));
    };
    if !system.is_empty() && system != std::env::consts::OS {
        return Ok(Vec::new());
    }
    combinations(&grid)
        .into_iter()
        .map(|settings| {
            let settings = substitute(settings, processors, directories);
            let id = format!("{experiment}/{name}{}", id_suffix(&settings));
            let workload = (action.parse)(settings).map_err(|error| wrong(format!("{name}: {error}")))?;
            Ok(Trial { id, experiment: experiment.into(), job: job.clone(), ramp, sample, workload })
        })
        .collect()
}

/// Returns every combination of the lists; the first key varies slowest. An empty list counts as an absent key.
fn combinations(grid: &toml::Table) -> Vec<Settings> {
    // The strategy is the most interesting key, so trials of one strategy are adjacent.
    let mut keys: Vec<(&String, &Value)> = grid.iter().collect();
    keys.sort_by_key(|(key, _)| key.as_str() != "strategy");
    let mut all = vec![Settings::new()];
    for (key, value) in keys {
        let one = std::slice::from_ref(value);
        let values: &[Value] = if let Value::Array(values) = value { values } else { one };
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

fn substitute(settings: Settings, processors: usize, directories: usize) -> Settings {
    let fill = |value: Value| match value {
        Value::String(text) => Value::String(
            text.replace("{processors}", &processors.to_string())
                .replace("{directories}", &directories.to_string()),
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
