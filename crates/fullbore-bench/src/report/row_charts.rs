//! Charts with a row for each cell, for cells that share no axis: bars, bars of parts, percentiles.

use super::panels::{LineStyle, marker};
use super::picture::{Key, Picture};
use super::scale::{Scale, along, tick_text, title_below, trimmed};
use crate::block::html::{escape, svg_text};
use crate::document::Latency;
use crate::stats::Estimate;
use crate::units;

pub(super) type Percentile = fn(&Latency) -> f64;

pub(super) const PERCENTILES: [(&str, Percentile); 4] =
    [("p50", |l| l.p50_s), ("p90", |l| l.p90_s), ("p99", |l| l.p99_s), ("p99.9", |l| l.p999_s)];

/// The phases of a request's time with their colours.
pub(super) const PARTS: [(&str, usize); 4] = [("submit", 4), ("queue", 1), ("device", 0), ("complete", 2)];

const WIDTH: f64 = 520.0;
/// Ends of the bars and of the texts above them.
const LEFT: f64 = 6.0;
const RIGHT: f64 = 506.0;

fn frame(x: &Scale, (top, bottom): (f64, f64), title: &str, text: impl Fn(f64) -> String) -> String {
    let (grid, title) = (along(x, top, bottom, text), title_below(title, LEFT, RIGHT, bottom + 38.0));
    format!("<g class=\"frame\">\n{grid}{title}</g>\n")
}

fn picture(bottom: f64, body: String, keys: Vec<Key>) -> Picture {
    Picture { width: WIDTH, height: bottom + 46.0, body, keys }
}

/// The name of a row, shortened to leave room for its figure.
fn heading(y: f64, name: &str, longest: usize, figure: &str) -> String {
    svg_text("", (LEFT, y), "", &units::shortened(name, longest))
        + &svg_text("value", (RIGHT, y), "end", figure)
}

pub(super) struct Bar {
    pub(super) name: String,
    pub(super) colour: usize,
    pub(super) value: Estimate,
    /// The value as text with its unit.
    pub(super) text: String,
    pub(super) tip: String,
}

pub(super) struct BarChart {
    pub(super) x_title: String,
    pub(super) bars: Vec<Bar>,
    /// A vertical line across the chart, such as the roof.
    pub(super) rule: Option<(f64, String)>,
}

impl BarChart {
    const TOP: f64 = 24.0;
    const ROW: f64 = 38.0;
    const HEIGHT: f64 = 13.0;

    pub(super) fn picture(&self) -> Picture {
        let (top, row, height) = (Self::TOP, Self::ROW, Self::HEIGHT);
        let ruled = self.rule.as_ref().map_or(0.0, |r| r.0);
        let highest = self.bars.iter().map(|b| b.value.high).fold(ruled, f64::max);
        let x = Scale::linear(highest, LEFT, RIGHT);
        let bottom = top + row * self.bars.len() as f64 + 4.0;
        let mut svg = frame(&x, (top, bottom), &self.x_title, tick_text);
        if let Some((value, text)) = &self.rule {
            let at = x.place(*value);
            // Beside the bars only, so that the figures above them stay clear.
            let rows = (0..self.bars.len()).map(|number| top + row * number as f64 + 14.0);
            let marks: String = rows.map(|y| format!("M{at:.1} {y:.1}v{:.1}", height + 8.0)).collect();
            let text = svg_text("rule-text", (at, top - 8.0), "end", text);
            svg += &format!("<path class=\"rule\" d=\"{marks}\"/>{text}\n");
        }
        for (number, bar) in self.bars.iter().enumerate() {
            svg += &Self::draw(bar, top + row * number as f64, &x);
        }
        picture(bottom, svg, Vec::new())
    }

    fn draw(bar: &Bar, top: f64, x: &Scale) -> String {
        let (row, height) = (Self::ROW, Self::HEIGHT);
        let [end, low, high] = [bar.value.value, bar.value.low, bar.value.high].map(|value| x.place(value));
        let (y, middle) = (top + 18.0, top + 18.0 + height / 2.0);
        let mut svg = format!(
            "<g class=\"point c{}\"><title>{}</title>{}<rect class=\"bar\" x=\"{LEFT}\" y=\"{y:.1}\" width=\"{:.1}\" \
             height=\"{height}\"/>",
            bar.colour,
            escape(&bar.tip),
            heading(top + 13.0, &bar.name, 48, &bar.text),
            (end - LEFT).max(0.5)
        );
        if high - low > 1.0 {
            let ends = middle - 4.0;
            svg += &format!(
                "<path class=\"span\" d=\"M{low:.1} {middle:.1}H{high:.1}M{low:.1} {ends:.1}v8M{high:.1} {ends:.1}v8\"/>"
            );
        }
        let width = RIGHT - LEFT;
        svg += &format!(
            "<rect class=\"hit\" x=\"{LEFT}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{row}\"/></g>\n"
        );
        svg
    }
}

/// A bar of parts that make a whole.
pub(super) struct Stack {
    pub(super) name: String,
    /// The whole as text with its unit, at the end of the bar.
    pub(super) text: String,
    /// The size of each of the [`PARTS`]; 0 if unknown.
    pub(super) sizes: Vec<f64>,
    pub(super) tips: Vec<String>,
}

/// A chart of bars of full length, so that shares can be compared.
pub(super) fn shares(stacks: &[Stack]) -> Picture {
    let (top, row, height) = (6.0, 36.0, 15.0);
    let bottom = top + row * stacks.len() as f64 + 4.0;
    let x = Scale::shares(LEFT, RIGHT);
    let quarter = |share: f64| format!("{:.0}%", share * 100.0);
    let mut svg = frame(&x, (top, bottom), "share of a request’s time", quarter);
    for (number, stack) in stacks.iter().enumerate() {
        let heading = heading(top + row * number as f64 + 13.0, &stack.name, 44, &stack.text);
        svg += &format!("<g class=\"point\">{heading}</g>\n");
    }
    for (part, (_, colour)) in PARTS.iter().enumerate() {
        svg += &format!("<g class=\"series c{colour}\" data-line=\"{part}\">\n");
        for (number, stack) in stacks.iter().enumerate() {
            let (whole, size) = (stack.sizes.iter().sum::<f64>(), stack.sizes[part]);
            if whole <= 0.0 || size <= 0.0 {
                continue;
            }
            svg += &format!(
                "<g class=\"point\"><title>{}</title><rect class=\"part\" x=\"{:.1}\" y=\"{:.1}\" \
                 width=\"{:.1}\" height=\"{height}\"/></g>\n",
                escape(&stack.tips[part]),
                x.place(stack.sizes[..part].iter().sum::<f64>() / whole),
                top + row * number as f64 + 18.0,
                size / whole * (RIGHT - LEFT)
            );
        }
        svg += "</g>\n";
    }
    picture(bottom, svg, PARTS.iter().map(|(name, colour)| Key::patch(*colour, name)).collect())
}

pub(super) struct Range {
    pub(super) name: String,
    pub(super) text: String,
    /// The [`PERCENTILES`] in seconds, rising.
    pub(super) seconds: Vec<f64>,
    pub(super) tips: Vec<String>,
}

/// A chart of percentiles on a logarithmic axis.
pub(super) fn percentiles(ranges: &[Range]) -> Picture {
    let (top, row, line) = (6.0, 36.0, 25.0);
    let values = || ranges.iter().flat_map(|r| r.seconds.iter().copied()).filter(|s| *s > 0.0);
    let (lowest, highest) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    let x = Scale::logarithmic(lowest, highest, 12.0, 500.0);
    let bottom = top + row * ranges.len() as f64 + 4.0;
    let mut svg = frame(&x, (top, bottom), "request time (logarithmic)", short);
    for (number, range) in ranges.iter().enumerate() {
        let top = top + row * number as f64;
        let ends = (range.seconds.first().copied(), range.seconds.last().copied());
        let (from, to) = (x.place(ends.0.unwrap_or(lowest)), x.place(ends.1.unwrap_or(highest)));
        let (heading, y) = (heading(top + 13.0, &range.name, 34, &range.text), top + line);
        svg += &format!(
            "<g class=\"point\">{heading}<path class=\"axis\" d=\"M{from:.1} {y:.1}H{to:.1}\"/></g>\n"
        );
    }
    for percentile in 0..PERCENTILES.len() {
        let look = percentile_style(percentile);
        svg += &format!("<g class=\"series {}\" data-line=\"{percentile}\">\n", look.classes());
        for (number, range) in ranges.iter().enumerate() {
            let Some(&seconds) = range.seconds.get(percentile).filter(|s| **s > 0.0) else { continue };
            let mark = marker(look.marker, x.place(seconds), top + row * number as f64 + line);
            let tip = escape(&range.tips[percentile]);
            svg += &format!("<g class=\"point\"><title>{tip}</title>{mark}</g>\n");
        }
        svg += "</g>\n";
    }
    let keys = PERCENTILES.iter().enumerate().map(|(i, (name, _))| Key::line(percentile_style(i), name));
    picture(bottom, svg, keys.collect())
}

/// A percentile's style, the same in every chart of latencies.
pub(super) fn percentile_style(percentile: usize) -> LineStyle {
    let colour = [2, 0, 4, 1][percentile % 4];
    LineStyle { colour, dash: 0, marker: percentile }
}

/// A time as a tick: `20 µs`.
fn short(seconds: f64) -> String {
    let text = units::seconds(seconds);
    match text.split_once(' ') {
        Some((number, unit)) => format!("{} {unit}", trimmed(number)),
        None => text,
    }
}
