//! The sections of the advice, the rules of 1997 and the strategies chosen.

use super::chapter::Chapter;
use super::prose::spanned;
use crate::block::{Block, Fold, Item, NOTHING, Section, TableOf};
use crate::document::{Advice, Document, Recommendation, Rule, RuleVerdict, word};
use crate::units;

/// Text in place of advice that leads.
pub(crate) const NO_DEFAULT: &str = "No common default is significantly slower than the best setting: the \
                                     differences are small, or there are too few samples.";

pub(crate) fn advice(document: &Document) -> (Vec<&Advice>, Vec<&Advice>) {
    document.findings.advice.iter().partition(|advice| advice.lead)
}

pub(super) fn use_this(document: &Document) -> Option<Section> {
    let code = |text: &Option<String>| {
        text.as_ref().map_or_else(|| NOTHING.into(), |text| format!("`{}`", without_quotes(text)))
    };
    let method = |found: &Recommendation| {
        let other = found.no_difference_from.as_deref().map(without_quotes);
        let other = other.map(|other| format!("; no significant difference from {other}"));
        without_quotes(&found.method) + &other.unwrap_or_default()
    };
    let table = TableOf::new(&document.findings.use_this)
        .words("job", |found| format!("{}, {}", found.job.words(), without_quotes(&found.place)))
        .words("use", |found| method(found))
        .figures("rate (95%)", |found| spanned(found.rate, |rate| found.unit.rate(rate)))
        .words("with fullbore", |found| code(&found.command))
        .words("without", |found| code(&found.plain));
    let table = Block::Table { label: "Use this".into(), table: table.table() };
    (!document.findings.use_this.is_empty()).then(|| Section::new("use-this", "Use this", vec![table]))
}

/// The text without backquotes, which would end the code that contains it.
fn without_quotes(text: &str) -> String {
    text.replace('`', "")
}

fn link(chapters: &[Chapter], experiment: &str) -> Option<(String, String)> {
    let chapter = chapters.iter().find(|c| c.experiment.name == experiment)?;
    Some((chapter.anchor.clone(), chapter.experiment.title.clone()))
}

pub(super) fn sections(document: &Document, chapters: &[Chapter]) -> Vec<Section> {
    let findings = &document.findings;
    let mut sections = Vec::new();
    if !findings.advice.is_empty() {
        let item = |(i, advice): (usize, &&Advice)| Item {
            number: i + 1,
            text: match &advice.setting {
                Some(setting) => format!("{} Type: `{}`", advice.text, without_quotes(setting)),
                None => advice.text.clone(),
            },
            tag: (advice.confidence.into(), format!("{} confidence", word(advice.confidence))),
            evidence: advice.evidence.clone(),
            link: link(chapters, &advice.experiment),
        };
        let (lead, rest) = self::advice(document);
        let items =
            |from: &[&Advice], before: usize| Block::Numbered((before..).zip(from).map(item).collect());
        let mut blocks = vec![match lead.is_empty() {
            true => Block::Paragraph(NO_DEFAULT.into()),
            false => items(&lead, 0),
        }];
        if !rest.is_empty() {
            let title = units::count(rest.len(), "more finding");
            blocks.push(Block::Folded {
                title,
                fold: Fold::Everywhere,
                blocks: vec![items(&rest, lead.len())],
            });
        }
        sections.push(Section::new("advice", "Advice", blocks));
    }
    if !findings.rules.is_empty() {
        let title = "The rules of 1997, tested again";
        sections.push(Section::new("rules", title, rules(document, chapters)));
    }
    if !findings.choices.is_empty() {
        let table = TableOf::new(&findings.choices)
            .words("job", |choice| choice.job.clone())
            .words("strategy", |choice| choice.strategy.clone())
            .words("evidence", |choice| choice.evidence.clone())
            .table();
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
