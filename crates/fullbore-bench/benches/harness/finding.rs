//! Findings: a line per comparison, with its bound, on the terminal and as Markdown.

use std::path::Path;

use super::Attempt;
use super::rounds::Series;

#[allow(dead_code, reason = "each benchmark uses its part")]
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
    /// Its sign and its value, and true if a figure keeps it.
    fn judge(self, figure: f64) -> Option<(char, f64, bool)> {
        match self {
            Self::AtMost(bound) => Some(('≤', bound, figure <= bound)),
            Self::AtLeast(bound) => Some(('≥', bound, figure >= bound)),
            Self::Below(bound) => Some(('<', bound, figure < bound)),
            Self::Above(bound) => Some(('>', bound, figure > bound)),
            Self::None => None,
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Finding {
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
    bound: Bound,
}

impl Finding {
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

    fn judged(&self) -> f64 {
        self.paired.unwrap_or(self.figure)
    }

    fn kept(&self) -> Option<bool> {
        self.bound.judge(self.judged()).map(|(.., kept)| kept)
    }

    fn verdict(&self) -> &'static str {
        match self.kept() {
            Some(true) => "kept",
            Some(false) => "NOT KEPT",
            None => "",
        }
    }

    fn bound(&self) -> Option<String> {
        self.bound.judge(0.0).map(|(sign, bound, _)| format!("{sign} {bound}{}", self.unit))
    }

    fn sentence(&self) -> String {
        let Self { what, ours, peer, figure, unit, paired, .. } = self;
        let medians = paired.map_or_else(String::new, |_| format!(" (of the medians {figure:.3})"));
        let against = if peer.is_empty() { String::new() } else { format!(" against {peer}") };
        let bound = self.bound().map_or_else(String::new, |bound| format!(", bound {bound}"));
        format!("{:8} {what}: {:.3}{unit}{medians}{bound}: {ours}{against}", self.verdict(), self.judged())
    }

    fn columns(&self) -> [String; 7] {
        let medians = self.paired.map(|_| format!("{:.3}", self.figure));
        [
            self.what.clone(),
            self.ours.clone(),
            self.peer.clone(),
            format!("{:.3}{}", self.judged(), self.unit),
            medians.unwrap_or_else(|| "–".into()),
            self.bound().unwrap_or_else(|| "–".into()),
            self.verdict().into(),
        ]
    }
}

const COLUMNS: [&str; 7] = ["comparison", "fullbore", "peer", "figure", "of the medians", "bound", ""];

pub(crate) struct Findings {
    rows: Vec<[String; 7]>,
    context: Vec<String>,
    notes: Vec<String>,
    kept: usize,
    /// The sentences of those not kept.
    missed: Vec<String>,
    skipped: usize,
    errors: usize,
}

impl Findings {
    /// No findings. The first line of `context` names the comparison, the others its environment.
    pub(crate) fn new(context: Vec<String>) -> Self {
        let rows = vec![COLUMNS.map(str::to_owned)];
        Self { rows, context, notes: Vec::new(), kept: 0, missed: Vec::new(), skipped: 0, errors: 0 }
    }

    pub(crate) fn introduce(&self) {
        println!("{}", self.context.join("\n"));
    }

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
        self.skipped += 1;
        self.note(format!("skipped {what}: {why}"));
        self.add_missing(what, format!("skipped: {why}"));
    }

    /// Reports a comparison that failed. It counts as not kept.
    pub(crate) fn record_error(&mut self, what: &str, why: &dyn std::error::Error) {
        self.errors += 1;
        super::directory::assert_running();
        self.note(format!("FAILED {what}: {why}"));
        self.add_missing(what, format!("FAILED: {why}"));
    }

    fn add_missing(&mut self, what: &str, why: String) {
        let [a, b, c, d, e] = ["–"; 5].map(str::to_owned);
        self.rows.push([what.into(), a, b, c, d, e, why]);
    }

    pub(crate) fn add(&mut self, finding: Finding) {
        let sentence = finding.sentence();
        println!("  {sentence}");
        self.rows.push(finding.columns());
        match finding.kept() {
            Some(true) => self.kept += 1,
            Some(false) => self.missed.push(sentence),
            None => {}
        }
    }

    /// Prints the table, the counts and the bounds not kept, and writes the Markdown to a file, if requested. True if
    /// every bound was kept.
    pub(crate) fn conclude(&self, markdown: Option<&Path>) -> Attempt<bool> {
        let Self { rows, kept, missed, skipped, errors, .. } = self;
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: [usize; 7] = std::array::from_fn(width);
        println!();
        for row in rows {
            let cells = row.iter().zip(widths).map(|(text, width)| format!("{text:width$}"));
            println!("{}", cells.collect::<Vec<_>>().join("  ").trim_end());
        }
        let not = missed.len();
        println!("\n{kept} bounds kept, {not} not, {errors} comparisons failed, {skipped} skipped");
        missed.iter().for_each(|sentence| println!("  {sentence}"));
        if let Some(path) = markdown {
            std::fs::write(path, self.as_markdown())
                .map_err(|error| format!("--markdown {}: {error}", path.display()))?;
        }
        Ok(*errors == 0 && missed.is_empty())
    }

    fn as_markdown(&self) -> String {
        let line = |row: &[String; 7]| {
            // Text stays within its cell.
            let cells = row.iter().map(|text| text.replace('|', "\\|").replace('\n', " "));
            format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
        };
        let mut lines: Vec<String> = self.rows.iter().map(line).collect();
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

pub(crate) fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-6 => format!("{:.1} ns", s * 1e9),
        s if s < 1e-3 => format!("{:.2} µs", s * 1e6),
        s => format!("{:.2} ms", s * 1e3),
    }
}
