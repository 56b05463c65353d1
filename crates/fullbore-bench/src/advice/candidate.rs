//! A candidate line of advice: the ratio that it rests on, its topic and its rank.

use super::input::{AdviceInput, EligibleCell};
use super::ratio::{Ratio, cost, speed};
use super::words::{against, cost_beside, times};
use crate::document::{Advice, Confidence};
use crate::stats::Bootstrap;
use crate::units;

/// The ratio of the rates of two cells, each with its name in the evidence.
pub(super) struct NamedRatio<'a> {
    pub(super) first: (String, EligibleCell<'a>),
    pub(super) second: (String, EligibleCell<'a>),
    pub(super) found: Ratio,
    bootstrap: &'a Bootstrap,
}

impl<'a> NamedRatio<'a> {
    /// The rate of `first` ÷ that of `second`.
    pub(super) fn of(
        first: (impl Into<String>, EligibleCell<'a>),
        second: (impl Into<String>, EligibleCell<'a>),
        input: &AdviceInput<'a>,
    ) -> Option<Self> {
        let found = speed(first.1, second.1, input.bootstrap)?;
        let (first, second) = ((first.0.into(), first.1), (second.0.into(), second.1));
        Some(Self { first, second, found, bootstrap: input.bootstrap })
    }

    /// The same, if the first is significantly faster.
    pub(super) fn faster(
        first: (impl Into<String>, EligibleCell<'a>),
        second: (impl Into<String>, EligibleCell<'a>),
        input: &AdviceInput<'a>,
    ) -> Option<Self> {
        Self::of(first, second, input).filter(|ratio| ratio.found.is_greater())
    }

    /// The rate of the first: `2.64 GB/s`.
    pub(super) fn rate(&self) -> String {
        units::rate(self.first.1.rate())
    }

    /// The ratio: `3.60×`.
    pub(super) fn times(&self) -> String {
        times(self.found.estimate.value)
    }

    /// The CPU time of the first as a share of that of the second, if significant: ` at 50% of the CPU time`.
    pub(super) fn at_cost(&self) -> String {
        cost_beside("at", cost(self.first.1, self.second.1, self.bootstrap))
    }

    /// The CPU time of the second as a share of that of the first, if significant: ` and 2.10× the CPU time`.
    pub(super) fn and_cost(&self) -> String {
        cost_beside("and", cost(self.second.1, self.first.1, self.bootstrap))
    }

    /// Both rates and their ratio.
    pub(super) fn evidence(&self) -> String {
        let ((first, one), (second, other)) = (&self.first, &self.second);
        against((first, one), (second, other), &self.found)
    }

    /// Advice worth the ratio, based on both cells and `more`.
    pub(super) fn candidate(
        &self,
        more: impl IntoIterator<Item = EligibleCell<'a>>,
        topic: impl Into<String>,
        text: String,
    ) -> Candidate {
        let cells: Vec<_> = [self.first.1, self.second.1].into_iter().chain(more).collect();
        Candidate::new(topic, &self.found, &cells, self.found.estimate.value, text, self.evidence())
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
        let mut cells: Vec<String> = Vec::new();
        for eligible in eligible_cells {
            if !cells.contains(&eligible.cell.id) {
                cells.push(eligible.cell.id.clone());
            }
        }
        let experiment = eligible_cells.first().map(|w| w.cell.experiment.clone()).unwrap_or_default();
        let confidence = ratio.confidence(eligible_cells);
        let worth = if worth.is_finite() { worth.max(1.0) } else { 1.0 };
        let advice = Advice { text, evidence, experiment, cells, confidence, worth };
        Self { topic: topic.into(), advice }
    }

    fn outranks(&self, other: &Self) -> bool {
        let (a, b) = (&self.advice, &other.advice);
        a.confidence.cmp(&b.confidence).then(a.worth.total_cmp(&b.worth)).is_gt()
    }
}

/// The most certain candidate of each topic, largest gain first, low confidence last.
pub(super) fn ranked(candidates: Vec<Candidate>) -> Vec<Advice> {
    let mut best: Vec<Candidate> = Vec::new();
    for candidate in candidates {
        match best.iter_mut().find(|known| known.topic == candidate.topic) {
            Some(known) if candidate.outranks(known) => *known = candidate,
            Some(_) => {}
            None => best.push(candidate),
        }
    }
    let mut advice: Vec<Advice> = best.into_iter().map(|candidate| candidate.advice).collect();
    let doubtful = |advice: &Advice| advice.confidence == Confidence::Low;
    advice.sort_by(|a, b| {
        let surer = doubtful(a).cmp(&doubtful(b));
        surer.then(b.worth.total_cmp(&a.worth)).then(b.confidence.cmp(&a.confidence))
    });
    advice
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_confidence_ranks_last() {
        let candidate = |topic: &str, confidence, worth| Candidate {
            topic: topic.into(),
            advice: Advice {
                text: topic.into(),
                evidence: String::new(),
                experiment: String::new(),
                cells: Vec::new(),
                confidence,
                worth,
            },
        };
        let candidates = vec![
            candidate("doubtful", Confidence::Low, 9.0),
            candidate("fair", Confidence::Medium, 2.0),
            candidate("sure", Confidence::High, 2.0),
            candidate("more", Confidence::Medium, 3.0),
            candidate("more", Confidence::High, 2.5),
        ];
        let order: Vec<String> = ranked(candidates).into_iter().map(|advice| advice.text).collect();
        assert_eq!(order, ["more", "sure", "fair", "doubtful"]);
    }
}
