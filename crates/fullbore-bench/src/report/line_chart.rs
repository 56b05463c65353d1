//! A chart of lines over request size or depth, as inline SVG.

use super::markup::escape;
use super::palette::{Look, marker};
use super::scale::{Scale, tick_text};
use crate::stats::Estimate;

/// One measured point.
pub(super) struct Point {
    /// Position on the x axis.
    pub(super) at: u64,
    /// Value with its interval, in the chart's unit.
    pub(super) y: Estimate,
    /// What to say when pointed at.
    pub(super) tip: String,
}

/// One line.
pub(super) struct Line {
    pub(super) name: String,
    pub(super) look: Look,
    pub(super) points: Vec<Point>,
    /// A fitted curve through (x, y), drawn fine.
    pub(super) fitted: Vec<(f64, f64)>,
    /// The half-power point: which position, and what to say of it.
    pub(super) half_power: Option<(u64, String)>,
}

/// A chart.
pub(super) struct LineChart {
    /// For those who do not see it.
    pub(super) description: String,
    pub(super) x_title: &'static str,
    pub(super) x_text: fn(u64) -> String,
    pub(super) y_title: String,
    pub(super) logarithmic: bool,
    pub(super) lines: Vec<Line>,
    /// A horizontal line across the chart, such as the roof.
    pub(super) rule: Option<(f64, String)>,
}

const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 330.0;
const LEFT: f64 = 54.0;
const RIGHT: f64 = 510.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 280.0;

impl LineChart {
    /// The chart as an `svg` element.
    pub(super) fn svg(&self) -> String {
        let mut positions: Vec<u64> = self.lines.iter().flat_map(|l| l.points.iter().map(|p| p.at)).collect();
        positions.sort_unstable();
        positions.dedup();
        let x = Scale::positions(&positions, LEFT, RIGHT);
        let y = self.y_scale();
        let mut svg = format!(
            "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">\n",
            escape(&self.description)
        );
        svg += &self.frame(&x, &y);
        if let Some((value, text)) = self.rule.as_ref().filter(|r| r.0 <= y.highest()) {
            let at = y.place(*value);
            svg += &format!(
                "<line class=\"rule\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
                 <text class=\"rule-text\" x=\"{RIGHT}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n",
                at - 5.0,
                escape(text)
            );
        }
        for (number, line) in self.lines.iter().enumerate() {
            svg += &draw(number, line, &x, &y);
        }
        svg + "</svg>\n"
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
        for &tick in &y.ticks {
            let at = y.place(tick);
            svg += &format!(
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n",
                LEFT - 7.0,
                at + 4.0,
                tick_text(tick)
            );
        }
        for &tick in &x.ticks {
            let at = x.place(tick);
            svg += &format!(
                "<line class=\"tick\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{BOTTOM}\" y2=\"{:.1}\"/>\
                 <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n",
                BOTTOM + 5.0,
                BOTTOM + 20.0,
                escape(&(self.x_text)(tick as u64))
            );
        }
        svg +=
            &format!("<line class=\"axis\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{BOTTOM}\" y2=\"{BOTTOM}\"/>\n");
        svg += &format!("<text class=\"title\" x=\"4\" y=\"14\">{}</text>\n", escape(&self.y_title));
        let middle = (LEFT + RIGHT) / 2.0;
        svg += &format!(
            "<text class=\"title\" x=\"{middle}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n</g>\n",
            HEIGHT - 8.0,
            escape(self.x_title)
        );
        svg
    }

    /// The legend: a button a line, which shows and hides it where scripting is on.
    pub(super) fn legend(&self) -> String {
        let mut html = String::from("<ul class=\"legend\">\n");
        for (number, line) in self.lines.iter().enumerate() {
            html += &format!(
                "<li><button type=\"button\" data-line=\"{number}\" aria-pressed=\"true\">\
                 <svg class=\"{}\" viewBox=\"0 0 30 12\" width=\"30\" height=\"12\" aria-hidden=\"true\">\
                 <path class=\"l\" d=\"M1 6H29\"/>{}</svg>{}</button></li>\n",
                classes(line.look),
                marker(line.look.marker, 15.0, 6.0),
                escape(&line.name)
            );
        }
        html + "</ul>\n"
    }
}

fn classes(look: Look) -> String {
    format!("c{} d{}", look.colour, look.dash)
}

fn path(points: impl Iterator<Item = (f64, f64)>) -> String {
    points.enumerate().map(|(i, (x, y))| format!("{}{x:.1} {y:.1}", if i == 0 { 'M' } else { 'L' })).collect()
}

fn draw(number: usize, line: &Line, x: &Scale, y: &Scale) -> String {
    let mut svg = format!("<g class=\"series {}\" data-line=\"{number}\">\n", classes(line.look));
    let place = |p: &Point, value: f64| (x.place(p.at as f64), y.place(value));
    if line.points.len() > 1 {
        let above = line.points.iter().map(|p| place(p, p.y.high));
        let below = line.points.iter().rev().map(|p| place(p, p.y.low));
        svg += &format!("<path class=\"band\" d=\"{}Z\"/>\n", path(above.chain(below)));
        // A fitted line stands for the run of the points; joining them as well would hide the difference.
        if line.fitted.is_empty() {
            let joined = line.points.iter().map(|p| place(p, p.y.value));
            svg += &format!("<path class=\"l\" d=\"{}\"/>\n", path(joined));
        }
    }
    if !line.fitted.is_empty() {
        let curve = line.fitted.iter().map(|(at, value)| (x.place(*at), y.place(*value)));
        svg += &format!("<path class=\"l fit\" d=\"{}\"/>\n", path(curve));
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
        svg += &format!("<circle class=\"hit\" cx=\"{px:.1}\" cy=\"{py:.1}\" r=\"11\"/></g>\n");
    }
    svg + "</g>\n"
}
