//! A trial, and the error of a file that describes none.

use std::fmt;

use fullbore::quote::clipped;

use crate::action::{Contender, RunContext, Workload};

/// One fully specified run.
#[derive(Debug)]
pub(crate) struct Trial {
    /// Unique within the run.
    pub(crate) id: String,
    /// The experiment it belongs to.
    pub(crate) experiment: String,
    /// Kind of job that its strategy competes for; empty: none.
    pub(crate) job: String,
    /// Seconds for which the same requests run before the clock starts, to exclude a device's burst from a cache or a
    /// credit.
    pub(crate) ramp: f64,
    /// Seconds per sample; `None`: as the time of the run allows.
    pub(crate) sample: Option<f64>,
    /// The work of the trial.
    pub(crate) workload: Box<dyn Workload>,
}

impl Trial {
    /// Replaces a trial that stands for all contenders of the planner by one for each. If there are none, or they cannot
    /// be determined, it remains, and its cell states the reason.
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
