//! How several paths decide a rule: each votes for it, against it, or cannot tell.

use super::super::contrast::Contrast;
use super::super::witness::Witness;
use super::super::words::times;
use crate::document::RuleVerdict;
use crate::units;

/// What came of a rule.
pub(super) struct Outcome {
    pub(super) verdict: RuleVerdict,
    pub(super) evidence: String,
    pub(super) experiment: String,
    pub(super) cells: Vec<String>,
}

impl Outcome {
    /// A rule that these cells cannot decide.
    pub(super) fn not_testable(reason: impl Into<String>) -> Self {
        Self {
            verdict: RuleVerdict::NotTestable,
            evidence: reason.into(),
            experiment: String::new(),
            cells: Vec::new(),
        }
    }
}

/// One path's answer.
struct Vote<'a> {
    /// What was compared, without the figure.
    what: String,
    ratio: f64,
    cells: Vec<Witness<'a>>,
}

/// The votes.
pub(super) struct Ballot<'a> {
    threshold: f64,
    held: Vec<Vote<'a>>,
    failed: Vec<Vote<'a>>,
    open: Vec<Vote<'a>>,
}

impl<'a> Ballot<'a> {
    /// A ballot on whether ratios exceed `threshold`.
    pub(super) fn new(threshold: f64) -> Self {
        Self { threshold, held: Vec::new(), failed: Vec::new(), open: Vec::new() }
    }

    /// A path's ratio. It speaks for the rule when it reaches the threshold and the cells' intervals lie apart, against
    /// it when its whole interval lies below the threshold, and otherwise for neither.
    pub(super) fn cast(&mut self, found: &Contrast, what: String, cells: &[Witness<'a>]) {
        let exceeds = self.exceeds(found, cells);
        self.take(exceeds, found, what, cells);
    }

    /// The same for a rule that says the ratio does *not* exceed the threshold.
    pub(super) fn cast_against(&mut self, found: &Contrast, what: String, cells: &[Witness<'a>]) {
        let exceeds = self.exceeds(found, cells);
        self.take(exceeds.map(|exceeds| !exceeds), found, what, cells);
    }

    /// The same for a threshold below 1: reaching it is enough, being faster is not asked.
    pub(super) fn weigh(&mut self, found: &Contrast, what: String, cells: &[Witness<'a>]) {
        let sure = !cells.iter().any(Witness::is_thin);
        let reaches = match found.ratio {
            ratio if sure && ratio.low >= self.threshold => Some(true),
            ratio if sure && ratio.high < self.threshold => Some(false),
            _ => None,
        };
        self.take(reaches, found, what, cells);
    }

    fn exceeds(&self, found: &Contrast, cells: &[Witness<'a>]) -> Option<bool> {
        match () {
            () if cells.iter().any(Witness::is_thin) => None,
            () if found.clear() && found.more() && found.ratio.value >= self.threshold => Some(true),
            () if found.ratio.high <= self.threshold => Some(false),
            () => None,
        }
    }

    fn take(&mut self, vote: Option<bool>, found: &Contrast, what: String, cells: &[Witness<'a>]) {
        let side = match vote {
            Some(true) => &mut self.held,
            Some(false) => &mut self.failed,
            None => &mut self.open,
        };
        side.push(Vote { what, ratio: found.ratio.value, cells: cells.to_vec() });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty() && self.failed.is_empty() && self.open.is_empty()
    }

    /// Whether more speak against it than for it.
    pub(super) fn fails(&self) -> bool {
        self.failed.len() > self.held.len()
    }

    /// The majority decides. `asked` says what each path was asked, `none` why nobody voted.
    pub(super) fn outcome(mut self, asked: &str, none: &str) -> Outcome {
        if self.is_empty() {
            return Outcome::not_testable(none);
        }
        self.held.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
        self.failed.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
        let decided = self.held.len() + self.failed.len();
        let paths = |n: usize| units::count(n, "comparison");
        if decided == 0 {
            let mut outcome = Outcome::not_testable(format!(
                "Asked whether {asked}: in {} the intervals are too wide to tell ({}).",
                paths(self.open.len()),
                tell(&self.open)
            ));
            (outcome.experiment, outcome.cells) = rests_on(&self.open);
            return outcome;
        }
        let verdict = match self.held.len() > self.failed.len() {
            true => RuleVerdict::StillTrue,
            false => RuleVerdict::NoLongerTrue,
        };
        let mut evidence = format!("Asked whether {asked}: yes in {} of {}", self.held.len(), paths(decided));
        if !self.held.is_empty() {
            evidence.push_str(&format!(" ({})", tell(&self.held)));
        }
        if !self.failed.is_empty() {
            evidence.push_str(&format!("; no in {} ({})", self.failed.len(), tell(&self.failed)));
        }
        if !self.open.is_empty() {
            evidence.push_str(&format!("; {} cannot tell", paths(self.open.len())));
        }
        evidence.push('.');
        let (first, second) = match verdict {
            RuleVerdict::StillTrue => (self.held, self.failed),
            _ => (self.failed, self.held),
        };
        let (experiment, cells) = rests_on(&first.into_iter().chain(second).collect::<Vec<_>>());
        Outcome { verdict, evidence, experiment, cells }
    }
}

/// As many examples as a sentence bears.
const SHOWN: usize = 3;

fn tell(votes: &[Vote<'_>]) -> String {
    let mut told: Vec<String> =
        votes.iter().take(SHOWN).map(|v| format!("{}: {}", v.what, times(v.ratio))).collect();
    if votes.len() > SHOWN {
        told.push(format!("{} more", votes.len() - SHOWN));
    }
    told.join("; ")
}

/// The chapter of the first vote, and every cell that was looked at.
fn rests_on(votes: &[Vote<'_>]) -> (String, Vec<String>) {
    let mut cells: Vec<String> = Vec::new();
    for witness in votes.iter().flat_map(|v| &v.cells) {
        if !cells.contains(&witness.cell.id) {
            cells.push(witness.cell.id.clone());
        }
    }
    let first = votes.iter().find_map(|v| v.cells.first());
    (first.map(|w| w.cell.experiment.clone()).unwrap_or_default(), cells)
}
