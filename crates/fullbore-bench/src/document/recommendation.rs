//! Recommendations: a strategy for each kind of job.

use serde::{Deserialize, Serialize};

use crate::stats::Estimate;
use crate::units;

/// The strategy to use for a kind of job, as the box *Use this* shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recommendation {
    /// Kind of job.
    pub job: JobKind,
    /// Source or destination of the bytes, such as `from the device`.
    pub place: String,
    /// Method, request size, depth and workers, in words.
    pub method: String,
    /// Command of fullbore that does it; `None` if there is none.
    pub command: Option<String>,
    /// Command or calls that do the same without fullbore; `None` if there are none.
    pub plain: Option<String>,
    /// Id of the cell that measured it.
    pub cell: String,
    /// Throughput in `unit` per second.
    pub rate: Estimate,
    /// The unit that the rate counts.
    pub unit: RateUnit,
    /// The fastest strategy, if another one: less than 5% faster, and less simple.
    pub no_difference_from: Option<String>,
}

/// Kind of job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobKind {
    /// Reading a large file from start to end.
    BulkRead,
    /// Writing a large file from start to end.
    BulkWrite,
    /// Copying a file.
    Copy,
    /// Reading pages at random offsets.
    RandomReads,
    /// Reading many small files.
    SmallFiles,
    /// Appending records, each on the device before the next.
    Append,
}

impl JobKind {
    /// All kinds, in the order of the report.
    pub const ALL: [Self; 6] =
        [Self::BulkRead, Self::BulkWrite, Self::Copy, Self::RandomReads, Self::SmallFiles, Self::Append];

    /// Returns the kind's name in reports.
    pub fn words(self) -> &'static str {
        match self {
            Self::BulkRead => "bulk read",
            Self::BulkWrite => "bulk write",
            Self::Copy => "copy",
            Self::RandomReads => "random reads",
            Self::SmallFiles => "many small files",
            Self::Append => "append with fsync",
        }
    }
}

/// Unit that a rate counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RateUnit {
    /// Bytes.
    Bytes,
    /// Requests, records or files.
    Requests,
}

impl Recommendation {
    /// Formats a rate in the unit: `3.12 GB/s`, `20.9 k/s`.
    pub(crate) fn rate_text(&self, rate: f64) -> String {
        match self.unit {
            RateUnit::Bytes => units::rate(rate),
            RateUnit::Requests => units::requests_rate(rate),
        }
    }
}
