//! A drawn chart, in a page or in a file of its own.

use super::panels::{LineStyle, ON_WHITE, marker};
use crate::block::Figure;
use crate::block::html::{escape, set};

/// The drawing of a chart: the inside of an `svg` element and the keys of its legend.
pub(super) struct Picture {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) body: String,
    /// Legend entry of each `data-line` of the body.
    pub(super) keys: Vec<Key>,
}

pub(super) struct Key {
    pub(super) look: LineStyle,
    /// True if it marks an area, not a line.
    pub(super) patch: bool,
    pub(super) name: String,
}

pub(super) struct Chart {
    /// File name without suffix; unique in a report.
    pub(super) stem: String,
    pub(super) number: usize,
    pub(super) title: String,
    pub(super) caption: String,
    pub(super) described: String,
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
    pub(super) fn patch(colour: usize, name: &str) -> Self {
        Self { look: LineStyle::plain(colour), patch: true, name: name.to_owned() }
    }

    pub(super) fn line(look: LineStyle, name: &str) -> Self {
        Self { look, patch: false, name: name.to_owned() }
    }

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

/// Breaks text at spaces into `most` lines of `width` characters at most; the rest is cut off with an ellipsis.
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
fn clipped(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).collect::<String>() + "…"
}

/// Height of the title and of an entry of the legend.
const LEGEND_LINE: f64 = 18.0;
const MARGIN: f64 = 14.0;
/// Width of a letter of the title.
const LETTER: f64 = 7.2;

const PLAIN_STYLE: &str = "\
text{font:12px sans-serif;fill:#444}.head{font-size:13px;font-weight:bold;fill:#000}\
.value,.point text,.name{fill:#000}.value,.name{font-weight:bold}.grid{stroke:#e2e2e2}.axis,.tick{stroke:#888}\
.rule{fill:none;stroke:#6b5b3e;stroke-dasharray:1.5 3.5}.rule-text{fill:#6b5b3e}\
.l,.whisker,.drop,.ring{fill:none}.l{stroke-width:2;stroke-linejoin:round}.fit{stroke-width:1.5}.course{stroke-width:1}\
.d1 .l{stroke-dasharray:7 5}.d2 .l{stroke-dasharray:1.5 4.5}.d3 .l{stroke-dasharray:9 4 1.5 4}\
.band{opacity:.13}.drop{stroke-dasharray:2 3}.ring{stroke-width:1.6}.bar{opacity:.85}\
.span{fill:none;stroke:#000;stroke-width:1.2}.hit{fill:none}.outline{fill:none;stroke-width:1.4}\
.stage{fill:#fff;stroke:#888}.narrow{stroke:#c24a00;stroke-width:2.5}.mark{fill:#c24a00}\
.flow{fill:none;stroke:#444;stroke-width:1.6}";

/// The chart as a complete SVG document.
pub(super) fn standalone(chart: &Chart) -> String {
    let picture = &chart.picture;
    let width = picture.width + 2.0 * MARGIN;
    let letters = (picture.width / LETTER) as usize;
    let text = format!("{}: {}", chart.title, chart.caption);
    let title = wrapped(&text, letters, 3);
    let head = MARGIN + title.len() as f64 * LEGEND_LINE + 6.0;
    let (legend, tall) = drawn_legend(&picture.keys, picture.width, head + picture.height + 12.0);
    let height = head + picture.height + 12.0 + tall + MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\">\n<title>{}</title>\n<desc>{}</desc>\n<style>{PLAIN_STYLE}{}</style>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n",
        escape(&text),
        escape(&chart.description),
        colours()
    );
    for (i, line) in title.iter().enumerate() {
        svg += &format!(
            "<text class=\"head\" x=\"{MARGIN}\" y=\"{:.1}\">{}</text>\n",
            MARGIN + 11.0 + i as f64 * LEGEND_LINE,
            escape(line)
        );
    }
    svg += &format!("<g transform=\"translate({MARGIN} {head})\">\n{}</g>\n{legend}</svg>\n", picture.body);
    svg
}

/// Style rules that give each colour class its colour: fills and strokes by value, for programs without variables.
fn colours() -> String {
    let rule = |(i, colour): (usize, &&str)| {
        format!(
            ".c{i} .l,.c{i} .whisker,.c{i} .drop,.c{i} .ring,.c{i} .outline{{stroke:{colour}}}\
             .c{i} .m,.c{i} .band,.c{i} .foot,.c{i} .part,.c{i} .bar{{fill:{colour}}}"
        )
    };
    ON_WHITE.iter().enumerate().map(rule).collect()
}

fn drawn_legend(keys: &[Key], width: f64, top: f64) -> (String, f64) {
    let longest = keys.iter().map(|k| k.name.chars().count()).max().unwrap_or(0) as f64 * LETTER + 44.0;
    let columns = if longest * 2.0 <= width { 2 } else { 1 };
    let mut svg = String::new();
    for (i, key) in keys.iter().enumerate() {
        let x = MARGIN + (i % columns) as f64 * width / columns as f64;
        let y = top + (i / columns) as f64 * LEGEND_LINE;
        svg += &format!(
            "<g class=\"{}\">{}</g><text x=\"{:.1}\" y=\"{:.1}\">{}</text>\n",
            key.look.classes(),
            key.sign(x, y),
            x + 38.0,
            y + 10.0,
            escape(&key.name)
        );
    }
    (svg, keys.len().div_ceil(columns) as f64 * LEGEND_LINE)
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
