//! The sections of the advice, the rules of 1997 and the strategies chosen.

use super::chapter::Chapter;
use crate::block::{Block, Item, Section, Table, words};
use crate::document::{Advice, Confidence, Document, Rule, RuleVerdict};
use crate::units;

impl Advice {
    /// Confidence and gain: `high confidence, worth 3.6 times`.
    pub(crate) fn standing(&self) -> String {
        let sure = match self.confidence {
            Confidence::High => "high confidence",
            Confidence::Medium => "medium confidence",
            Confidence::Low => "low confidence",
        };
        if self.worth.is_finite() && self.worth > 1.0 {
            format!("{sure}, worth {} times", units::significant(self.worth))
        } else {
            sure.to_owned()
        }
    }
}

/// The advice, largest gain first.
pub(crate) fn advice(document: &Document) -> Vec<&Advice> {
    let mut ranked: Vec<&Advice> = document.findings.advice.iter().collect();
    ranked.sort_by(|a, b| b.worth.total_cmp(&a.worth));
    ranked
}

/// Id and title of the chapter of an experiment.
fn link(chapters: &[Chapter], experiment: &str) -> Option<(String, String)> {
    let chapter = chapters.iter().find(|c| c.experiment.name == experiment)?;
    Some((chapter.anchor.clone(), chapter.experiment.title.clone()))
}

/// The sections of the advice, the rules and the choices, those that have content.
pub(super) fn sections(document: &Document, chapters: &[Chapter]) -> Vec<Section> {
    let findings = &document.findings;
    let mut sections = Vec::new();
    if !findings.advice.is_empty() {
        let item = |(i, advice): (usize, &Advice)| Item {
            number: i + 1,
            text: advice.text.clone(),
            tag: (advice.confidence.into(), advice.standing()),
            evidence: advice.evidence.clone(),
            link: link(chapters, &advice.experiment),
        };
        let items = self::advice(document).into_iter().enumerate().map(item).collect();
        sections.push(Section::new("advice", "Advice", vec![Block::Numbered(items)]));
    }
    if !findings.rules.is_empty() {
        let title = "The rules of 1997, tested again";
        sections.push(Section::new("rules", title, rules(document, chapters)));
    }
    if !findings.choices.is_empty() {
        let rows = findings
            .choices
            .iter()
            .map(|choice| vec![choice.job.clone(), choice.strategy.clone(), choice.evidence.clone()]);
        let table = Table::new(["job", "strategy", "evidence"].map(words), rows.collect());
        let label = "Strategy chosen for each job";
        sections.push(Section::new("choices", label, vec![Block::Table { label: label.into(), table }]));
    }
    sections
}

fn rules(document: &Document, chapters: &[Chapter]) -> Vec<Block> {
    let mut rules: Vec<&Rule> = document.findings.rules.iter().collect();
    rules.sort_by_key(|r| r.number);
    let count = |verdict| rules.iter().filter(|r| r.verdict == verdict).count();
    let summary = format!(
        "Rules of Riedel, van Ingen and Gray: {} still true here, {} no longer, {} not testable.",
        count(RuleVerdict::StillTrue),
        count(RuleVerdict::NoLongerTrue),
        count(RuleVerdict::NotTestable)
    );
    let item = |rule: &&Rule| Item {
        number: rule.number as usize,
        text: rule.rule.clone(),
        tag: (rule.verdict.into(), rule.verdict.words().into()),
        evidence: rule.evidence.clone(),
        link: link(chapters, &rule.experiment),
    };
    vec![Block::Paragraph(summary), Block::Numbered(rules.iter().map(item).collect())]
}
