//! The grids of charts: a line and a number at each tick.

use super::scale::{Scale, tick_text};
use crate::block::html::svg_text;

/// The size of a chart with a rising axis, and the edges of its plot.
pub(super) const WIDTH: f64 = 520.0;
pub(super) const HEIGHT: f64 = 330.0;
pub(super) const LEFT: f64 = 54.0;
pub(super) const RIGHT: f64 = 510.0;
pub(super) const TOP: f64 = 30.0;
pub(super) const BOTTOM: f64 = 280.0;

/// The lines and the title of such a chart.
pub(super) fn plot(y: &Scale, title: &str) -> String {
    format!(
        "{}<line class=\"axis\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{BOTTOM}\" y2=\"{BOTTOM}\"/>{}\n",
        rising(y, LEFT, RIGHT),
        svg_text("title", (4.0, 14.0), "", title)
    )
}

/// Horizontal grid lines from `left` to `right`, numbers before them.
fn rising(y: &Scale, left: f64, right: f64) -> String {
    let line = |&value: &f64| {
        let at = y.place(value);
        format!(
            "<line class=\"grid\" x1=\"{left}\" x2=\"{right}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>{}\n",
            svg_text("", (left - 7.0, at + 4.0), "end", &tick_text(value))
        )
    };
    y.ticks.iter().map(line).collect()
}

/// Vertical grid lines from `top` to `bottom`, texts below; texts at the ends stay within the frame.
pub(super) fn along(x: &Scale, top: f64, bottom: f64, text: impl Fn(f64) -> String) -> String {
    let last = x.ticks.len().saturating_sub(1);
    let line = |(number, &value): (usize, &f64)| {
        let at = x.place(value);
        let anchor = match number {
            0 => "start",
            _ if number == last => "end",
            _ => "middle",
        };
        format!(
            "<line class=\"grid\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{top}\" y2=\"{bottom:.1}\"/>{}\n",
            svg_text("", (at, bottom + 17.0), anchor, &text(value))
        )
    };
    x.ticks.iter().enumerate().map(line).collect()
}

/// The title of the bottom axis, between `left` and `right`.
pub(super) fn title_below(title: &str, left: f64, right: f64, y: f64) -> String {
    svg_text("title", ((left + right) / 2.0, y), "middle", title) + "\n"
}
