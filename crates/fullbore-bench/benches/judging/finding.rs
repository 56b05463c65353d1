//! What was found: a line a comparison, with the bound it must keep, on the terminal and as Markdown.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::Attempt;

/// What a figure must keep to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Bound {
    AtMost(f64),
    AtLeast(f64),
    Below(f64),
    Above(f64),
    /// For information.
    None,
}

impl Bound {
    fn kept(self, figure: f64) -> Option<bool> {
        match self {
            Self::AtMost(bound) => Some(figure <= bound),
            Self::AtLeast(bound) => Some(figure >= bound),
            Self::Below(bound) => Some(figure < bound),
            Self::Above(bound) => Some(figure > bound),
            Self::None => None,
        }
    }

    fn text(self, unit: &str) -> String {
        match self {
            Self::AtMost(bound) => format!("≤ {bound}{unit}"),
            Self::AtLeast(bound) => format!("≥ {bound}{unit}"),
            Self::Below(bound) => format!("< {bound}{unit}"),
            Self::Above(bound) => format!("> {bound}{unit}"),
            Self::None => "–".into(),
        }
    }
}

/// One figure and what it must be.
#[derive(Debug, Clone)]
pub(crate) struct Finding {
    /// What was compared.
    pub(crate) what: String,
    /// Ours: who and how much.
    pub(crate) ours: String,
    /// The peer's.
    pub(crate) peer: String,
    /// The figure; of two series, the ratio of their medians.
    pub(crate) figure: f64,
    /// Its unit; empty for a ratio.
    pub(crate) unit: &'static str,
    /// Of two series, the median of the rounds' own ratios. The bound is for it: whatever slows a whole round down, as the host
    /// of a virtual machine does for seconds, is in both of its times.
    pub(crate) paired: Option<f64>,
    /// What it must keep to.
    pub(crate) bound: Bound,
}

impl Finding {
    /// The figure that the bound is for.
    fn judged(&self) -> f64 {
        self.paired.unwrap_or(self.figure)
    }
}

/// A line of the table.
enum Row {
    Found(Finding),
    /// What was not compared, and why.
    Missing(String, String),
}

/// All that was found.
pub(crate) struct Findings {
    rows: Vec<Row>,
    context: Vec<String>,
    notes: Vec<String>,
    troubles: usize,
    markdown: Option<PathBuf>,
}

impl Findings {
    /// None yet. The first line of `context` says what is compared, the others on what; `markdown` is where the
    /// findings go in the end, if anywhere.
    pub(crate) fn new(context: Vec<String>, markdown: Option<PathBuf>) -> Self {
        Self { rows: Vec::new(), context, notes: Vec::new(), troubles: 0, markdown }
    }

    /// Prints what was measured on what.
    pub(crate) fn introduce(&self) {
        println!("{}", self.context.join("\n"));
    }

    /// Prints what comes.
    pub(crate) fn begin(&self, name: &str, title: &str) {
        println!("\n{name}: {title}");
    }

    /// Prints a line and keeps it for the Markdown.
    pub(crate) fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        println!("  {text}");
        self.notes.push(text);
    }

    /// Says what was left out and why.
    pub(crate) fn skip(&mut self, what: &str, why: &str) {
        self.note(format!("skipped {what}: {why}"));
        self.rows.push(Row::Missing(what.into(), format!("skipped: {why}")));
    }

    /// Says that a comparison broke off. It kept no bound.
    pub(crate) fn record_error(&mut self, what: &str, why: &dyn std::error::Error) {
        self.troubles += 1;
        self.note(format!("TROUBLE {what}: {why}"));
        self.rows.push(Row::Missing(what.into(), format!("TROUBLE: {why}")));
    }

    /// Prints a finding and keeps it.
    pub(crate) fn add(&mut self, finding: Finding) {
        println!("  {:8} {}", verdict(&finding), sentence(&finding));
        self.rows.push(Row::Found(finding));
    }

    /// Whether every bound was kept.
    pub(crate) fn all_kept(&self) -> bool {
        self.troubles == 0 && self.found().all(|finding| finding.bound.kept(finding.judged()) != Some(false))
    }

    fn found(&self) -> impl Iterator<Item = &Finding> {
        self.rows.iter().filter_map(|row| match row {
            Row::Found(finding) => Some(finding),
            Row::Missing(..) => None,
        })
    }

    /// Prints a line each of what was compared and what was not.
    pub(crate) fn table(&self) {
        let widest = self.rows.iter().map(|row| row.what().chars().count()).max().unwrap_or(0);
        println!("\n{:widest$}  {:>10}  {:>10}", "comparison", "figure", "bound");
        for row in &self.rows {
            match row {
                Row::Found(one) => {
                    let figure = format!("{:.3}{}", one.judged(), one.unit);
                    let peer = if one.peer.is_empty() { "" } else { " · " };
                    println!(
                        "{:widest$}  {figure:>10}  {:>10}  {:8}  {}{peer}{}",
                        one.what,
                        one.bound.text(one.unit),
                        verdict(one),
                        one.ours,
                        one.peer
                    );
                }
                Row::Missing(what, why) => println!("{what:widest$}  {:>10}  {:>10}  {why}", "–", "–"),
            }
        }
    }

    /// Prints the count and writes the Markdown, if that was asked for.
    pub(crate) fn conclude(&self) -> Attempt<()> {
        let count = |kept| self.found().filter(|one| one.bound.kept(one.judged()) == Some(kept)).count();
        println!(
            "\n{} bounds kept, {} not, {} comparisons broken off, {} skipped",
            count(true),
            count(false),
            self.troubles,
            self.rows.iter().filter(|row| matches!(row, Row::Missing(..))).count() - self.troubles
        );
        for finding in self.found().filter(|one| one.bound.kept(one.judged()) == Some(false)) {
            println!("  {:8} {}", verdict(finding), sentence(finding));
        }
        let Some(path) = &self.markdown else { return Ok(()) };
        std::fs::write(path, self.as_markdown()?)
            .map_err(|error| format!("--markdown {}: {error}", path.display()).into())
    }

    fn as_markdown(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::from("# fullbore against its peers\n\n");
        writeln!(text, "```\n{}\n```\n", self.context.join("\n"))?;
        text.push_str(
            "| comparison | ours | peer | figure | of the medians | bound | |\n|---|---|---|---|---|---|---|\n",
        );
        for row in &self.rows {
            let one = match row {
                Row::Found(one) => one,
                Row::Missing(what, why) => {
                    writeln!(text, "| {} | – | – | – | – | – | {} |", cell(what), cell(why))?;
                    continue;
                }
            };
            let medians = one.paired.map_or_else(|| "–".into(), |_| format!("{:.3}", one.figure));
            let (unit, bound) = (one.unit, one.bound.text(one.unit));
            writeln!(
                text,
                "| {} | {} | {} | {:.3}{unit} | {medians} | {bound} | {} |",
                cell(&one.what),
                cell(&one.ours),
                cell(&one.peer),
                one.judged(),
                verdict(one)
            )?;
        }
        text.push_str(
            "\nFigure: the median of the rounds' own ratios (ours to the peer), or a median itself. Beside it the ratio \
             of the medians.\n",
        );
        writeln!(text, "\n## What was seen\n\n```\n{}\n```", self.notes.join("\n"))?;
        Ok(text)
    }
}

impl Row {
    fn what(&self) -> &str {
        match self {
            Self::Found(finding) => &finding.what,
            Self::Missing(what, _) => what,
        }
    }
}

/// Text that stays within a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn verdict(finding: &Finding) -> &'static str {
    match finding.bound.kept(finding.judged()) {
        Some(true) => "kept",
        Some(false) => "NOT KEPT",
        None => "",
    }
}

fn sentence(finding: &Finding) -> String {
    let Finding { what, ours, peer, figure, unit, paired, bound } = finding;
    let medians = paired.map_or_else(String::new, |_| format!(" (of the medians {figure:.3})"));
    let against = if peer.is_empty() { String::new() } else { format!(" against {peer}") };
    let bound = if *bound == Bound::None { String::new() } else { format!(", bound {}", bound.text(unit)) };
    format!("{what}: {:.3}{unit}{medians}{bound}: {ours}{against}", finding.judged())
}
