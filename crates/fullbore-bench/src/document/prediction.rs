//! Predictions of cells by the model of the other cells.

use serde::{Deserialize, Serialize};

use crate::model::Limit;
use crate::stats::Estimate;

/// The throughput of a cell that the model of the other cells predicts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellPrediction {
    /// Id of the cell.
    pub cell: String,
    /// The path: work that the cells behind the prediction share.
    pub path: String,
    /// Predicted throughput in bytes per second, with an interval that a measurement falls into with 95% probability.
    pub rate: Estimate,
    /// The narrowest stage.
    pub limit: Limit,
    /// True if the other cells do not surround this one.
    pub extrapolated: bool,
    /// Measured throughput ÷ predicted throughput.
    pub ratio: f64,
    /// True if the intervals of measurement and prediction do not overlap and they differ by more than 15%.
    pub wrong: bool,
}
