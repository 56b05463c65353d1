//! A candidate line of advice: the ratio that it rests on, its topic and its rank.

use super::input::{EligibleCell, ids};
use super::words::{CHEAPER, Ratio, cost, cost_beside, speed, times, with_interval};
use crate::document::{Advice, Confidence};
use crate::report::spanned;
use crate::units;

/// The ratio of the rates of two cells, each with its name in the evidence.
pub(super) struct NamedRatio<'a> {
    pub(super) first: (String, EligibleCell<'a>),
    pub(super) second: (String, EligibleCell<'a>),
    pub(super) found: Ratio,
}

impl<'a> NamedRatio<'a> {
    /// Returns the rate of `first` ÷ that of `second`; `None` if there is no ratio.
    pub(super) fn of(
        first: (impl Into<String>, EligibleCell<'a>),
        second: (impl Into<String>, EligibleCell<'a>),
    ) -> Option<Self> {
        let found = speed(first.1, second.1)?;
        let (first, second) = ((first.0.into(), first.1), (second.0.into(), second.1));
        Some(Self { first, second, found })
    }

    /// Returns the ratio as [`of`](Self::of) does, but only if the first is significantly faster.
    pub(super) fn faster(
        first: (impl Into<String>, EligibleCell<'a>),
        second: (impl Into<String>, EligibleCell<'a>),
    ) -> Option<Self> {
        Self::of(first, second).filter(|ratio| ratio.found.is_greater())
    }

    pub(super) fn rate(&self) -> String {
        units::rate(self.first.1.rate())
    }

    pub(super) fn times(&self) -> String {
        times(self.found.estimate.value)
    }

    /// Rate and ratio: `2.64 GB/s, 3.60× as fast as buffered`.
    pub(super) fn gain(&self) -> String {
        format!("{}, {} as fast as {}", self.rate(), self.times(), self.second.0)
    }

    /// The CPU time of the first as a share of that of the second, if significant: ` at 50% of the CPU time`.
    pub(super) fn at_cost(&self) -> String {
        cost_beside("at", cost(self.first.1, self.second.1))
    }

    /// The CPU time of the second as a share of that of the first, if significant: ` and 2.10× the CPU time`.
    pub(super) fn and_cost(&self) -> String {
        cost_beside("and", cost(self.second.1, self.first.1))
    }

    pub(super) fn evidence(&self) -> String {
        let side = |(name, eligible): &(String, EligibleCell<'_>)| {
            format!("{name}: {}", spanned(eligible.summary.rate, units::rate))
        };
        let (first, second) = (side(&self.first), side(&self.second));
        format!("{first}; {second}; ratio {}.", with_interval(&self.found))
    }

    /// Creates advice that gains the factor of the ratio, based on both cells and `more`.
    pub(super) fn candidate(
        &self,
        more: impl IntoIterator<Item = EligibleCell<'a>>,
        topic: impl Into<String>,
        text: String,
    ) -> Candidate {
        let cells: Vec<_> = [self.first.1, self.second.1].into_iter().chain(more).collect();
        Candidate::new(topic, &self.found, &cells, self.found.estimate.value, text, self.evidence())
    }

    /// Advice that `more` takes significantly more CPU time than `less`; `text` receives the factor.
    pub(super) fn cpu_higher(
        &self,
        (more, less): (EligibleCell<'a>, EligibleCell<'a>),
        topic: String,
        text: impl FnOnce(String) -> String,
    ) -> Option<Candidate> {
        let found = cost(more, less)?;
        let worth = found.estimate.value;
        (found.is_clear() && worth * CHEAPER >= 1.0)
            .then(|| Candidate::new(topic, &found, &[less, more], worth, text(times(worth)), self.evidence()))
    }
}

/// Advice with its topic; of two with the same topic only the one with the higher confidence remains.
pub(super) struct Candidate {
    pub(super) topic: String,
    pub(super) advice: Advice,
}

impl Candidate {
    /// A candidate based on `ratio` between some of `eligible_cells`, the first of which determines the chapter.
    pub(super) fn new(
        topic: impl Into<String>,
        ratio: &Ratio,
        eligible_cells: &[EligibleCell<'_>],
        worth: f64,
        text: String,
        evidence: String,
    ) -> Self {
        Self::with(topic, ratio.confidence(eligible_cells), eligible_cells, worth, text, evidence)
    }

    /// Creates a candidate whose confidence does not follow from a ratio.
    pub(super) fn with(
        topic: impl Into<String>,
        confidence: Confidence,
        eligible_cells: &[EligibleCell<'_>],
        worth: f64,
        text: String,
        evidence: String,
    ) -> Self {
        let cells = ids(eligible_cells);
        let experiment = eligible_cells.first().map(|w| w.cell.experiment.clone()).unwrap_or_default();
        let worth = if worth.is_finite() { worth.max(1.0) } else { 1.0 };
        let (setting, lead) = (None, false);
        let advice = Advice { text, evidence, experiment, cells, confidence, worth, setting, lead };
        Self { topic: topic.into(), advice }
    }

    fn outranks(&self, other: &Self) -> bool {
        let (a, b) = (&self.advice, &other.advice);
        a.confidence.cmp(&b.confidence).then(a.worth.total_cmp(&b.worth)).is_gt()
    }
}

/// The rank of an advisor's advice: common defaults first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Audience {
    /// Users of a common default: it may lead.
    Defaults,
    /// Users with the condition that an experiment tested, such as several disks: it may lead.
    Conditions,
    Details,
}

/// The largest number of entries that lead.
const LEADING: usize = 7;

/// The most certain candidate of each topic; those that lead first, low confidence last, then by descending gain.
pub(super) fn ranked(candidates: Vec<(Audience, Candidate)>) -> Vec<Advice> {
    let mut best: Vec<(Audience, Candidate)> = Vec::new();
    for (audience, candidate) in candidates {
        match best.iter_mut().find(|(_, known)| known.topic == candidate.topic) {
            Some((_, known)) if candidate.outranks(known) => *known = candidate,
            Some(_) => {}
            None => best.push((audience, candidate)),
        }
    }
    best.sort_by(|(one, a), (other, b)| {
        let (a, b) = (&a.advice, &b.advice);
        let doubtful = |advice: &Advice| advice.confidence == Confidence::Low;
        let surer = doubtful(a).cmp(&doubtful(b)).then(one.cmp(other));
        surer.then(b.worth.total_cmp(&a.worth)).then(b.confidence.cmp(&a.confidence))
    });
    let leads = |(place, (audience, Candidate { advice, .. })): (usize, (Audience, Candidate))| Advice {
        lead: place < LEADING && audience != Audience::Details && advice.confidence != Confidence::Low,
        ..advice
    };
    best.into_iter().enumerate().map(leads).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_lead_and_low_confidence_ranks_last() {
        let candidate = |topic: &str, confidence, worth| {
            Candidate::with(topic, confidence, &[], worth, topic.into(), String::new())
        };
        let details = |text, confidence, worth| (Audience::Details, candidate(text, confidence, worth));
        let mut candidates = vec![
            details("doubtful", Confidence::Low, 9.0),
            details("fair", Confidence::Medium, 2.0),
            details("sure", Confidence::High, 2.0),
            details("more", Confidence::Medium, 3.0),
            details("more", Confidence::High, 2.5),
        ];
        let texts = |candidates| -> Vec<(String, bool)> {
            ranked(candidates).into_iter().map(|advice| (advice.text, advice.lead)).collect()
        };
        let named = |names: &[&str], lead| -> Vec<(String, bool)> {
            names.iter().map(|name| ((*name).to_owned(), lead)).collect()
        };
        assert_eq!(texts(candidates), named(&["more", "sure", "fair", "doubtful"], false));
        let several = |audience, names: [&str; 5]| {
            names.map(|name| (audience, candidate(name, Confidence::High, 1.5))).into_iter()
        };
        candidates = several(Audience::Details, ["d1", "d2", "d3", "d4", "d5"])
            .chain(several(Audience::Conditions, ["c1", "c2", "c3", "c4", "c5"]))
            .chain(several(Audience::Defaults, ["a1", "a2", "a3", "a4", "a5"]))
            .collect();
        let expected = [
            named(&["a1", "a2", "a3", "a4", "a5", "c1", "c2"], true),
            named(&["c3", "c4", "c5", "d1", "d2", "d3", "d4", "d5"], false),
        ];
        assert_eq!(texts(candidates), expected.concat());
        let doubtful = vec![(Audience::Defaults, candidate("doubtful", Confidence::Low, 9.0))];
        assert_eq!(texts(doubtful), named(&["doubtful"], false));
    }
}
