//! GitHub Markdown, without links; text is escaped.

use super::{Block, Fold, Item, Section, Table, TableOf};

pub(crate) fn section(section: &Section) -> String {
    format!("## {}\n\n{}", escape(&section.title), blocks(&section.blocks))
}

fn blocks(blocks: &[Block]) -> String {
    blocks.iter().map(block).collect()
}

fn block(block: &Block) -> String {
    match block {
        Block::Heading(text) => format!("### {}\n\n", escape(text)),
        Block::Question(text) | Block::Paragraph(text) => format!("{}\n\n", escape(text)),
        Block::Labelled(label, text) => format!("**{label}:** {}\n\n", escape(text)),
        Block::List(lines) => list(lines.iter().map(|line| format!("- {}\n", escape(line)))),
        Block::Numbered(items) => list(items.iter().map(item)),
        Block::Facts(facts) => {
            let facts = TableOf::new(facts).words("what", |fact| fact.0.clone());
            table(&facts.words("value", |fact| fact.1.clone()).table())
        }
        Block::Findings { then, here } => {
            let then = then.iter().map(|then| {
                format!("- **{}:** {} ({})\n", then.year, escape(&then.found), escape(&then.source))
            });
            list(then.chain([format!("- **Here:** {}\n", escape(&here.join(" ")))]))
        }
        Block::Table { table, .. } => self::table(table),
        Block::Folded { title, fold: Fold::Everywhere, blocks: inner } => {
            format!("<details><summary>{}</summary>\n\n{}</details>\n\n", escape(title), blocks(inner))
        }
        Block::Folded { title, blocks: inner, .. } => {
            format!("### {}\n\n{}", escape(title), blocks(inner))
        }
        Block::Code(text) => text.lines().map(|line| format!("    {line}\n")).collect::<String>() + "\n",
        Block::Figures(figures) => {
            let texts = figures.iter().filter_map(|figure| figure.text.as_ref());
            texts.map(|text| format!("{}\n\n", escape(text))).collect()
        }
        Block::PageOnly(_) | Block::Tiles(_) => String::new(),
    }
}

/// Lines with an empty line after them, if there are any.
fn list(lines: impl Iterator<Item = String>) -> String {
    let text: String = lines.collect();
    if text.is_empty() { text } else { text + "\n" }
}

fn item(item: &Item) -> String {
    let chapter =
        item.link.as_ref().map_or_else(String::new, |(_, title)| format!(" (chapter “{}”)", escape(title)));
    format!(
        "{}. **{}** {} _{}_{chapter}\n",
        item.number,
        escape(&item.text),
        escape(&item.evidence),
        escape(&item.tag.1)
    )
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
pub(crate) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            // Pages turn what is between backquotes into code.
            '`' => {}
            '\\' | '*' | '_' | '[' | ']' | '|' | '~' | '#' => {
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
        assert_eq!(escape("a|b `c` *d* <e> [f](g)"), "a\\|b c \\*d\\* &lt;e&gt; \\[f\\](g)");
        assert_eq!(escape("see: https://x.y/ @z\nnext"), "see: https&#58;//x.y/ &#64;z next");
        assert_eq!(escape("shift:10"), "shift:10");
    }

    #[test]
    fn a_table_has_a_cell_for_each_column() {
        let made = TableOf::named("a", vec![("g".into(), None), ("x".into(), Some("1|2"))]);
        let made = made.figures("b", |text| (*text).into()).table();
        assert_eq!(table(&made), "| a | b |\n| --- | ---: |\n| **g** |  |\n| x | 1\\|2 |\n\n");
    }
}
