//! The sections of the advice, the rules of 1997 and the strategies chosen.

use super::chapter::Chapter;
use super::markup::{Table, escape, set, words};
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

/// A link to the chapter of an experiment; empty if there is none.
fn link(chapters: &[Chapter], experiment: &str) -> String {
    let chapter = chapters.iter().find(|c| c.experiment.name == experiment);
    chapter.map_or_else(String::new, |c| {
        format!(
            " <a href=\"#{}\">{}</a>",
            escape(&c.anchor),
            escape(super::chapter::short(&c.experiment.title))
        )
    })
}

/// The section of the advice; empty if there is none.
pub(super) fn advice_html(document: &Document, chapters: &[Chapter]) -> String {
    let advice = advice(document);
    if advice.is_empty() {
        return String::new();
    }
    let mut html = String::from("<section id=\"advice\">\n<h2>Advice</h2>\n<ol class=\"advice\">\n");
    for advice in advice {
        html += &format!(
            "<li><p>{}</p><p class=\"evidence\"><span class=\"tag {}\">{}</span> {}{}</p></li>\n",
            set(&advice.text),
            match advice.confidence {
                Confidence::High => "good",
                Confidence::Medium => "fair",
                Confidence::Low => "poor",
            },
            set(&advice.standing()),
            set(&advice.evidence),
            link(chapters, &advice.experiment)
        );
    }
    html + "</ol>\n</section>\n"
}

fn rules(document: &Document) -> Vec<&Rule> {
    let mut rules: Vec<&Rule> = document.findings.rules.iter().collect();
    rules.sort_by_key(|r| r.number);
    rules
}

/// The rules of 1997 with their verdicts as a table; `None` if they were not tested.
pub(super) fn rules_table(document: &Document) -> Option<Table> {
    let rules = rules(document);
    let row =
        |r: &&Rule| vec![r.number.to_string(), r.rule.clone(), r.verdict.words().into(), r.evidence.clone()];
    let columns = [words(""), words("rule"), words("here"), words("evidence")];
    (!rules.is_empty()).then(|| Table::new(columns, rules.iter().map(row).collect()))
}

/// The section of the rules; empty if they were not tested.
pub(super) fn rules_html(document: &Document, chapters: &[Chapter]) -> String {
    let rules = rules(document);
    if rules.is_empty() {
        return String::new();
    }
    let count = |verdict| rules.iter().filter(|r| r.verdict == verdict).count();
    let mut html = format!(
        "<section id=\"rules\">\n<h2>The rules of 1997, tested again</h2>\n<p class=\"note\">Rules of Riedel, van Ingen \
         and Gray: {} still true here, {} no longer, {} not testable.</p>\n<ol class=\"rules\">\n",
        count(RuleVerdict::StillTrue),
        count(RuleVerdict::NoLongerTrue),
        count(RuleVerdict::NotTestable)
    );
    for rule in rules {
        let class = match rule.verdict {
            RuleVerdict::StillTrue => "good",
            RuleVerdict::NoLongerTrue => "poor",
            RuleVerdict::NotTestable => "none",
        };
        html += &format!(
            "<li value=\"{}\"><p>{} <span class=\"tag {class}\">{}</span></p><p class=\"evidence\">{}{}</p></li>\n",
            rule.number,
            set(&rule.rule),
            rule.verdict.words(),
            set(&rule.evidence),
            link(chapters, &rule.experiment)
        );
    }
    html + "</ol>\n</section>\n"
}

/// Escaped text in which strategies may break after their commas.
fn breakable(text: &str) -> String {
    text.replace(',', ",<wbr>").replace(",<wbr> ", ", ")
}

/// The section of the strategies chosen; empty if nothing was chosen.
pub(super) fn choices_html(document: &Document) -> String {
    if document.findings.choices.is_empty() {
        return String::new();
    }
    let mut html = String::from(
        "<section id=\"choices\">\n<h2>Strategy chosen for each job</h2>\n<div class=\"choices\">\n",
    );
    for choice in &document.findings.choices {
        html += &format!(
            "<div class=\"choice\"><h3>{}</h3><p><code>{}</code></p><p class=\"evidence\">{}</p></div>\n",
            escape(&choice.job),
            breakable(&escape(&choice.strategy)),
            breakable(&set(&choice.evidence))
        );
    }
    html + "</div>\n</section>\n"
}
