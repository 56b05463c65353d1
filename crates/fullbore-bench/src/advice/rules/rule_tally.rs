//! The decision on a rule by several paths: each supports it, contradicts it, or is undecided.

use super::super::input::{EligibleCell, ids};
use super::super::words::{Ratio, speed, times};
use crate::document::{Rule, RuleVerdict};
use crate::units;

/// Returns a rule that these cells cannot decide, for this reason. The caller adds its number and its text.
pub(super) fn not_testable(reason: impl Into<String>) -> Rule {
    let (number, rule, experiment, cells) = Default::default();
    Rule { number, rule, verdict: RuleVerdict::NotTestable, evidence: reason.into(), experiment, cells }
}

struct Observation<'a> {
    /// The two compared cells in words, without the ratio.
    what: String,
    ratio: f64,
    cells: Vec<EligibleCell<'a>>,
}

pub(super) struct RuleTally<'a> {
    threshold: f64,
    supporting: Vec<Observation<'a>>,
    contradicting: Vec<Observation<'a>>,
    undecided: Vec<Observation<'a>>,
}

impl<'a> RuleTally<'a> {
    pub(super) fn new(threshold: f64) -> Self {
        let (supporting, contradicting, undecided) = Default::default();
        Self { threshold, supporting, contradicting, undecided }
    }

    /// [Adds](Self::add) the ratio of two cells' rates; false if they have none.
    pub(super) fn compare(
        &mut self,
        first: EligibleCell<'a>,
        second: EligibleCell<'a>,
        what: String,
    ) -> bool {
        let found = speed(first, second);
        found.iter().for_each(|found| self.add(found, what.clone(), &[first, second]));
        found.is_some()
    }

    /// Adds a path's ratio. It supports the rule if it reaches the threshold and the cells' intervals do not overlap,
    /// contradicts it if its whole interval is at or below the threshold, and is undecided otherwise.
    pub(super) fn add(&mut self, found: &Ratio, what: String, cells: &[EligibleCell<'a>]) {
        let exceeds = self.exceeds(found, cells);
        self.push_observation(exceeds, found, what, cells);
    }

    /// Adds a ratio for a rule by which it does *not* exceed the threshold.
    pub(super) fn add_upper_bound(&mut self, found: &Ratio, what: String, cells: &[EligibleCell<'a>]) {
        let exceeds = self.exceeds(found, cells);
        self.push_observation(exceeds.map(|exceeds| !exceeds), found, what, cells);
    }

    /// Adds a ratio for a threshold below 1: reaching it is enough.
    pub(super) fn add_reaching(&mut self, found: &Ratio, what: String, cells: &[EligibleCell<'a>]) {
        let sure = !cells.iter().any(EligibleCell::is_thin);
        let reaches = match found.estimate {
            ratio if sure && ratio.low >= self.threshold => Some(true),
            ratio if sure && ratio.high < self.threshold => Some(false),
            _ => None,
        };
        self.push_observation(reaches, found, what, cells);
    }

    fn exceeds(&self, found: &Ratio, cells: &[EligibleCell<'a>]) -> Option<bool> {
        match () {
            () if cells.iter().any(EligibleCell::is_thin) => None,
            () if found.is_clear() && found.is_greater() && found.estimate.value >= self.threshold => {
                Some(true)
            }
            () if found.estimate.high <= self.threshold => Some(false),
            () => None,
        }
    }

    fn push_observation(
        &mut self,
        supports: Option<bool>,
        found: &Ratio,
        what: String,
        cells: &[EligibleCell<'a>],
    ) {
        let list = match supports {
            Some(true) => &mut self.supporting,
            Some(false) => &mut self.contradicting,
            None => &mut self.undecided,
        };
        list.push(Observation { what, ratio: found.estimate.value, cells: cells.to_vec() });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.supporting.is_empty() && self.contradicting.is_empty() && self.undecided.is_empty()
    }

    /// True if more paths contradict the rule than support it.
    pub(super) fn fails(&self) -> bool {
        self.contradicting.len() > self.supporting.len()
    }

    /// Decides by majority. `question` is the tested statement, `none` the reason if there are no paths.
    pub(super) fn result(mut self, question: &str, none: &str) -> Rule {
        if self.is_empty() {
            return not_testable(none);
        }
        self.supporting.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
        self.contradicting.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
        let decided = self.supporting.len() + self.contradicting.len();
        let paths = |n: usize| units::count(n, "comparison");
        if decided == 0 {
            let mut result = not_testable(format!(
                "Tested: {question}: undecided, intervals too wide in {} ({}).",
                paths(self.undecided.len()),
                examples(&self.undecided)
            ));
            (result.experiment, result.cells) = rests_on(&self.undecided);
            return result;
        }
        let verdict = match self.supporting.len() > self.contradicting.len() {
            true => RuleVerdict::StillTrue,
            false => RuleVerdict::NoLongerTrue,
        };
        let mut evidence =
            format!("Tested: {question}: yes in {} of {}", self.supporting.len(), paths(decided));
        if !self.supporting.is_empty() {
            evidence.push_str(&format!(" ({})", examples(&self.supporting)));
        }
        if !self.contradicting.is_empty() {
            let count = self.contradicting.len();
            evidence.push_str(&format!("; no in {count} ({})", examples(&self.contradicting)));
        }
        if !self.undecided.is_empty() {
            evidence.push_str(&format!("; {} undecided", paths(self.undecided.len())));
        }
        evidence.push('.');
        let (first, second) = match verdict {
            RuleVerdict::StillTrue => (self.supporting, self.contradicting),
            _ => (self.contradicting, self.supporting),
        };
        let (experiment, cells) = rests_on(&first.into_iter().chain(second).collect::<Vec<_>>());
        Rule { verdict, experiment, cells, ..not_testable(evidence) }
    }
}

const SHOWN: usize = 3;

fn examples(observations: &[Observation<'_>]) -> String {
    let mut texts: Vec<String> =
        observations.iter().take(SHOWN).map(|v| format!("{}: {}", v.what, times(v.ratio))).collect();
    if observations.len() > SHOWN {
        texts.push(format!("{} more", observations.len() - SHOWN));
    }
    texts.join("; ")
}

/// The chapter of the first observation, and the cells of all.
fn rests_on(observations: &[Observation<'_>]) -> (String, Vec<String>) {
    let cells = ids(observations.iter().flat_map(|v| &v.cells));
    let first = observations.iter().find_map(|v| v.cells.first());
    (first.map(|w| w.cell.experiment.clone()).unwrap_or_default(), cells)
}
