//! A cell of an experiment's grid: labels, raw samples, summary.

use serde::{Deserialize, Serialize};

use super::labels::Labels;
use super::regime::Regime;
use super::sample::Sample;
use super::summary::{Summary, SummaryOptions, counted, regime_of, summarise};
use crate::stats::WarmUp;

/// One fully specified trial of an experiment and every sample taken of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Unique within the document.
    pub id: String,
    /// Experiment the cell belongs to (`read`, `write`, `depth`, `random`, `transform`, `memory` or another).
    pub experiment: String,
    /// Labels that identify the cell within its experiment.
    pub labels: Labels,
    /// Samples in the order in which they were taken, contradicted ones included.
    #[serde(default)]
    pub samples: Vec<Sample>,
    /// Summary of the usable samples; `None` if there are none.
    pub summary: Option<Summary>,
    /// Reason why the cell was not measured.
    pub skipped: Option<String>,
}

impl Cell {
    /// Creates a cell without samples.
    pub fn new(id: impl Into<String>, experiment: impl Into<String>, labels: Labels) -> Self {
        let (id, experiment) = (id.into(), experiment.into());
        Self { id, experiment, labels, samples: Vec::new(), summary: None, skipped: None }
    }

    /// Creates a cell that cannot be measured here.
    pub fn skipped(
        id: impl Into<String>,
        experiment: impl Into<String>,
        labels: Labels,
        reason: impl Into<String>,
    ) -> Self {
        Self { skipped: Some(reason.into()), ..Self::new(id, experiment, labels) }
    }

    /// Recomputes the summary from the samples.
    pub fn summarise(&mut self, options: &SummaryOptions) {
        self.summary = summarise(&self.samples, &self.labels, options);
    }

    /// Returns the rates of the samples that the summary counts (bytes per second), in order, without the first ones that
    /// it classifies as warm-up.
    pub fn rates(&self) -> Vec<f64> {
        let warming = self.summary.as_ref().and_then(|s| s.warm_up).map_or(0, WarmUp::left_out);
        let summarised = self.summary.as_ref().map(|s| s.regime);
        let regime = summarised.unwrap_or_else(|| regime_of(&self.samples, Regime::Sustained));
        let positions = counted(&self.samples, regime).into_iter().skip(warming);
        positions.map(|position| self.samples[position].rate()).collect()
    }
}
