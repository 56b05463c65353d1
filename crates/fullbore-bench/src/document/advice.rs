//! What to do on this machine, and what became of the rules of 1997.

use serde::{Deserialize, Serialize};

/// One line of advice, with what it rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// What to do, with the figures that say why, in a sentence.
    pub text: String,
    /// Why it is believed: what was compared with what, in a sentence.
    pub evidence: String,
    /// Experiment whose chapter shows it.
    pub experiment: String,
    /// Ids of the cells it rests on.
    pub cells: Vec<String>,
    /// How sure it is.
    pub confidence: Confidence,
    /// What following it is worth: the factor between doing and not doing it, 1 or more. The list is ranked by it, with what is
    /// of low confidence behind the rest.
    pub worth: f64,
}

/// How sure a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// Intervals overlap, or cells are few or imprecise.
    Low,
    /// Intervals lie apart, some cell is imprecise or its cache state unproved.
    Medium,
    /// Intervals lie apart and every cell is precise and proved.
    High,
}

/// A rule of the paper, tested again here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// Its number in the list of the paper's section 6, from 1.
    pub number: u8,
    /// The rule, in a sentence of our own.
    pub rule: String,
    /// Whether it holds here.
    pub verdict: RuleVerdict,
    /// With which figures, in a sentence; of a rule that could not be tested, why.
    pub evidence: String,
    /// Experiment whose chapter shows it; empty if none.
    #[serde(default)]
    pub experiment: String,
    /// Ids of the cells it rests on.
    #[serde(default)]
    pub cells: Vec<String>,
}

/// What became of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RuleVerdict {
    /// It still holds here.
    StillTrue,
    /// It does not hold here any more.
    NoLongerTrue,
    /// This run or this machine cannot tell.
    NotTestable,
}

impl RuleVerdict {
    /// The words for it.
    pub fn words(self) -> &'static str {
        match self {
            Self::StillTrue => "still true",
            Self::NoLongerTrue => "no longer true",
            Self::NotTestable => "not testable here",
        }
    }
}
