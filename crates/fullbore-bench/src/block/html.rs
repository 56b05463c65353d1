//! Pages: text made safe for HTML, and the elements of blocks.

use std::fmt::Write;

use serde::Serialize;

use super::{Block, Figure, Fold, Item, Rating, Section, Table, short};

pub(crate) const STYLE: &str = concat!(
    include_str!("../report/style/colours.css"),
    include_str!("../report/style/page.css"),
    include_str!("../report/style/chart.css"),
    include_str!("../report/style/media.css")
);
/// Content security policy: nothing may be loaded; only the page's own script and style run.
const POLICY: &str = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      base-uri 'none'; form-action 'none'";
/// A rising line. Percent-encoded throughout, so that the file contains no host address.
const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http%3A%2F%2Fwww.w3.org%2F2000%2Fsvg' viewBox='0 0 16 16'%3E\
                    %3Crect width='16' height='16' rx='3' fill='%230a5a94'/%3E%3Cpath d='M3 12L7 6L13 4' \
                    stroke='white' stroke-width='2' fill='none'/%3E%3C/svg%3E";

/// A complete page that requests nothing from anywhere. `style` follows the style of all pages; `body` is markup.
pub(crate) fn page(title: &str, style: &str, body: &str, script: &str) -> String {
    let title = escape(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<link rel=\"icon\" href=\"{ICON}\">\n<style>\n{STYLE}{style}</style>\n</head>\n\
         <body>\n{body}<script>\n{script}</script>\n</body>\n</html>\n"
    )
}

/// The element that holds data of a page as JSON.
pub(crate) fn data(id: &str, value: &impl Serialize) -> String {
    format!("<script type=\"application/json\" id=\"{id}\">{}</script>\n", json_for_script(value))
}

pub(crate) fn section(section: &Section) -> String {
    format!(
        "<section id=\"{}\">\n<h2>{}</h2>\n{}</section>\n",
        escape(&section.id),
        escape(&section.title),
        blocks(&section.blocks)
    )
}

fn blocks(blocks: &[Block]) -> String {
    blocks.iter().map(block).collect()
}

fn block(block: &Block) -> String {
    match block {
        Block::Heading(text) => format!("<h3>{}</h3>\n", escape(text)),
        Block::Question(text) => format!("<p class=\"question\">{}</p>\n", set(text)),
        Block::Paragraph(text) => format!("<p class=\"note\">{}</p>\n", set(text)),
        Block::Labelled(label, text) => format!("<p class=\"care\"><b>{label}:</b> {}</p>\n", set(text)),
        Block::List(lines) if lines.is_empty() => String::new(),
        Block::List(lines) => {
            let items: String = lines.iter().map(|line| format!("<li>{}</li>\n", set(line))).collect();
            format!("<ul class=\"sentences\">\n{items}</ul>\n")
        }
        Block::Numbered(items) => {
            format!("<ol class=\"numbered\">\n{}</ol>\n", items.iter().map(item).collect::<String>())
        }
        Block::Facts(facts) => {
            let pair = |(label, value): &(String, String)| {
                format!("<div><dt>{}</dt><dd>{}</dd></div>\n", escape(label), set(value))
            };
            format!("<dl class=\"facts\">\n{}</dl>\n", facts.iter().map(pair).collect::<String>())
        }
        Block::Findings { then, here } => {
            let mut html = String::from("<div class=\"findings\">\n");
            if !then.is_empty() {
                html += "<div class=\"then\"><h3>Then</h3>\n";
                for then in then {
                    let (found, source) = (set(&then.found), escape(&then.source));
                    let _ = writeln!(html, "<p><b>{}</b> {found} <cite>{source}</cite></p>", then.year);
                }
                html += "</div>\n";
            }
            let here: String = here.iter().map(|sentence| format!("<p>{}</p>\n", set(sentence))).collect();
            html + &format!("<div class=\"here\"><h3>Here</h3>\n{here}</div>\n</div>\n")
        }
        Block::Table { label, table } => self::table(label, table),
        Block::Folded { title, fold, blocks: inner } => {
            let class = if *fold == Fold::Screen { " class=\"matters\"" } else { "" };
            format!("<details{class}><summary>{}</summary>\n{}</details>\n", escape(title), blocks(inner))
        }
        Block::Code(text) => format!("<pre tabindex=\"0\">{}</pre>\n", escape(text)),
        Block::Figures(figures) if figures.is_empty() => String::new(),
        Block::Figures(figures) => {
            let all: String = figures.iter().map(|Figure { html, .. }| html.as_str()).collect();
            format!("<div class=\"figures\">\n{all}</div>\n")
        }
        Block::PageOnly(inner) => blocks(inner),
        Block::Tiles(tiles) => {
            let tile = |[name, figure, how]: &[String; 3]| {
                let (number, unit) = figure.split_once(' ').unwrap_or((figure, ""));
                format!(
                    "<div><dt>{}</dt><dd><b>{}</b> {}<small>{}</small></dd></div>\n",
                    escape(name),
                    escape(number),
                    escape(unit),
                    set(how)
                )
            };
            format!("<dl class=\"tiles\">\n{}</dl>\n", tiles.iter().map(tile).collect::<String>())
        }
    }
}

fn item(item: &Item) -> String {
    let class = match item.tag.0 {
        Rating::Good => "good",
        Rating::Fair => "fair",
        Rating::Poor => "poor",
        Rating::Open => "open",
    };
    let link = item.link.as_ref().map_or_else(String::new, |(id, title)| {
        format!(" <a href=\"#{}\">{}</a>", escape(id), escape(short(title)))
    });
    format!(
        "<li value=\"{}\"><p>{}</p><p class=\"evidence\"><span class=\"tag {class}\">{}</span> {}{link}</p></li>\n",
        item.number,
        set(&item.text),
        set(&item.tag.1),
        set(&item.evidence)
    )
}

/// A table in an element that scrolls sideways if it is too wide.
fn table(label: &str, table: &Table) -> String {
    let class = |figures: bool| if figures { "" } else { " class=\"w\"" };
    let mut html = format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table>\n<thead><tr>",
        escape(label)
    );
    for column in &table.columns {
        let _ = write!(html, "<th scope=\"col\"{}>{}</th>", class(column.figures), escape(column.head));
    }
    html += "</tr></thead>\n<tbody>\n";
    for row in &table.rows {
        if let [group] = row.as_slice() {
            let _ = writeln!(
                html,
                "<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"{}\"><span>{}</span></th></tr>",
                table.columns.len(),
                escape(group)
            );
            continue;
        }
        let cell = |(column, text): (&super::table::Column, &String)| {
            format!("<td{}>{}</td>", class(column.figures), set(text))
        };
        let _ = writeln!(html, "<tr>{}</tr>", table.columns.iter().zip(row).map(cell).collect::<String>());
    }
    html + "</tbody></table></div>\n"
}

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

/// Escapes text for element content. Figures stay on the line of their units; text in backquotes becomes `code`.
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

/// Turns pairs of backquotes into `code` elements; of an odd number all are left out.
fn code(html: &str) -> String {
    if html.matches('`').count() % 2 == 1 {
        return html.replace('`', "");
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

/// A `text` element of a chart. `class` and `anchor` are left out if they are empty.
pub(crate) fn svg_text(class: &str, (x, y): (f64, f64), anchor: &str, text: &str) -> String {
    let attribute = |name: &str, value: &str| match value {
        "" => String::new(),
        value => format!(" {name}=\"{value}\""),
    };
    let (class, anchor) = (attribute("class", class), attribute("text-anchor", anchor));
    format!("<text{class} x=\"{x:.1}\" y=\"{y:.1}\"{anchor}>{}</text>", escape(text))
}

/// JSON that cannot end its script element: `<` occurs in strings only and is written as its escape.
fn json_for_script(value: &impl Serialize) -> String {
    match serde_json::to_string(value) {
        Ok(json) => {
            json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
        }
        Err(_) => "null".to_owned(),
    }
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
        assert_eq!(set("a ` b"), "a  b");
    }

    #[test]
    fn escapes_everything_that_could_be_markup() {
        assert_eq!(escape("<a b=\"c\" d='e'>&\u{7}"), "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;\u{FFFD}");
        let json = json_for_script(&"</script><!-- \u{2028}");
        assert!(!json.contains('<') && !json.contains('\u{2028}'));
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), "</script><!-- \u{2028}");
    }
}
