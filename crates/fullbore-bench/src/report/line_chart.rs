//! A chart of lines over request size, depth or another axis.

use super::frame::{self, BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH};
use super::measure::{axis_title, tick};
use super::palette::{LineStyle, marker};
use super::picture::{Key, Picture};
use super::scale::Scale;
use crate::block::html::{escape, svg_text};
use crate::document::Axis;
use crate::stats::Estimate;

/// One measured point.
pub(super) struct Point {
    /// Position on the x axis.
    pub(super) at: u64,
    /// Value with its interval, in the chart's unit.
    pub(super) y: Estimate,
    /// Tooltip.
    pub(super) tip: String,
}

/// One line.
pub(super) struct ChartLine {
    pub(super) name: String,
    pub(super) look: LineStyle,
    pub(super) points: Vec<Point>,
    /// A fitted curve through (x, y), drawn as a fine line.
    pub(super) fitted: Vec<(f64, f64)>,
    /// The half-power point: its position and tooltip.
    pub(super) half_power: Option<(u64, String)>,
}

/// A chart.
pub(super) struct LineChart {
    pub(super) axis: Axis,
    pub(super) y_title: String,
    pub(super) logarithmic: bool,
    pub(super) lines: Vec<ChartLine>,
    /// A horizontal line across the chart, such as the roof.
    pub(super) rule: Option<(f64, String)>,
}

/// With more lines than this the interval bands would cover one another.
const MOST_BANDS: usize = 6;
/// Up to this many streams or disks the axis has equal steps; beyond, it is logarithmic.
const FEW: u64 = 8;
/// Width of a character of a tick label, in a narrow window with larger letters.
const LETTER: f64 = 8.5;

impl LineChart {
    /// The drawing.
    pub(super) fn picture(&self) -> Picture {
        let x = self.x_scale();
        let y = self.y_scale();
        let mut svg = self.frame(&x, &y);
        if let Some((value, text)) = self.rule.as_ref().filter(|r| r.0 <= y.highest()) {
            let at = y.place(*value);
            svg += &format!(
                "<line class=\"rule\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>{}\n",
                svg_text("rule-text", (RIGHT, at - 5.0), "end", text)
            );
        }
        let bands = self.lines.len() <= MOST_BANDS;
        for (number, line) in self.lines.iter().enumerate() {
            svg += &draw(number, line, &x, &y, bands);
        }
        let keys = self.lines.iter().map(|l| Key { look: l.look, patch: false, name: l.name.clone() });
        Picture { width: WIDTH, height: HEIGHT, body: svg, keys: keys.collect() }
    }

    fn x_scale(&self) -> Scale {
        let mut positions: Vec<u64> = self.lines.iter().flat_map(|l| l.points.iter().map(|p| p.at)).collect();
        positions.sort_unstable();
        positions.dedup();
        let longest = positions.iter().map(|&p| tick(self.axis, p).chars().count()).max().unwrap_or(1);
        let gap = (longest as f64 * LETTER + 10.0).max(36.0);
        let few = matches!(self.axis, Axis::Streams | Axis::Targets) && positions.iter().all(|&p| p <= FEW);
        if few || positions.first() == Some(&0) {
            return Scale::steps(&positions, LEFT, RIGHT, gap);
        }
        Scale::positions(&positions, LEFT, RIGHT, gap)
    }

    fn y_scale(&self) -> Scale {
        let values = || self.lines.iter().flat_map(|l| l.points.iter().map(|p| p.y));
        let ruled = self.rule.as_ref().map_or(0.0, |r| r.0);
        let highest = values().map(|e| e.high).fold(ruled, f64::max);
        if !self.logarithmic {
            return Scale::linear(highest, BOTTOM, TOP);
        }
        let lowest = values().map(|e| if e.low > 0.0 { e.low } else { e.value }).filter(|v| *v > 0.0);
        Scale::logarithmic(lowest.fold(f64::INFINITY, f64::min), highest, BOTTOM, TOP)
    }

    fn frame(&self, x: &Scale, y: &Scale) -> String {
        let mut svg = String::from("<g class=\"frame\">\n");
        svg += &frame::plot(y, &self.y_title);
        for &value in &x.ticks {
            let at = x.place(value);
            svg += &format!(
                "<line class=\"tick\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{BOTTOM}\" y2=\"{:.1}\"/>{}\n",
                BOTTOM + 5.0,
                svg_text("", (at, BOTTOM + 20.0), "middle", &tick(self.axis, value as u64))
            );
        }
        svg += &frame::title_below(axis_title(self.axis), LEFT, RIGHT, HEIGHT - 8.0);
        svg + "</g>\n"
    }
}

fn path(points: impl Iterator<Item = (f64, f64)>) -> String {
    points.enumerate().map(|(i, (x, y))| format!("{}{x:.1} {y:.1}", if i == 0 { 'M' } else { 'L' })).collect()
}

fn draw(number: usize, line: &ChartLine, x: &Scale, y: &Scale, band: bool) -> String {
    let mut svg = format!("<g class=\"series {}\" data-line=\"{number}\">\n", line.look.classes());
    let place = |p: &Point, value: f64| (x.place(p.at as f64), y.place(value));
    if line.points.len() > 1 {
        if band {
            let above = line.points.iter().map(|p| place(p, p.y.high));
            let below = line.points.iter().rev().map(|p| place(p, p.y.low));
            svg += &format!("<path class=\"band\" d=\"{}Z\"/>\n", path(above.chain(below)));
        }
        // A fitted line replaces the line through the points, so that their distance from it remains visible.
        if line.fitted.is_empty() {
            let joined = line.points.iter().map(|p| place(p, p.y.value));
            svg += &format!("<path class=\"l\" d=\"{}\"/>\n", path(joined));
        }
    }
    if !line.fitted.is_empty() {
        let curve = line.fitted.iter().map(|(at, value)| (x.place(*at), y.place(*value)));
        svg += &format!("<path class=\"l fit\" d=\"{}\"/>\n", path(curve));
    }
    for point in &line.points {
        let (px, py) = place(point, point.y.value);
        let (high, low) = (y.place(point.y.high), y.place(point.y.low));
        svg += &format!("<g class=\"point\"><title>{}</title>", escape(&point.tip));
        if low - high > 1.0 {
            svg += &format!(
                "<path class=\"whisker\" d=\"M{px:.1} {high:.1}V{low:.1}M{:.1} {high:.1}h6M{:.1} {low:.1}h6\"/>",
                px - 3.0,
                px - 3.0
            );
        }
        svg += &marker(line.look.marker, px, py);
        svg += "</g>\n";
    }
    if let Some((at, tip)) = &line.half_power
        && let Some(point) = line.points.iter().find(|p| p.at == *at)
    {
        let (px, py) = place(point, point.y.value);
        svg += &format!(
            "<g class=\"half\"><title>{}</title><path class=\"drop\" d=\"M{px:.1} {py:.1}V{BOTTOM}\"/>\
             <path class=\"foot\" d=\"M{px:.1} {:.1}l4.5 8h-9z\"/><circle class=\"ring\" cx=\"{px:.1}\" cy=\"{py:.1}\" \
             r=\"7.5\"/></g>\n",
            escape(tip),
            BOTTOM - 8.0
        );
    }
    svg + "</g>\n"
}
