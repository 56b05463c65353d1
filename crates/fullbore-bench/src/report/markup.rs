//! Text made safe for HTML, and the elements used throughout.

use serde::Serialize;

/// Escapes text for element content and for attributes in double quotes.
pub(crate) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // Control characters are invalid in HTML; file names may contain them.
            c if c.is_control() && !matches!(c, '\n' | '\t') => safe.push('\u{FFFD}'),
            c => safe.push(c),
        }
    }
    safe
}

/// Escapes text for element content. Figures stay on the line of their units (`1.96 GB/s`); text between backquotes
/// becomes a `code` element.
pub(crate) fn set(text: &str) -> String {
    let mut bound = String::with_capacity(text.len());
    let mut words = text.split(' ').peekable();
    while let Some(word) = words.next() {
        bound.push_str(word);
        if let Some(next) = words.peek() {
            let unit = next.trim_end_matches(|c: char| ".,;:)".contains(c));
            let figure = word.ends_with(|c: char| c.is_ascii_digit());
            bound.push(if figure && UNITS.contains(&unit) { '\u{A0}' } else { ' ' });
        }
    }
    code(&escape(&bound))
}

/// Turns pairs of backquotes into `code` elements; an odd number of them is left as it is.
fn code(html: &str) -> String {
    if html.matches('`').count() % 2 == 1 {
        return html.to_owned();
    }
    let set = |(i, part): (usize, &str)| {
        if i % 2 == 1 { format!("<code>{part}</code>") } else { part.to_owned() }
    };
    html.split('`').enumerate().map(set).collect()
}

const UNITS: [&str; 21] = [
    "B", "KiB", "MiB", "GiB", "TiB", "kB", "MB", "GB", "TB", "B/s", "kB/s", "MB/s", "GB/s", "TB/s", "/s",
    "k/s", "M/s", "ns", "ms", "µs", "s",
];

/// JSON that cannot end its script element: `<` occurs in strings only and is written as its escape.
pub(crate) fn json_for_script(value: &impl Serialize) -> String {
    match serde_json::to_string(value) {
        Ok(json) => {
            json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
        }
        Err(_) => "null".to_owned(),
    }
}

/// A column of a table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    pub(super) head: &'static str,
    /// True for figures, which are aligned to the right.
    pub(super) figures: bool,
}

/// A column of words.
pub(super) const fn words(head: &'static str) -> Column {
    Column { head, figures: false }
}

/// A column of figures.
pub(super) const fn figures(head: &'static str) -> Column {
    Column { head, figures: true }
}

/// Text for a value that was not measured or does not apply.
pub(super) const NOTHING: &str = "–";

/// A table, independent of HTML and Markdown. A row of one cell heads the rows after it.
pub(super) struct Table {
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Vec<String>>,
}

/// A table with its title.
pub(super) type Titled = (&'static str, Table);

impl Table {
    pub(super) fn new(columns: impl Into<Vec<Column>>, rows: Vec<Vec<String>>) -> Self {
        Self { columns: columns.into(), rows }
    }

    /// Removes the columns that are empty in every row.
    pub(super) fn without_empty_columns(self) -> Self {
        let says = |text: &String| !text.is_empty() && text != NOTHING;
        let full = || self.rows.iter().filter(|row| row.len() > 1);
        let keep: Vec<bool> = (0..self.columns.len())
            .map(|column| column == 0 || full().any(|row| row.get(column).is_some_and(says)))
            .collect();
        let kept = |column: usize| keep[column.min(keep.len() - 1)];
        let columns =
            self.columns.iter().enumerate().filter(|(i, _)| kept(*i)).map(|(_, c)| *c).collect::<Vec<_>>();
        let rows =
            self.rows.into_iter().map(|row| if row.len() == 1 { row } else { pick(row, kept) }).collect();
        Self { columns, rows }
    }

    /// The table in an element that scrolls sideways if it is too wide; cells are escaped here.
    pub(super) fn html(&self, label: &str) -> String {
        let class = |column: &Column| if column.figures { "" } else { " class=\"w\"" };
        let mut html = format!(
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table>\n<thead><tr>",
            escape(label)
        );
        for column in &self.columns {
            html += &format!("<th scope=\"col\"{}>{}</th>", class(column), escape(column.head));
        }
        html += "</tr></thead>\n<tbody>\n";
        for row in &self.rows {
            if let [group] = row.as_slice() {
                html += &format!(
                    "<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"{}\"><span>{}</span></th></tr>\n",
                    self.columns.len(),
                    escape(group)
                );
                continue;
            }
            html += "<tr>";
            for (column, text) in self.columns.iter().zip(row) {
                html += &format!("<td{}>{}</td>", class(column), set(text));
            }
            html += "</tr>\n";
        }
        html + "</tbody></table></div>\n"
    }
}

fn pick(row: Vec<String>, kept: impl Fn(usize) -> bool) -> Vec<String> {
    row.into_iter().enumerate().filter(|(i, _)| kept(*i)).map(|(_, text)| text).collect()
}

/// A folded part. One that `matters` is unfolded in print.
pub(super) fn folded(summary: &str, inner: &str, matters: bool) -> String {
    let class = if matters { " class=\"matters\"" } else { "" };
    format!("<details{class}><summary>{}</summary>\n{inner}</details>\n", escape(summary))
}

/// Pairs of label and value.
pub(super) fn facts(facts: &[(String, String)]) -> String {
    let mut html = String::from("<dl class=\"facts\">\n");
    for (what, value) in facts {
        html += &format!("<div><dt>{}</dt><dd>{}</dd></div>\n", escape(what), set(value));
    }
    html + "</dl>\n"
}

/// A list; empty text for no items.
pub(super) fn bullets<'a>(lines: impl Iterator<Item = &'a String>) -> String {
    let items: String = lines.map(|line| format!("<li>{}</li>\n", set(line))).collect();
    if items.is_empty() { items } else { format!("<ul>\n{items}</ul>\n") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_their_units() {
        assert_eq!(
            set("up to 1.96 GB/s (1 MiB requests), 3 & 4"),
            "up to 1.96\u{A0}GB/s (1\u{A0}MiB requests), 3 &amp; 4"
        );
    }

    #[test]
    fn backquoted_text_becomes_code() {
        assert_eq!(set("use `a<b` or `--x`"), "use <code>a&lt;b</code> or <code>--x</code>");
        assert_eq!(set("a ` b"), "a ` b");
    }

    #[test]
    fn empty_columns_are_left_out() {
        let row = |texts: &[&str]| texts.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>();
        let table = Table::new(
            [words("a"), figures("b"), figures("c")],
            vec![row(&["group"]), row(&["x", NOTHING, "1"]), row(&["y", "", "2"])],
        )
        .without_empty_columns();
        assert_eq!(table.columns.iter().map(|c| c.head).collect::<Vec<_>>(), ["a", "c"]);
        assert_eq!(table.rows, [row(&["group"]), row(&["x", "1"]), row(&["y", "2"])]);
        assert_eq!(Table::new([words("a")], Vec::new()).without_empty_columns().columns.len(), 1);
    }

    #[test]
    fn escapes_everything_that_could_be_markup() {
        assert_eq!(escape("<a b=\"c\" d='e'>&\u{7}"), "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;\u{FFFD}");
        let json = json_for_script(&"</script><!-- \u{2028}");
        assert!(!json.contains('<') && !json.contains('\u{2028}'));
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), "</script><!-- \u{2028}");
    }
}
