//! Text for a terminal: lines of a given width.

use std::fmt::Write;

/// ANSI colours and styles; empty for none.
pub(crate) const BOLD: &str = "1";
pub(crate) const HEADING: &str = "1;34";
pub(crate) const RED: &str = "31";
pub(crate) const GREEN: &str = "32";
pub(crate) const YELLOW: &str = "33";

const NARROWEST: usize = 60;
/// Indentation of lines after the first.
const HANGING: usize = 4;

pub(crate) struct Sheet {
    pub(crate) text: String,
    width: usize,
    colour: bool,
}

impl Sheet {
    /// Empty text of lines of at most `width` characters, 60 at least.
    pub(crate) fn new(width: usize, colour: bool) -> Self {
        Self { text: String::new(), width: width.max(NARROWEST), colour }
    }

    pub(crate) fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "{}", text.trim_end());
    }

    pub(crate) fn lines(&self) -> usize {
        self.text.lines().count()
    }

    /// Adds columns of given widths, and after them a text that is wrapped within its own column.
    pub(crate) fn columns(&mut self, columns: &[(&str, usize)], text: &str) {
        let lead: String = columns.iter().map(|(text, width)| format!("{text:<width$} ")).collect();
        let indent = lead.chars().count();
        for (i, part) in broken(text, self.width - indent).into_iter().enumerate() {
            let lead = if i == 0 { lead.as_str() } else { "" };
            self.line(&format!("{lead:indent$}{part}"));
        }
    }

    /// Adds a command, or a setting in words. A long command continues on further lines, as a shell reads it; a line exceeds the
    /// width only if a word has no comma at which it can be cut.
    pub(crate) fn command(&mut self, text: &str) {
        if !["fullbore ", "dd "].iter().any(|command| text.starts_with(command)) {
            return self.wrapped(4, text);
        }
        let mut line = "   ".to_owned();
        for mut word in text.replace('`', "").split_whitespace() {
            if line.chars().count() + word.chars().count() + " \\ ".len() > self.width {
                self.line(&format!("{line} \\"));
                line = " ".repeat(7);
            }
            // A strategy longer than a line continues after a comma, without indentation: a shell joins the two parts.
            while line.chars().count() + word.chars().count() + " \\ ".len() > self.width {
                let room = self.width - line.chars().count() - " \\".len();
                let ends = word.char_indices().take(room).filter(|(at, c)| *c == ',' && at + 1 < word.len());
                let Some((comma, _)) = ends.last() else { break };
                let (head, rest) = word.split_at(comma + 1);
                self.line(&format!("{line}{}{head}\\", if line.is_empty() { "" } else { " " }));
                (line, word) = (String::new(), rest);
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        self.line(&line);
    }

    fn painted(&self, style: &str, text: &str) -> String {
        if self.colour && !style.is_empty() { format!("\x1b[{style}m{text}\x1b[0m") } else { text.into() }
    }

    pub(crate) fn heading(&mut self, text: &str) {
        self.line("");
        self.styled(0, HEADING, text);
    }

    /// Wraps `text` at spaces: every line is indented by `indent`, lines after the first by four more.
    pub(crate) fn wrapped(&mut self, indent: usize, text: &str) {
        self.styled(indent, "", text);
    }

    pub(crate) fn styled(&mut self, indent: usize, style: &str, text: &str) {
        for (i, part) in broken(text, self.width - indent - HANGING).into_iter().enumerate() {
            let more = if i == 0 { indent } else { indent + HANGING };
            let part = self.painted(style, &part);
            self.line(&format!("{:more$}{part}", ""));
        }
    }

    /// Adds a line that is marked as a warning or a note.
    pub(crate) fn item(&mut self, text: &str) {
        let mark = self.painted(YELLOW, "!");
        for (i, part) in broken(text, self.width - 2).into_iter().enumerate() {
            self.line(&format!("{} {part}", if i == 0 { &mark } else { " " }));
        }
    }

    /// Adds a name and its values, each with width and style; a name too long for its column is on lines above.
    pub(crate) fn row(
        &mut self,
        indent: usize,
        (mut name, style): (&str, &str),
        values: &[(String, usize, &str)],
    ) {
        // At least one blank before a value.
        let width = |(value, width, _): &(String, usize, &str)| (*width).max(value.chars().count() + 1);
        let taken: usize = values.iter().map(width).sum();
        let room = self.width.saturating_sub(taken + indent).max(1);
        if name.chars().count() >= room {
            self.styled(indent, style, name);
            name = "";
        }
        let gap = room - name.chars().count();
        let mut line = format!("{:indent$}{}{:gap$}", "", self.painted(style, name), "");
        for column in values {
            let (value, _, style) = column;
            let gap = width(column) - value.chars().count();
            let _ = write!(line, "{:gap$}{}", "", self.painted(style, value));
        }
        self.line(&line);
    }
}

/// Breaks text into lines of at most `width` characters, at spaces if possible; leaves out backquotes (code in pages).
fn broken(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.replace('`', "").split_whitespace() {
        let letters: Vec<char> = word.chars().collect();
        let mut word = letters.as_slice();
        loop {
            let line = lines.last_mut().expect("there is always a line");
            let used = line.chars().count();
            let gap = usize::from(used > 0);
            if used + gap + word.len() <= width {
                line.extend(std::iter::repeat_n(' ', gap).chain(word.iter().copied()));
                break;
            }
            if used > 0 {
                lines.push(String::new());
                continue;
            }
            // A word longer than a line: a strategy breaks after a comma, a path anywhere.
            let comma = word[..width].iter().rposition(|&c| c == ',').map_or(width, |i| i + 1);
            line.extend(&word[..comma]);
            lines.push(String::new());
            word = &word[comma..];
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn breaks_at_spaces_then_commas_then_anywhere() {
        assert_eq!(broken("a bc def", 4), ["a bc", "def"]);
        assert_eq!(broken("x method=a,b=c", 9), ["x", "method=a,", "b=c"]);
        assert_eq!(broken("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(broken("", 3), [""]);
        assert_eq!(broken("use `a b`", 8), ["use a b"]);
    }

    #[test]
    fn values_wider_than_their_columns_stay_apart() {
        let mut sheet = Sheet::new(60, false);
        sheet.row(2, ("name", ""), &[("0.0137".into(), 8, ""), ("0.0107–0.0173".into(), 13, "")]);
        assert_eq!(sheet.text, format!("  name{:34}0.0137 0.0107–0.0173\n", ""));
        let wide = "1".repeat(20);
        sheet.row(2, ("name", ""), &[(wide.clone(), 8, ""), (wide, 13, "")]);
        assert!(sheet.text.lines().all(|line| line.chars().count() == 60), "{}", sheet.text);
    }

    #[test]
    fn a_text_beside_columns_is_wrapped_in_its_own() {
        let mut sheet = Sheet::new(60, false);
        sheet.columns(&[("name", 20), ("1.00 GB/s", 20)], "some words that do not fit");
        assert_eq!(sheet.text.lines().map(|line| line.chars().count()).max(), Some(60));
        assert_eq!(sheet.text.lines().nth(1), Some(format!("{:42}not fit", "").as_str()));
    }

    #[test]
    fn a_long_command_continues_as_a_shell_reads_it() {
        let mut sheet = Sheet::new(60, false);
        let command = format!("fullbore gen --overwrite --strategy {} SIZE FILE", "x".repeat(70));
        sheet.command(&command);
        let lines: Vec<&str> = sheet.text.lines().collect();
        assert_eq!(lines[0], "    fullbore gen --overwrite --strategy \\");
        assert!(lines[1].chars().count() > 60 && lines[2].chars().count() <= 60, "{lines:?}");
        let joined = sheet.text.replace("\\\n", " ");
        assert_eq!(joined.split_whitespace().collect::<Vec<_>>().join(" "), command);
    }

    #[test]
    fn a_strategy_longer_than_a_line_continues_after_a_comma() {
        let strategy = "method=buffered,request=512K,workers=2,model=pool,stripe=1M,alloc=fallocate";
        let command = format!("fullbore copy --strategy {strategy} FROM TO");
        for width in [60, 80] {
            let mut sheet = Sheet::new(width, false);
            sheet.command(&command);
            assert!(sheet.text.lines().all(|line| line.chars().count() <= width), "{}", sheet.text);
            let joined = sheet.text.replace(" \\\n", " ").replace("\\\n", "");
            assert_eq!(joined.split_whitespace().collect::<Vec<_>>().join(" "), command);
        }
    }
}
