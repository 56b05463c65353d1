//! One line of advice while the list is made: what it is about, and its rank.

use super::contrast::Contrast;
use super::witness::Witness;
use crate::document::{Advice, Confidence};

/// Advice with what it is about: of two with the same topic only the surer stays.
pub(super) struct Tip {
    pub(super) topic: String,
    pub(super) advice: Advice,
}

impl Tip {
    /// A line that rests on `contrast` between some of `witnesses`, the first of which names the chapter.
    pub(super) fn new(
        topic: impl Into<String>,
        contrast: &Contrast,
        witnesses: &[Witness<'_>],
        worth: f64,
        text: String,
        evidence: String,
    ) -> Self {
        let mut cells: Vec<String> = Vec::new();
        for witness in witnesses {
            if !cells.contains(&witness.cell.id) {
                cells.push(witness.cell.id.clone());
            }
        }
        let experiment = witnesses.first().map(|w| w.cell.experiment.clone()).unwrap_or_default();
        let confidence = contrast.confidence(witnesses);
        let worth = if worth.is_finite() { worth.max(1.0) } else { 1.0 };
        let advice = Advice { text, evidence, experiment, cells, confidence, worth };
        Self { topic: topic.into(), advice }
    }

    fn beats(&self, other: &Self) -> bool {
        let (a, b) = (&self.advice, &other.advice);
        a.confidence.cmp(&b.confidence).then(a.worth.total_cmp(&b.worth)).is_gt()
    }
}

/// The surest of each topic, what is worth most first, and what is hardly sure last.
pub(super) fn ranked(tips: Vec<Tip>) -> Vec<Advice> {
    let mut best: Vec<Tip> = Vec::new();
    for tip in tips {
        match best.iter_mut().find(|known| known.topic == tip.topic) {
            Some(known) if tip.beats(known) => *known = tip,
            Some(_) => {}
            None => best.push(tip),
        }
    }
    let mut advice: Vec<Advice> = best.into_iter().map(|tip| tip.advice).collect();
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
    fn what_is_hardly_sure_stands_behind_what_is_surer() {
        let tip = |topic: &str, confidence, worth| Tip {
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
        let tips = vec![
            tip("doubtful", Confidence::Low, 9.0),
            tip("fair", Confidence::Medium, 2.0),
            tip("sure", Confidence::High, 2.0),
            tip("more", Confidence::Medium, 3.0),
            tip("more", Confidence::High, 2.5),
        ];
        let order: Vec<String> = ranked(tips).into_iter().map(|advice| advice.text).collect();
        assert_eq!(order, ["more", "sure", "fair", "doubtful"]);
    }
}
