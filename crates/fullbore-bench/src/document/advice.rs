//! Recommendations for this machine, and verdicts on the rules of the paper of 1997.

use serde::{Deserialize, Serialize};

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
    /// Intervals overlap, or cells are few or imprecise.
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
