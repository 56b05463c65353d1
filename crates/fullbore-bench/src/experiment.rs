//! Experiments as data: grids of trials, read from TOML.

use std::fmt;

use fullbore::size;
use serde::Deserialize;

use crate::document::{Axis, CacheState, Experiment, Figure, Then};

/// The quick run.
pub const QUICK: &str = include_str!("../experiments/quick.toml");

/// What a trial does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Reads a range of a file.
    Read,
    /// Writes over a range of an existing file.
    Write,
    /// Brings a file through an operation to another.
    Transform,
    /// Copies from memory to memory.
    Memory,
}

/// Where a transformation's output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// Over the blocks of an existing file.
    #[default]
    Existing,
    /// To a new file.
    New,
}

/// In which order a trial's requests are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum TrialOrder {
    /// From front to back.
    #[default]
    Sequential,
    /// Each block at most once, all over the file.
    Random,
}

/// One fully specified run.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// Unique within the run.
    pub id: String,
    /// The experiment it belongs to.
    pub experiment: String,
    /// What it does.
    pub action: Action,
    /// The kind of job its strategy competes for; empty: none.
    pub job: String,
    /// The strategy, as `--strategy` takes it.
    pub strategy: String,
    /// The cache state it wants; `None` if it passes by the cache or makes the data itself.
    pub cache: Option<CacheState>,
    /// The order of its requests.
    pub order: TrialOrder,
    /// The operation of a transformation.
    pub operation: String,
    /// Where a transformation's output goes.
    pub target: Target,
    /// How long the same requests run before the clock starts, in seconds: what a device gives at first, out of
    /// a cache or a credit, is not what it goes on giving.
    pub ramp: f64,
    /// How long a sample takes, in seconds; `None`: as the time of the run allows.
    pub sample: Option<f64>,
}

/// What is wrong with a file of experiments.
#[derive(Debug)]
pub struct ExperimentError(String);

impl fmt::Display for ExperimentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ExperimentError {}

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
    note: String,
    axis: Axis,
    #[serde(default)]
    question: String,
    #[serde(default)]
    then: Vec<Then>,
    #[serde(default)]
    figures: Vec<Figure>,
    grid: Vec<Grid>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Grid {
    action: Action,
    #[serde(default)]
    job: String,
    #[serde(default)]
    strategy: Vec<String>,
    #[serde(default)]
    request: Vec<String>,
    #[serde(default)]
    depth: Vec<u32>,
    #[serde(default)]
    cache: Vec<CacheState>,
    #[serde(default)]
    order: TrialOrder,
    #[serde(default)]
    operation: String,
    #[serde(default)]
    output: Target,
    #[serde(default)]
    ramp_seconds: f64,
    sample_seconds: Option<f64>,
}

/// Reads a file of experiments for a machine with so many processors. Returns how the figures are described, and
/// the trials, none of them twice.
///
/// # Errors
/// If the text is no such file, with the place.
pub fn parse(text: &str, processors: usize) -> Result<(Vec<Experiment>, Vec<Trial>), ExperimentError> {
    let document: Document = toml::from_str(text).map_err(|error| ExperimentError(error.to_string()))?;
    let mut described = Vec::new();
    let mut trials: Vec<Trial> = Vec::new();
    for experiment in document.experiment {
        for grid in &experiment.grid {
            for trial in expand(&experiment.name, grid, processors)? {
                if trials.iter().all(|known| known.id != trial.id) {
                    trials.push(trial);
                }
            }
        }
        described.push(Experiment {
            name: experiment.name,
            title: experiment.title,
            note: experiment.note,
            axis: experiment.axis,
            question: experiment.question,
            then: experiment.then,
            figures: experiment.figures,
        });
    }
    Ok((described, trials))
}

/// Every combination of a grid's lists.
fn expand(experiment: &str, grid: &Grid, processors: usize) -> Result<Vec<Trial>, ExperimentError> {
    for request in &grid.request {
        size::parse(request).map_err(|error| ExperimentError(format!("experiment {experiment}: {error}")))?;
    }
    let (requests, depths, caches) = (or_none(&grid.request), or_none(&grid.depth), or_none(&grid.cache));
    let strategies = if grid.strategy.is_empty() { vec!["auto".to_owned()] } else { grid.strategy.clone() };
    let mut trials = Vec::new();
    for strategy in &strategies {
        for request in &requests {
            for depth in &depths {
                for &cache in &caches {
                    let mut strategy = strategy.replace("{processors}", &processors.to_string());
                    if let Some(request) = request {
                        strategy.push_str(&format!(",request={request}"));
                    }
                    if let Some(depth) = depth {
                        strategy.push_str(&format!(",depth={depth}"));
                    }
                    trials.push(trial(experiment, grid, strategy, cache));
                }
            }
        }
    }
    Ok(trials)
}

/// A list's values, or once nothing.
fn or_none<T: Clone>(list: &[T]) -> Vec<Option<T>> {
    if list.is_empty() { vec![None] } else { list.iter().cloned().map(Some).collect() }
}

fn trial(experiment: &str, grid: &Grid, strategy: String, cache: Option<CacheState>) -> Trial {
    let action = match (grid.action, grid.output) {
        (Action::Read, _) => "read",
        (Action::Write, _) => "write",
        (Action::Transform, Target::New) => "transform-new",
        (Action::Transform, Target::Existing) => "transform",
        (Action::Memory, _) => "memory",
    };
    let state = cache.map_or(String::new(), |cache| format!("/{}", cache.word()));
    Trial {
        id: format!("{experiment}/{action}/{strategy}{state}"),
        experiment: experiment.to_owned(),
        action: grid.action,
        job: grid.job.clone(),
        strategy,
        cache,
        order: grid.order,
        operation: grid.operation.clone(),
        target: grid.output,
        ramp: grid.ramp_seconds.max(0.0),
        sample: grid.sample_seconds.filter(|seconds| *seconds > 0.0),
    }
}

#[cfg(test)]
mod tests {
    use fullbore::operation::{self, Kernel};
    use fullbore::strategy::{Job, Wish};

    use super::*;

    #[test]
    fn a_grid_is_every_combination_of_its_lists() {
        let text = "
            [[experiment]]
            name = 'a'
            title = 'A'
            axis = 'none'
            [[experiment.grid]]
            action = 'read'
            strategy = ['method=buffered,workers={processors}', 'method=mmap']
            request = ['4K', '1M']
            cache = ['warm', 'cold']
        ";
        let (described, trials) = parse(text, 3).unwrap();
        assert_eq!(described[0].title, "A");
        assert_eq!(trials.len(), 8);
        assert_eq!(trials[0].strategy, "method=buffered,workers=3,request=4K");
        assert_eq!(trials[0].cache, Some(CacheState::Warm));
    }

    #[test]
    fn every_trial_of_the_quick_run_can_be_asked_for() {
        for processors in [1, 2, 64] {
            let (_, trials) = parse(QUICK, processors).unwrap();
            for trial in &trials {
                trial.strategy.parse::<Wish>().unwrap_or_else(|error| panic!("{}: {error}", trial.id));
                if trial.action == Action::Transform {
                    operation::parse(&trial.operation, Kernel::Simd).unwrap();
                }
                if let (false, Some(cache)) = (trial.job.is_empty(), trial.cache) {
                    format!("{}, {}", trial.job, cache.word()).parse::<Job>().unwrap();
                }
            }
        }
    }

    #[test]
    fn mistakes_are_named() {
        assert!(
            parse("[[experiment]]\nname='a'\ntitle='A'\naxis='none'\ncolour='red'\ngrid=[]", 1)
                .unwrap_err()
                .to_string()
                .contains("colour")
        );
        let text = "[[experiment]]\nname='a'\ntitle='A'\naxis='none'\n[[experiment.grid]]\naction='read'\nrequest=['4 floppies']";
        assert!(parse(text, 1).unwrap_err().to_string().contains("floppies"));
    }
}
