//! Recommendations for this machine, a strategy for each kind of job, and verdicts on the rules of the paper of 1997.

use serde::{Deserialize, Serialize};

use crate::stats::Estimate;
use crate::units;

/// A recommendation with its evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// The recommendation with its figures, in a sentence.
    pub text: String,
    /// The comparison that supports it, in a sentence.
    pub evidence: String,
    /// Experiment whose chapter shows the evidence.
    pub experiment: String,
    /// Ids of the cells that support it.
    pub cells: Vec<String>,
    /// Confidence in it.
    pub confidence: Confidence,
    /// Factor between following it and not, at least 1.
    pub worth: f64,
    /// Command or calls to type, if there is one line of them.
    pub setting: Option<String>,
    /// True for the entries, at most seven, that reports show first.
    #[serde(default)]
    pub lead: bool,
}

/// Confidence in a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// Intervals overlap, samples are few, or cold reads are unproved.
    Low,
    /// Intervals do not overlap; some cell is imprecise or its cache state unproved.
    Medium,
    /// Intervals do not overlap; every cell is precise and proved.
    High,
}

/// A rule of the paper, tested again here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// Number in the list of the paper's section 6, from 1.
    pub number: u8,
    /// The rule, in our own words.
    pub rule: String,
    /// Verdict of the test.
    pub verdict: RuleVerdict,
    /// Figures that support the verdict, in a sentence; for a rule that was not tested, the reason.
    pub evidence: String,
    /// Experiment whose chapter shows the evidence; empty if none.
    #[serde(default)]
    pub experiment: String,
    /// Ids of the cells that support the verdict.
    #[serde(default)]
    pub cells: Vec<String>,
}

/// Verdict on a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RuleVerdict {
    /// The rule still holds here.
    StillTrue,
    /// The rule no longer holds here.
    NoLongerTrue,
    /// This run or this machine cannot test the rule.
    NotTestable,
}

impl RuleVerdict {
    /// Returns the verdict's words in the report.
    pub fn words(self) -> &'static str {
        match self {
            Self::StillTrue => "still true",
            Self::NoLongerTrue => "no longer true",
            Self::NotTestable => "not testable here",
        }
    }
}

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

impl RateUnit {
    pub(crate) fn rate(self, per_second: f64) -> String {
        match self {
            Self::Bytes => units::rate(per_second),
            Self::Requests => units::requests_rate(per_second),
        }
    }

    /// Formats a quantity: `2.00 GB`, `400 k requests`.
    pub(crate) fn quantity(self, count: f64) -> String {
        let text = self.rate(count);
        let bare = text.trim_end_matches("/s").trim_end();
        match self {
            Self::Bytes => bare.to_owned(),
            Self::Requests => format!("{bare} requests"),
        }
    }
}
