//! Charts as files of their own, for papers: on white, with title and legend, in colours that need no style sheet.

use super::palette::ON_WHITE;
use super::picture::{Chart, Key, wrapped};
use crate::block::html::escape;

/// Height of the title and of an entry of the legend.
const LINE: f64 = 18.0;
const MARGIN: f64 = 14.0;
/// Width of a letter of the title.
const LETTER: f64 = 7.2;

const STYLE: &str = "\
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
pub(super) fn svg(chart: &Chart) -> String {
    let picture = &chart.picture;
    let width = picture.width + 2.0 * MARGIN;
    let letters = (picture.width / LETTER) as usize;
    let text = format!("{}: {}", chart.title, chart.caption);
    let title = wrapped(&text, letters, 3);
    let head = MARGIN + title.len() as f64 * LINE + 6.0;
    let (legend, tall) = legend(&picture.keys, picture.width, head + picture.height + 12.0);
    let height = head + picture.height + 12.0 + tall + MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\">\n<title>{}</title>\n<desc>{}</desc>\n<style>{STYLE}{}</style>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n",
        escape(&text),
        escape(&chart.description),
        colours()
    );
    for (i, line) in title.iter().enumerate() {
        svg += &format!(
            "<text class=\"head\" x=\"{MARGIN}\" y=\"{:.1}\">{}</text>\n",
            MARGIN + 11.0 + i as f64 * LINE,
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

/// The legend in one or two columns, and its height.
fn legend(keys: &[Key], width: f64, top: f64) -> (String, f64) {
    let longest = keys.iter().map(|k| k.name.chars().count()).max().unwrap_or(0) as f64 * LETTER + 44.0;
    let columns = if longest * 2.0 <= width { 2 } else { 1 };
    let mut svg = String::new();
    for (i, key) in keys.iter().enumerate() {
        let x = MARGIN + (i % columns) as f64 * width / columns as f64;
        let y = top + (i / columns) as f64 * LINE;
        svg += &format!(
            "<g class=\"{}\">{}</g><text x=\"{:.1}\" y=\"{:.1}\">{}</text>\n",
            key.look.classes(),
            key.sign(x, y),
            x + 38.0,
            y + 10.0,
            escape(&key.name)
        );
    }
    (svg, keys.len().div_ceil(columns) as f64 * LINE)
}
