//! The storage pipeline: what each stage is advertised to do, and what it really does (figure 1 of 1997).

use serde::{Deserialize, Serialize};

use crate::stats::Estimate;

/// The stages from the application's memory to the device, the nearest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Pipeline {
    /// The stages.
    pub stages: Vec<Stage>,
}

/// A stage of the pipeline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// `memory`, `page cache`, `file system`, `link`, `device`.
    pub name: String,
    /// What it is here, such as `PCIe 4.0 x4`.
    pub what: String,
    /// Peak advertised performance, bytes a second, where anything advertises one.
    pub advertised: Option<f64>,
    /// Where that figure comes from.
    pub advertised_by: String,
    /// Real application performance through this stage, bytes a second.
    pub real: Option<Estimate>,
    /// Id of the cell that measured it.
    pub cell: Option<String>,
}
