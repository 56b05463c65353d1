//! Predictions of cells by the model of the other cells.

use serde::{Deserialize, Serialize};

use crate::stats::Estimate;

/// The narrowest stage of a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// CPU time of requests: fewer and larger ones help.
    Processor,
    /// CPU time of bytes: copies from and to memory.
    Memory,
    /// The time of a request on its path, at the device: more in flight help.
    Latency,
    /// The transfer of a request's own bytes: more in flight help.
    Transfer,
    /// The device's requests per second.
    DeviceRequests,
    /// The device's bytes per second.
    DeviceBandwidth,
    /// The bytes per second that all disks share.
    Bus,
}

impl Limit {
    /// Returns the stage in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Processor => "CPU time of requests",
            Self::Memory => "memory copy",
            Self::Latency => "time of a request (more in flight help)",
            Self::Transfer => "transfer of one request (more in flight help)",
            Self::DeviceRequests => "requests per second of the device",
            Self::DeviceBandwidth => "bandwidth of the device",
            Self::Bus => "bus shared by the disks",
        }
    }
}

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
