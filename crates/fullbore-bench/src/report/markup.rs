//! Text made safe for HTML, and the few shapes of markup used throughout.

use serde::Serialize;

/// Text for element content and for attributes in double quotes.
pub(crate) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // Control characters have no place in HTML; file names may hold them.
            c if c.is_control() && !matches!(c, '\n' | '\t') => safe.push('\u{FFFD}'),
            c => safe.push(c),
        }
    }
    safe
}

/// As [`escape`], with figures bound to their units, so that no line ends in `1.96` and the next begins with `GB/s`.
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
    escape(&bound)
}

const UNITS: [&str; 20] = [
    "B", "KiB", "MiB", "GiB", "TiB", "kB", "MB", "GB", "TB", "B/s", "kB/s", "MB/s", "GB/s", "TB/s", "/s",
    "k/s", "M/s", "ms", "µs", "s",
];

/// JSON that cannot end the script element it stands in: `<` occurs in strings only and is written as its escape.
pub(crate) fn json_for_script(value: &impl Serialize) -> String {
    match serde_json::to_string(value) {
        Ok(json) => {
            json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
        }
        Err(_) => "null".to_owned(),
    }
}

/// A column of a table.
pub(super) struct Column {
    pub(super) head: &'static str,
    /// Whether it holds figures, set flush right.
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

/// A table that scrolls within itself where it is too wide; cells are escaped here. A row of one
/// cell heads the rows after it.
pub(super) fn table(caption: &str, columns: &[Column], rows: &[Vec<String>]) -> String {
    let class = |column: &Column| if column.figures { " class=\"n\"" } else { "" };
    let mut html = String::from("<div class=\"scroll\" tabindex=\"0\"><table>\n");
    if !caption.is_empty() {
        html += &format!("<caption>{}</caption>\n", escape(caption));
    }
    html += "<thead><tr>";
    for column in columns {
        html += &format!("<th scope=\"col\"{}>{}</th>", class(column), escape(column.head));
    }
    html += "</tr></thead>\n<tbody>\n";
    for row in rows {
        if let [group] = row.as_slice() {
            html += &format!(
                "<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"{}\">{}</th></tr>\n",
                columns.len(),
                escape(group)
            );
            continue;
        }
        html += "<tr>";
        for (column, text) in columns.iter().zip(row) {
            html += &format!("<td{}>{}</td>", class(column), set(text));
        }
        html += "</tr>\n";
    }
    html + "</tbody></table></div>\n"
}

/// A folded table: the figures behind a chart.
pub(super) fn folded(summary: &str, inner: &str) -> String {
    format!("<details><summary>{}</summary>\n{inner}</details>\n", escape(summary))
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
    fn escapes_everything_that_could_be_markup() {
        assert_eq!(escape("<a b=\"c\" d='e'>&\u{7}"), "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;\u{FFFD}");
        let json = json_for_script(&"</script><!-- \u{2028}");
        assert!(!json.contains('<') && !json.contains('\u{2028}'));
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), "</script><!-- \u{2028}");
    }
}
