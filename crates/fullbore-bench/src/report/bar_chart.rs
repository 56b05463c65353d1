//! Horizontal bars with intervals: for cells that share no axis.

use super::frame;
use super::picture::{Picture, clipped};
use super::scale::{Scale, tick_text};
use crate::block::html::{escape, svg_text};
use crate::stats::Estimate;

/// One bar.
pub(super) struct Bar {
    pub(super) name: String,
    pub(super) colour: usize,
    /// Value with its interval, in the chart's unit.
    pub(super) value: Estimate,
    /// The value as text with its unit.
    pub(super) text: String,
    /// Tooltip.
    pub(super) tip: String,
}

/// A chart.
pub(super) struct BarChart {
    pub(super) x_title: String,
    pub(super) bars: Vec<Bar>,
    /// A vertical line across the chart, such as the roof.
    pub(super) rule: Option<(f64, String)>,
}

const WIDTH: f64 = 520.0;
const LEFT: f64 = 6.0;
const RIGHT: f64 = 506.0;
const TOP: f64 = 24.0;
/// Height of a bar with its name above.
const ROW: f64 = 38.0;
const BAR: f64 = 13.0;
/// Characters of a name that leave room for the figure beside it; the table has the whole name.
const LONGEST_NAME: usize = 48;

impl BarChart {
    /// The drawing.
    pub(super) fn picture(&self) -> Picture {
        let ruled = self.rule.as_ref().map_or(0.0, |r| r.0);
        let highest = self.bars.iter().map(|b| b.value.high).fold(ruled, f64::max);
        let x = Scale::linear(highest, LEFT, RIGHT);
        let bottom = TOP + ROW * self.bars.len() as f64 + 4.0;
        let height = bottom + 46.0;
        let mut svg = format!(
            "<g class=\"frame\">\n{}{}</g>\n",
            frame::along(&x, TOP, bottom, tick_text),
            frame::title_below(&self.x_title, LEFT, RIGHT, height - 8.0)
        );
        if let Some((value, text)) = &self.rule {
            let at = x.place(*value);
            // Beside the bars only, so that the figures above them stay clear.
            let rows = (0..self.bars.len()).map(|row| TOP + ROW * row as f64 + 14.0);
            let marks: String = rows.map(|y| format!("M{at:.1} {y:.1}v{:.1}", BAR + 8.0)).collect();
            svg += &format!(
                "<path class=\"rule\" d=\"{marks}\"/>{}\n",
                svg_text("rule-text", (at, TOP - 8.0), "end", text)
            );
        }
        for (row, bar) in self.bars.iter().enumerate() {
            svg += &draw(bar, TOP + ROW * row as f64, &x);
        }
        Picture { width: WIDTH, height, body: svg, keys: Vec::new() }
    }
}

fn draw(bar: &Bar, top: f64, x: &Scale) -> String {
    let end = x.place(bar.value.value);
    let (low, high) = (x.place(bar.value.low), x.place(bar.value.high));
    let (y, middle) = (top + 18.0, top + 18.0 + BAR / 2.0);
    let mut svg = format!("<g class=\"point c{}\"><title>{}</title>", bar.colour, escape(&bar.tip));
    svg += &svg_text("", (LEFT, top + 13.0), "", &clipped(&bar.name, LONGEST_NAME));
    svg += &svg_text("value", (RIGHT, top + 13.0), "end", &bar.text);
    svg += &format!(
        "<rect class=\"bar\" x=\"{LEFT}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{BAR}\"/>",
        (end - LEFT).max(0.5)
    );
    if high - low > 1.0 {
        svg += &format!(
            "<path class=\"span\" d=\"M{low:.1} {middle:.1}H{high:.1}M{low:.1} {:.1}v8M{high:.1} {:.1}v8\"/>",
            middle - 4.0,
            middle - 4.0
        );
    }
    svg += &format!(
        "<rect class=\"hit\" x=\"{LEFT}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{ROW}\"/>",
        RIGHT - LEFT
    );
    svg + "</g>\n"
}
