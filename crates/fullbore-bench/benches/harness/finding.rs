//! Findings: a line per comparison, with its bound, on the terminal and as Markdown.

use std::path::Path;

use super::Attempt;
use super::rounds::Series;

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
    what: String,
    /// Fullbore's name and value.
    ours: String,
    /// The peer's.
    peer: String,
    /// The figure; of two series, the ratio of their medians.
    figure: f64,
    /// Its unit; empty for a ratio.
    unit: &'static str,
    /// Of two series, the median of the rounds' own ratios. The bound applies to it: anything that slows down a whole round,
    /// as the host of a virtual machine does for seconds, affects both of its times.
    paired: Option<f64>,
    /// The bound.
    bound: Bound,
}

impl Finding {
    /// A figure of one contender.
    pub(crate) fn new(
        what: impl Into<String>,
        ours: impl Into<String>,
        (figure, unit): (f64, &'static str),
        bound: Bound,
    ) -> Self {
        let (what, ours) = (what.into(), ours.into());
        Self { what, ours, peer: String::new(), figure, unit, paired: None, bound }
    }

    /// The ratio of a value of two series, fullbore's to the peer's; `text` formats a value.
    pub(crate) fn ratio<T>(
        what: impl Into<String>,
        ours: &Series<T>,
        peer: &Series<T>,
        of: impl Fn(&T) -> f64 + Copy,
        text: impl Fn(f64) -> String,
        bound: Bound,
    ) -> Self {
        let (mine, theirs) = (ours.median(of), peer.median(of));
        Self {
            what: what.into(),
            ours: format!("{} {}", ours.label, text(mine)),
            peer: format!("{} {}", peer.label, text(theirs)),
            figure: mine / theirs,
            unit: "",
            paired: Some(ours.paired(peer, of)),
            bound,
        }
    }

    /// The ratio of speeds, if this is one of times.
    pub(crate) fn inverted(self) -> Self {
        Self { figure: 1.0 / self.figure, paired: self.paired.map(|paired| 1.0 / paired), ..self }
    }

    /// The figure to which the bound applies.
    fn judged(&self) -> f64 {
        self.paired.unwrap_or(self.figure)
    }

    fn kept(&self) -> Option<bool> {
        self.bound.kept(self.judged())
    }

    fn verdict(&self) -> &'static str {
        match self.kept() {
            Some(true) => "kept",
            Some(false) => "NOT KEPT",
            None => "",
        }
    }

    fn sentence(&self) -> String {
        let Self { what, ours, peer, figure, unit, paired, bound } = self;
        let medians = paired.map_or_else(String::new, |_| format!(" (of the medians {figure:.3})"));
        let against = if peer.is_empty() { String::new() } else { format!(" against {peer}") };
        let bound =
            if *bound == Bound::None { String::new() } else { format!(", bound {}", bound.text(unit)) };
        format!("{:8} {what}: {:.3}{unit}{medians}{bound}: {ours}{against}", self.verdict(), self.judged())
    }
}

/// The columns of the table.
const COLUMNS: [&str; 7] = ["comparison", "fullbore", "peer", "figure", "of the medians", "bound", ""];

/// A line of the table.
enum Row {
    Found(Finding),
    /// A comparison left out, and the reason.
    Missing(String, String),
}

impl Row {
    fn columns(&self) -> [String; 7] {
        match self {
            Self::Found(one) => [
                one.what.clone(),
                one.ours.clone(),
                one.peer.clone(),
                format!("{:.3}{}", one.judged(), one.unit),
                one.paired.map_or_else(|| "–".into(), |_| format!("{:.3}", one.figure)),
                one.bound.text(one.unit),
                one.verdict().into(),
            ],
            Self::Missing(what, why) => {
                let [a, b, c, d, e] = ["–"; 5].map(str::to_owned);
                [what.clone(), a, b, c, d, e, why.clone()]
            }
        }
    }
}

/// All findings.
pub(crate) struct Findings {
    rows: Vec<Row>,
    context: Vec<String>,
    notes: Vec<String>,
    errors: usize,
}

impl Findings {
    /// No findings. The first line of `context` names the comparison, the others its environment.
    pub(crate) fn new(context: Vec<String>) -> Self {
        Self { rows: Vec::new(), context, notes: Vec::new(), errors: 0 }
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
        println!("  {}", finding.sentence());
        self.rows.push(Row::Found(finding));
    }

    /// Prints the table, the counts and the bounds not kept, and writes the Markdown to a file, if requested. True if
    /// every bound was kept.
    pub(crate) fn conclude(&self, markdown: Option<&Path>) -> Attempt<bool> {
        let rows: Vec<[String; 7]> =
            std::iter::once(COLUMNS.map(str::to_owned)).chain(self.rows.iter().map(Row::columns)).collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: [usize; 7] = std::array::from_fn(width);
        println!();
        for row in &rows {
            let cells = row.iter().zip(widths).map(|(text, width)| format!("{text:width$}"));
            println!("{}", cells.collect::<Vec<_>>().join("  ").trim_end());
        }
        let found: Vec<&Finding> = self
            .rows
            .iter()
            .filter_map(|row| match row {
                Row::Found(finding) => Some(finding),
                Row::Missing(..) => None,
            })
            .collect();
        let missed: Vec<_> = found.iter().filter(|one| one.kept() == Some(false)).collect();
        println!(
            "\n{} bounds kept, {} not, {} comparisons failed, {} skipped",
            found.iter().filter(|one| one.kept() == Some(true)).count(),
            missed.len(),
            self.errors,
            self.rows.len() - found.len() - self.errors
        );
        missed.iter().for_each(|one| println!("  {}", one.sentence()));
        if let Some(path) = markdown {
            std::fs::write(path, self.as_markdown(&rows))
                .map_err(|error| format!("--markdown {}: {error}", path.display()))?;
        }
        Ok(self.errors == 0 && missed.is_empty())
    }

    fn as_markdown(&self, rows: &[[String; 7]]) -> String {
        let line = |row: &[String; 7]| {
            // Text stays within its cell.
            let cells = row.iter().map(|text| text.replace('|', "\\|").replace('\n', " "));
            format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
        };
        let mut lines: Vec<String> = rows.iter().map(line).collect();
        lines.insert(1, format!("|{}\n", "---|".repeat(COLUMNS.len())));
        format!(
            "# fullbore against its peers\n\n```\n{}\n```\n\n{}\nFigure: the median of the rounds' own ratios (ours to \
             the peer), or a median itself. Beside it the ratio of the medians.\n\n## Notes\n\n```\n{}\n```\n",
            self.context.join("\n"),
            lines.concat(),
            self.notes.join("\n")
        )
    }
}

/// Seconds in the unit that suits them.
pub(crate) fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-6 => format!("{:.1} ns", s * 1e9),
        s if s < 1e-3 => format!("{:.2} µs", s * 1e6),
        s => format!("{:.2} ms", s * 1e3),
    }
}
