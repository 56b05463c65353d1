//! Experiments as data: grids of trials, read from TOML.
//!
//! A file of experiments is a set: its trials are measured in interleaved rounds. An experiment has a name, a title, a
//! question, the findings of the reference documents, the axis and the figures of its chapter, and grids. A grid is
//! every combination of its lists; each combination is the settings of one trial of an action, as `docs/experiments.md`
//! lists them.

mod built_in;
mod grid;

use serde::Deserialize;

pub use built_in::{BUILT_IN, QUICK, Set, built_in};
pub use grid::ExperimentError;
pub(crate) use grid::Trial;

use crate::document::{Axis, EarlierFinding, Experiment, Figure};

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

/// Parses a set for so many processors and directories: the descriptions of its experiments, and the trials without
/// duplicates; an error has the position.
pub(crate) fn parse(
    text: &str,
    processors: usize,
    directories: usize,
) -> Result<(Vec<Experiment>, Vec<Trial>), ExperimentError> {
    let document: Document = toml::from_str(text).map_err(|error| ExperimentError(error.to_string()))?;
    let mut described = Vec::new();
    let mut trials: Vec<Trial> = Vec::new();
    for experiment in document.experiment {
        for one in &experiment.grid {
            for trial in grid::expand(&experiment.name, one, processors, directories)? {
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

/// Returns the experiments of a set and the number of trials of each on this machine.
///
/// # Errors
/// If the text is not a set, with the position.
pub fn describe(text: &str) -> Result<Vec<(Experiment, usize)>, ExperimentError> {
    let (described, trials) = parse(text, fullbore::probe::processors(), 1)?;
    let count = |name: &str| trials.iter().filter(|trial| trial.experiment == name).count();
    Ok(described
        .into_iter()
        .map(|experiment| {
            let trials = count(&experiment.name);
            (experiment, trials)
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use fullbore::strategy::Job;

    use super::*;
    use crate::document::CacheState;

    #[test]
    fn a_grid_expands_to_every_combination_of_its_lists() {
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
        let (described, trials) = parse(text, 3, 1).unwrap();
        assert_eq!(described[0].title, "A");
        assert_eq!(trials.len(), 8);
        let labels = trials[0].workload.labels();
        assert_eq!(labels.strategy.as_deref(), Some("method=buffered,workers=3,request=4K"));
        assert_eq!(labels.cache, Some(CacheState::Warm));
        assert_eq!(labels.workers, Some(3));
    }

    #[test]
    fn a_grid_can_be_limited_to_a_system() {
        let trials = |system: &str| {
            let text = format!(
                "[[experiment]]\nname='a'\ntitle='A'\naxis='none'\n\
                 [[experiment.grid]]\naction='read'\nsystem='{system}'\nrequest=['4K', '1M']"
            );
            parse(&text, 1, 1).unwrap().1.len()
        };
        let systems = ["freebsd", "linux", "macos", "windows"];
        assert_eq!(systems.map(trials).iter().sum::<usize>(), 2);
        assert_eq!(trials(std::env::consts::OS), 2);
    }

    #[test]
    fn every_built_in_trial_parses() {
        for set in BUILT_IN {
            for (processors, directories) in [(1, 1), (2, 4), (64, 1)] {
                let (described, trials) = parse(set.text, processors, directories)
                    .unwrap_or_else(|error| panic!("{}: {error}", set.name));
                assert!(!trials.is_empty(), "{}", set.name);
                for trial in &trials {
                    if let (false, Some(cache)) = (trial.job.is_empty(), trial.workload.labels().cache) {
                        format!("{}, {}", trial.job, cache.word()).parse::<Job>().unwrap();
                    }
                }
                for experiment in described {
                    assert!(!experiment.question.is_empty() || set.name == "quick", "{}", experiment.name);
                }
            }
        }
    }

    #[test]
    fn errors_name_the_key() {
        let error = |text: &str| parse(text, 1, 1).unwrap_err().to_string();
        assert!(
            error("[[experiment]]\nname='a'\ntitle='A'\naxis='none'\ncolour='red'\ngrid=[]")
                .contains("colour")
        );
        let grid = |settings: &str| {
            error(&format!(
                "[[experiment]]\nname='a'\ntitle='A'\naxis='none'\n[[experiment.grid]]\n{settings}"
            ))
        };
        assert!(grid("action='read'\nrequest=['4 floppies']").contains("floppies"));
        assert!(grid("action='read'\nspeed='high'").contains("speed"));
        assert!(grid("action='juggle'").contains("juggle"));
        assert!(grid("action='read'\nsystem='minix'").contains("minix"));
        assert!(grid("request='4K'").contains("action"));
    }
}
