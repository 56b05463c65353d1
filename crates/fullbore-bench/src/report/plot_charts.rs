//! Charts with a y axis: lines over request size, depth or another axis; clusters of streams; throughput over time.

use super::measure::{axis_words, tick};
use super::panels::{LineStyle, marker};
use super::picture::{Key, Picture};
use super::scale::{Scale, along, tick_text, title_below, y_grid};
use crate::block::html::{escape, svg_text};
use crate::document::{Axis, DeviceCredit, RateUnit};
use crate::stats::{Course, Estimate};

const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 330.0;
/// Edges of the plot.
const LEFT: f64 = 54.0;
const RIGHT: f64 = 510.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 280.0;

/// The grid and the title of the y axis.
fn plot(y: &Scale, title: &str) -> String {
    format!(
        "{}<line class=\"axis\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{BOTTOM}\" y2=\"{BOTTOM}\"/>{}\n",
        y_grid(y, LEFT, RIGHT),
        svg_text("title", (4.0, 14.0), "", title)
    )
}

/// A path through points; empty without any.
fn path(points: impl Iterator<Item = (f64, f64)>) -> String {
    points.enumerate().map(|(i, (x, y))| format!("{}{x:.1} {y:.1}", if i == 0 { 'M' } else { 'L' })).collect()
}

pub(super) struct Point {
    pub(super) at: u64,
    /// Value in the chart's unit.
    pub(super) y: Estimate,
    pub(super) tip: String,
}

pub(super) struct ChartLine {
    pub(super) name: String,
    pub(super) look: LineStyle,
    pub(super) points: Vec<Point>,
    /// A fitted curve through (x, y), drawn as a fine line.
    pub(super) fitted: Vec<(f64, f64)>,
    /// The half-power point: its position and tooltip.
    pub(super) half_power: Option<(u64, String)>,
}

impl ChartLine {
    /// A line without a fitted curve and a half-power point.
    pub(super) fn new(name: &str, look: LineStyle, points: Vec<Point>) -> Self {
        Self { name: name.to_owned(), look, points, fitted: Vec::new(), half_power: None }
    }
}

pub(super) struct LineChart {
    pub(super) axis: Axis,
    pub(super) y_title: String,
    pub(super) logarithmic: bool,
    pub(super) lines: Vec<ChartLine>,
    /// A horizontal line across the chart, such as the roof.
    pub(super) rule: Option<(f64, String)>,
}

/// The largest number of lines with bands for their intervals: more bands would cover one another.
const MOST_BANDS: usize = 6;
/// Up to this many streams or disks the axis has equal steps; beyond, it is logarithmic.
const FEW: u64 = 8;
/// Width of a character of a tick label, in a narrow window with larger letters.
const LETTER: f64 = 8.5;

impl LineChart {
    pub(super) fn picture(&self) -> Picture {
        let (x, y) = (self.x_scale(), self.y_scale());
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
        let keys = self.lines.iter().map(|line| Key::line(line.look, &line.name)).collect();
        Picture { width: WIDTH, height: HEIGHT, body: svg, keys }
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
        let mut svg = format!("<g class=\"frame\">\n{}", plot(y, &self.y_title));
        for &value in &x.ticks {
            let at = x.place(value);
            svg += &format!(
                "<line class=\"tick\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{BOTTOM}\" y2=\"{:.1}\"/>{}\n",
                BOTTOM + 5.0,
                svg_text("", (at, BOTTOM + 20.0), "middle", &tick(self.axis, value as u64))
            );
        }
        svg + &title_below(axis_words(self.axis).title, LEFT, RIGHT, HEIGHT - 8.0) + "</g>\n"
    }
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
            let left = px - 3.0;
            svg += &format!(
                "<path class=\"whisker\" d=\"M{px:.1} {high:.1}V{low:.1}M{left:.1} {high:.1}h6M{left:.1} {low:.1}h6\"/>"
            );
        }
        svg += &(marker(line.look.marker, px, py) + "</g>\n");
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

pub(super) struct Cluster {
    /// First line below the cluster: `4 streams`.
    pub(super) name: String,
    /// Second line: the fairness index.
    pub(super) text: String,
    pub(super) colour: usize,
    /// The rate of each stream, in the chart's unit.
    pub(super) rates: Vec<Estimate>,
    pub(super) tips: Vec<String>,
}

/// Gap between clusters, in bars.
const GAP: f64 = 1.4;
/// Maximum width of a bar.
const WIDEST: f64 = 26.0;

pub(super) fn clusters(y_title: &str, clusters: &[Cluster]) -> Picture {
    let highest = clusters.iter().flat_map(|c| c.rates.iter().map(|r| r.high)).fold(0.0, f64::max);
    let y = Scale::linear(highest, BOTTOM, TOP);
    let mut svg = format!("<g class=\"frame\">\n{}</g>\n", plot(&y, y_title));
    // Every cluster gets the same share of the width, so that the text below it has room.
    let share = (RIGHT - LEFT) / clusters.len().max(1) as f64;
    for (number, cluster) in clusters.iter().enumerate() {
        let middle = LEFT + share * (number as f64 + 0.5);
        let bar = (share / (cluster.rates.len() as f64 + GAP)).min(WIDEST);
        let from = middle - bar * cluster.rates.len() as f64 / 2.0;
        for (i, rate) in cluster.rates.iter().enumerate() {
            let (x, top) = (from + bar * i as f64, y.place(rate.value));
            svg += &format!(
                "<g class=\"point c{}\"><title>{}</title><rect class=\"bar\" x=\"{:.1}\" y=\"{top:.1}\" \
                 width=\"{:.1}\" height=\"{:.1}\"/>",
                cluster.colour,
                escape(&cluster.tips[i]),
                x + bar * 0.08,
                bar * 0.84,
                BOTTOM - top
            );
            let (center, high, low) = (x + bar / 2.0, y.place(rate.high), y.place(rate.low));
            if low - high > 1.0 {
                svg += &format!("<path class=\"span\" d=\"M{center:.1} {high:.1}V{low:.1}\"/>");
            }
            svg += "</g>\n";
        }
        svg += &format!(
            "<g class=\"frame\">{}{}</g>\n",
            svg_text("", (middle, BOTTOM + 20.0), "middle", &cluster.name),
            svg_text("value", (middle, BOTTOM + 40.0), "middle", &cluster.text)
        );
    }
    Picture { width: WIDTH, height: HEIGHT, body: svg, keys: Vec::new() }
}

/// Most points of a line over time; adjacent slices are averaged beyond.
const MOST_POINTS: usize = 480;
/// Colours of the measured line and of the fitted one.
const MEASURED: usize = 0;
const FITTED: usize = 1;

/// The drawing of a course, slices and fitted steps, of a cell with requests of `request` bytes.
pub(super) fn course(course: &Course, credit: &DeviceCredit, request: f64) -> Picture {
    let unit = credit.unit;
    let per_byte = if unit == RateUnit::Requests { 1.0 / request } else { 1.0 };
    let slices: usize = course.stretches.iter().map(|stretch| stretch.bytes.len()).sum();
    let joined = slices.div_ceil(MOST_POINTS).max(1);
    // Points of each stretch: seconds, and units per second.
    let stretches: Vec<Vec<(f64, f64)>> = (course.stretches.iter().enumerate())
        .map(|(number, stretch)| {
            let start = course.start_s(number);
            let point = |(place, slices): (usize, &[u64])| {
                let seconds = slices.len() as f64 * course.slice_s;
                let middle = start + (place * joined) as f64 * course.slice_s + seconds / 2.0;
                (middle, slices.iter().map(|&bytes| bytes as f64).sum::<f64>() * per_byte / seconds)
            };
            stretch.bytes.chunks(joined).enumerate().map(point).collect()
        })
        .collect();
    let highest = stretches.iter().flatten().map(|point| point.1).fold(0.0, f64::max);
    let end = stretches.iter().flatten().map(|point| point.0).fold(0.0, f64::max);
    let (factor, title) = match unit {
        RateUnit::Bytes if highest >= 1e9 => (1e-9, "GB/s"),
        RateUnit::Bytes => (1e-6, "MB/s"),
        RateUnit::Requests if highest >= 1e4 => (1e-3, "thousand requests/s"),
        RateUnit::Requests => (1.0, "requests/s"),
    };
    let (x, y) = (Scale::linear(end, LEFT, RIGHT), Scale::linear(highest * factor, BOTTOM, TOP));
    let mut svg = format!("<g class=\"frame\">\n{}{}", plot(&y, title), along(&x, TOP, BOTTOM, tick_text));
    svg += &(title_below("seconds", LEFT, RIGHT, HEIGHT - 8.0) + "</g>\n");
    let place = |(at, rate): &(f64, f64)| (x.place(*at), y.place(rate * factor));
    let measured: String = stretches.iter().map(|points| path(points.iter().map(place))).collect();
    svg += &format!(
        "<g class=\"series c{MEASURED}\" data-line=\"0\"><path class=\"l course\" d=\"{measured}\"/></g>\n\
         <g class=\"series c{FITTED}\" data-line=\"1\">"
    );
    for step in &credit.fit.steps {
        let tip = format!("{} from {:.1} s to {:.1} s", unit.rate(step.rate), step.from_s, step.to_s);
        let ends = [(step.from_s, step.rate), (step.to_s, step.rate)];
        svg += &format!(
            "<g class=\"point\"><title>{}</title><path class=\"l\" d=\"{}\"/></g>",
            escape(&tip),
            path(ends.iter().map(place))
        );
    }
    let keys = vec![Key::patch(MEASURED, "measured"), Key::patch(FITTED, "fitted")];
    Picture { width: WIDTH, height: HEIGHT, body: svg + "</g>\n", keys }
}
