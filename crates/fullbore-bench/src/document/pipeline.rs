//! The storage pipeline: advertised and measured throughput of each stage (figure 1 of Riedel, van Ingen and Gray,
//! 1997).

use serde::{Deserialize, Serialize};

use crate::stats::Estimate;

/// The stages from the application's memory to the device.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Pipeline {
    /// The stages, nearest to the application first.
    pub stages: Vec<Stage>,
}

/// A stage of the pipeline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// `memory`, `page cache`, `file system`, `link`, `device`.
    pub name: String,
    /// The hardware or software of the stage, such as `PCIe 4.0 x4`.
    pub what: String,
    /// Peak advertised performance in bytes per second, if known.
    pub advertised: Option<f64>,
    /// Source of the advertised figure.
    pub advertised_by: String,
    /// Real application performance through the stage, in bytes per second.
    pub real: Option<Estimate>,
    /// Id of the cell that measured it.
    pub cell: Option<String>,
}
