//! A drawn chart, before it goes into a page or a file of its own.

use super::palette::{LineStyle, marker};
use crate::block::Figure;
use crate::block::html::{escape, set};

/// The drawing of a chart: the inside of an `svg` element and the keys of its legend.
pub(super) struct Picture {
    pub(super) width: f64,
    pub(super) height: f64,
    /// Content of the `svg` element.
    pub(super) body: String,
    /// Legend entry of each `data-line` of the body.
    pub(super) keys: Vec<Key>,
}

/// An entry of a legend.
pub(super) struct Key {
    pub(super) look: LineStyle,
    /// True if it marks an area, not a line.
    pub(super) patch: bool,
    pub(super) name: String,
}

/// A chart of a chapter.
pub(super) struct Chart {
    /// File name without suffix; unique in a report.
    pub(super) stem: String,
    /// Its number in the report, from 1.
    pub(super) number: usize,
    /// The title of its chapter.
    pub(super) title: String,
    pub(super) caption: String,
    /// Explanation after the caption.
    pub(super) described: String,
    /// Text alternative.
    pub(super) description: String,
    pub(super) picture: Picture,
}

impl Chart {
    /// The chart as a `figure` element; with scripting, the keys of its legend show and hide lines.
    pub(super) fn figure(&self) -> Figure {
        let Picture { width, height, body, .. } = &self.picture;
        let wide = if *width > 600.0 { " class=\"wide\"" } else { "" };
        let html = format!(
            "<figure{wide}>\n<figcaption><b>Figure {}.</b> {}.{}</figcaption>\n<div class=\"plot\"><svg class=\"chart\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\">\n{body}</svg></div>\n{}</figure>\n",
            self.number,
            set(&self.caption),
            set(&self.described),
            escape(&self.description),
            self.legend()
        );
        Figure { html, text: Some(format!("Figure {}. {}", self.number, self.description)) }
    }

    fn legend(&self) -> String {
        if self.picture.keys.is_empty() {
            return String::new();
        }
        let mut html = String::from("<ul class=\"legend\">\n");
        for (number, key) in self.picture.keys.iter().enumerate() {
            html += &format!(
                "<li><button type=\"button\" data-line=\"{number}\" aria-pressed=\"true\"><svg class=\"{}\" \
                 viewBox=\"0 0 30 12\" aria-hidden=\"true\">{}</svg>{}</button></li>\n",
                key.look.classes(),
                key.sign(0.0, 0.0),
                escape(&key.name)
            );
        }
        html + "</ul>\n"
    }
}

impl Key {
    /// The sign of the key in a box of 30 by 12 with its corner at (x, y).
    pub(super) fn sign(&self, x: f64, y: f64) -> String {
        if self.patch {
            return format!(
                "<rect class=\"part\" x=\"{:.0}\" y=\"{:.0}\" width=\"14\" height=\"12\"/>",
                x + 8.0,
                y
            );
        }
        format!(
            "<path class=\"l\" d=\"M{:.0} {:.0}h28\"/>{}",
            x + 1.0,
            y + 6.0,
            marker(self.look.marker, x + 15.0, y + 6.0)
        )
    }
}

/// Breaks text at spaces into at most `most` lines of at most `width` characters; the rest is cut off with an
/// ellipsis.
pub(super) fn wrapped(text: &str, width: usize, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    let over = lines.len() > most;
    lines.truncate(most);
    let last = lines.len().saturating_sub(1);
    for (i, line) in lines.iter_mut().enumerate() {
        if over && i == last {
            line.push_str(" …");
        }
        *line = clipped(line, width);
    }
    lines
}

/// Text of at most `width` characters, with an ellipsis if it was longer.
pub(crate) fn clipped(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).collect::<String>() + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_fits_its_box() {
        assert_eq!(wrapped("a bc def", 4, 3), ["a bc", "def"]);
        assert_eq!(wrapped("aa bb cc dd", 5, 1), ["aa b…"]);
        assert_eq!(wrapped("abcdefgh", 5, 2), ["abcd…"]);
        assert_eq!(clipped("abc", 3), "abc");
        assert!(wrapped("", 5, 2).is_empty());
    }
}
