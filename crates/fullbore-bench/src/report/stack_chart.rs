//! Horizontal bars of parts that make a whole: phases of a request.

use super::frame;
use super::palette::LineStyle;
use super::picture::{Key, Picture, clipped};
use crate::block::html::{escape, svg_text};

/// One bar.
pub(super) struct Stack {
    pub(super) name: String,
    /// The whole as text with its unit, at the end of the bar.
    pub(super) text: String,
    /// The size of each part, in the order of the chart's parts; 0 if unknown.
    pub(super) sizes: Vec<f64>,
    /// Tooltip of each part.
    pub(super) tips: Vec<String>,
}

/// A chart.
pub(super) struct StackChart {
    /// The parts: name and colour.
    pub(super) parts: Vec<(&'static str, usize)>,
    pub(super) stacks: Vec<Stack>,
}

const WIDTH: f64 = 520.0;
const LEFT: f64 = 6.0;
const RIGHT: f64 = 506.0;
const TOP: f64 = 6.0;
/// Height of a bar with its name above.
const ROW: f64 = 36.0;
const BAR: f64 = 15.0;
/// Characters of a name that leave room for the figure beside it.
const LONGEST_NAME: usize = 44;

impl StackChart {
    /// The drawing: every bar has full length, so that shares can be compared.
    pub(super) fn picture(&self) -> Picture {
        let bottom = TOP + ROW * self.stacks.len() as f64 + 4.0;
        let place = |share: f64| LEFT + share * (RIGHT - LEFT);
        let mut svg = String::from("<g class=\"frame\">\n");
        for quarter in 0..=4u32 {
            let at = place(f64::from(quarter) / 4.0);
            let anchor = ["start", "middle", "middle", "middle", "end"][quarter as usize];
            svg += &format!(
                "<line class=\"grid\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{bottom:.1}\"/>{}\n",
                svg_text("", (at, bottom + 17.0), anchor, &format!("{}%", quarter * 25))
            );
        }
        let height = bottom + 46.0;
        svg += &frame::title_below("share of a request’s time", LEFT, RIGHT, height - 8.0);
        svg += "</g>\n";
        for (row, stack) in self.stacks.iter().enumerate() {
            let y = TOP + ROW * row as f64 + 13.0;
            svg += &format!(
                "<g class=\"point\">{}{}</g>\n",
                svg_text("", (LEFT, y), "", &clipped(&stack.name, LONGEST_NAME)),
                svg_text("value", (RIGHT, y), "end", &stack.text)
            );
        }
        for (part, (_, colour)) in self.parts.iter().enumerate() {
            svg += &format!("<g class=\"series c{colour}\" data-line=\"{part}\">\n");
            for (row, stack) in self.stacks.iter().enumerate() {
                let whole: f64 = stack.sizes.iter().sum();
                let size = stack.sizes[part];
                if whole <= 0.0 || size <= 0.0 {
                    continue;
                }
                let from = stack.sizes[..part].iter().sum::<f64>() / whole;
                svg += &format!(
                    "<g class=\"point\"><title>{}</title><rect class=\"part\" x=\"{:.1}\" y=\"{:.1}\" \
                     width=\"{:.1}\" height=\"{BAR}\"/></g>\n",
                    escape(&stack.tips[part]),
                    place(from),
                    TOP + ROW * row as f64 + 18.0,
                    size / whole * (RIGHT - LEFT)
                );
            }
            svg += "</g>\n";
        }
        let keys = self.parts.iter().map(|(name, colour)| Key {
            look: LineStyle::plain(*colour),
            patch: true,
            name: (*name).to_owned(),
        });
        Picture { width: WIDTH, height, body: svg, keys: keys.collect() }
    }
}
