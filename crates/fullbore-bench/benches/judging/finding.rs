//! Findings: a line per comparison, with its bound, on the terminal and as Markdown.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::Attempt;

/// A bound of a figure.
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

/// One figure and its bound.
#[derive(Debug, Clone)]
pub(crate) struct Finding {
    /// The comparison.
    pub(crate) what: String,
    /// Fullbore's name and value.
    pub(crate) ours: String,
    /// The peer's.
    pub(crate) peer: String,
    /// The figure; of two series, the ratio of their medians.
    pub(crate) figure: f64,
    /// Its unit; empty for a ratio.
    pub(crate) unit: &'static str,
    /// Of two series, the median of the rounds' own ratios. The bound applies to it: anything that slows down a whole round,
    /// as the host of a virtual machine does for seconds, affects both of its times.
    pub(crate) paired: Option<f64>,
    /// The bound.
    pub(crate) bound: Bound,
}

impl Finding {
    /// The figure to which the bound applies.
    fn judged(&self) -> f64 {
        self.paired.unwrap_or(self.figure)
    }
}

/// A line of the table.
enum Row {
    Found(Finding),
    /// A comparison left out, and the reason.
    Missing(String, String),
}

/// All findings.
pub(crate) struct Findings {
    rows: Vec<Row>,
    context: Vec<String>,
    notes: Vec<String>,
    errors: usize,
    markdown: Option<PathBuf>,
}

impl Findings {
    /// No findings. The first line of `context` names the comparison, the others its environment; `markdown` is the file
    /// for the findings, if any.
    pub(crate) fn new(context: Vec<String>, markdown: Option<PathBuf>) -> Self {
        Self { rows: Vec::new(), context, notes: Vec::new(), errors: 0, markdown }
    }

    /// Prints the context.
    pub(crate) fn introduce(&self) {
        println!("{}", self.context.join("\n"));
    }

    /// Prints the heading of a comparison.
    pub(crate) fn begin(&self, name: &str, title: &str) {
        println!("\n{name}: {title}");
    }

    /// Prints a line and keeps it for the Markdown.
    pub(crate) fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        println!("  {text}");
        self.notes.push(text);
    }

    /// Reports a comparison that was left out, with the reason.
    pub(crate) fn skip(&mut self, what: &str, why: &str) {
        self.note(format!("skipped {what}: {why}"));
        self.rows.push(Row::Missing(what.into(), format!("skipped: {why}")));
    }

    /// Reports a comparison that failed. It counts as not kept.
    pub(crate) fn record_error(&mut self, what: &str, why: &dyn std::error::Error) {
        self.errors += 1;
        self.note(format!("TROUBLE {what}: {why}"));
        self.rows.push(Row::Missing(what.into(), format!("TROUBLE: {why}")));
    }

    /// Prints a finding and keeps it.
    pub(crate) fn add(&mut self, finding: Finding) {
        println!("  {:8} {}", verdict(&finding), sentence(&finding));
        self.rows.push(Row::Found(finding));
    }

    /// True if every bound was kept.
    pub(crate) fn all_kept(&self) -> bool {
        self.errors == 0 && self.found().all(|finding| finding.bound.kept(finding.judged()) != Some(false))
    }

    fn found(&self) -> impl Iterator<Item = &Finding> {
        self.rows.iter().filter_map(|row| match row {
            Row::Found(finding) => Some(finding),
            Row::Missing(..) => None,
        })
    }

    /// Prints a line per comparison, including those left out.
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

    /// Prints the counts and writes the Markdown, if requested.
    pub(crate) fn conclude(&self) -> Attempt<()> {
        let count = |kept| self.found().filter(|one| one.bound.kept(one.judged()) == Some(kept)).count();
        println!(
            "\n{} bounds kept, {} not, {} comparisons failed, {} skipped",
            count(true),
            count(false),
            self.errors,
            self.rows.iter().filter(|row| matches!(row, Row::Missing(..))).count() - self.errors
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
            "| comparison | fullbore | peer | figure | of the medians | bound | |\n|---|---|---|---|---|---|---|\n",
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
        writeln!(text, "\n## Notes\n\n```\n{}\n```", self.notes.join("\n"))?;
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

/// Text that stays within a table cell.
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
