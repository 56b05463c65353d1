//! The report as Markdown for GitHub: the same chapters in text and tables, without links.

use super::chapter::Chapter;
use super::markup::Table;
use super::{advice_html, audit, heading, prose};
use crate::document::Document;
use crate::units;

/// The report of a document.
pub(super) fn report(document: &Document, chapters: &[Chapter]) -> String {
    let mut text = format!("# Storage report: {}\n\n", escape(&document.run.directory));
    text += &format!("{}\n\n## Summary\n\n", escape(&heading::place(document)));
    items(&mut text, prose::sentences(document).iter().map(String::as_str));
    let advice = advice_html::advice(document);
    if !advice.is_empty() {
        text += "## Advice\n\n";
        for (i, advice) in advice.iter().enumerate() {
            text += &format!("{}. **{}** {} ", i + 1, escape(&advice.text), escape(&advice.evidence));
            text += &format!("_{}_", escape(&advice.standing()));
            if let Some(chapter) = chapters.iter().find(|c| c.experiment.name == advice.experiment) {
                text += &format!(" (chapter “{}”)", escape(&chapter.experiment.title));
            }
            text.push('\n');
        }
        text.push('\n');
    }
    if let Some(rules) = advice_html::rules_table(document) {
        text += &format!("## The rules of 1997, tested again\n\n{}", table(&rules));
    }
    if !document.findings.choices.is_empty() {
        text += "## Strategy chosen for each job\n\n";
        let row = |c: &crate::document::Choice| vec![c.job.clone(), c.strategy.clone(), c.evidence.clone()];
        let columns = ["job", "strategy", "evidence"].map(super::markup::words);
        text += &table(&Table::new(columns, document.findings.choices.iter().map(row).collect()));
    }
    for chapter in chapters {
        text += &set(chapter);
    }
    text += "## Self-audit\n\n";
    text += &pairs(&audit::facts(document));
    let notes: Vec<&String> = document.audit.findings.iter().chain(&document.run.notes).collect();
    items(&mut text, notes.iter().map(|n| n.as_str()));
    text += "## Environment\n\n";
    text += &pairs(&heading::environment(document));
    text += "Medians with 95% bootstrap intervals; times in seconds unless given otherwise; a megabyte is 10⁶ bytes.\n";
    text
}

fn set(chapter: &Chapter) -> String {
    let experiment = &chapter.experiment;
    let mut text = format!("## {}\n\n", escape(&experiment.title));
    for paragraph in [&experiment.question, &experiment.note] {
        if !paragraph.is_empty() {
            text += &format!("{}\n\n", escape(paragraph));
        }
    }
    for then in &experiment.then {
        text += &format!("- **{}:** {} ({})\n", then.year, escape(&then.found), escape(&then.source));
    }
    let here = if chapter.here.is_empty() { chapter.without().to_owned() } else { chapter.here.join(" ") };
    text += &format!("- **Here:** {}\n\n", escape(&here));
    for chart in &chapter.charts {
        text += &format!("Figure {}. {}\n\n", chart.number, escape(&chart.description));
    }
    if let Some(care) = &chapter.care {
        text += &format!("**Warnings:** {}\n\n", escape(care));
    }
    for (reason, count) in &chapter.skipped {
        text += &format!("**Not measured:** {}: {}\n\n", units::count(*count, "cell"), escape(reason));
    }
    for (title, rows) in &chapter.tables {
        text += &format!("### {title}\n\n{}", table(rows));
    }
    text
}

fn items<'a>(text: &mut String, lines: impl Iterator<Item = &'a str>) {
    let before = text.len();
    for line in lines {
        *text += &format!("- {}\n", escape(line));
    }
    if text.len() > before {
        text.push('\n');
    }
}

fn pairs(facts: &[(String, String)]) -> String {
    let columns = ["what", "value"].map(super::markup::words);
    table(&Table::new(columns, facts.iter().map(|(what, value)| vec![what.clone(), value.clone()]).collect()))
}

/// A table with pipes; a row of one cell becomes a row in bold.
fn table(table: &Table) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut text = line(table.columns.iter().map(|c| escape(c.head)).collect());
    text += &line(table.columns.iter().map(|c| if c.figures { "---:" } else { "---" }.to_owned()).collect());
    for row in &table.rows {
        let mut cells: Vec<String> = row.iter().map(|cell| escape(cell)).collect();
        if let [group] = cells.as_mut_slice() {
            *group = format!("**{group}**");
        }
        cells.resize(table.columns.len(), String::new());
        text += &line(cells);
    }
    text + "\n"
}

/// Text escaped for Markdown and the HTML within it, on one line.
pub(super) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' => {
                safe.push('\\');
                safe.push(character);
            }
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            // `@name` would mention a user.
            '@' => safe.push_str("&#64;"),
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    // Text that looks like an address would become a link.
    safe.replace("://", "&#58;//").replace("www.", "www&#46;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        assert_eq!(escape("a|b `c` *d* <e> [f](g)"), "a\\|b \\`c\\` \\*d\\* &lt;e&gt; \\[f\\](g)");
        assert_eq!(escape("see: https://x.y/ @z\nnext"), "see: https&#58;//x.y/ &#64;z next");
        assert_eq!(escape("shift:10"), "shift:10");
    }

    #[test]
    fn a_table_has_a_cell_for_each_column() {
        use super::super::markup::{figures, words};
        let row = |t: &[&str]| t.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>();
        let made = Table::new([words("a"), figures("b")], vec![row(&["g"]), row(&["x", "1|2"])]);
        assert_eq!(table(&made), "| a | b |\n| --- | ---: |\n| **g** |  |\n| x | 1\\|2 |\n\n");
    }
}
