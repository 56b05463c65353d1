//! Percentiles of a time, one row per cell: for latencies of cells that share no axis.

use super::frame;
use super::palette::{LineStyle, marker};
use super::picture::{Key, Picture, clipped};
use super::scale::Scale;
use crate::block::html::escape;
use crate::units;

/// One row.
pub(super) struct Range {
    pub(super) name: String,
    /// The main values, as text.
    pub(super) text: String,
    /// The percentiles in seconds, rising.
    pub(super) seconds: Vec<f64>,
    /// Tooltip of each percentile.
    pub(super) tips: Vec<String>,
}

/// A chart.
pub(super) struct RangeChart {
    /// Names of the percentiles.
    pub(super) percentiles: Vec<&'static str>,
    pub(super) ranges: Vec<Range>,
}

const WIDTH: f64 = 520.0;
const LEFT: f64 = 12.0;
const RIGHT: f64 = 500.0;
const TOP: f64 = 6.0;
/// Height of a row with its name above.
const ROW: f64 = 36.0;
/// Characters of a name that leave room for the figures beside it.
const LONGEST_NAME: usize = 34;
/// Distance of the row's line from its top.
const LINE: f64 = 25.0;

impl RangeChart {
    /// The drawing, on a logarithmic axis.
    pub(super) fn picture(&self) -> Picture {
        let values = || self.ranges.iter().flat_map(|r| r.seconds.iter().copied()).filter(|s| *s > 0.0);
        let (lowest, highest) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
        let x = Scale::logarithmic(lowest, highest, LEFT, RIGHT);
        let bottom = TOP + ROW * self.ranges.len() as f64 + 4.0;
        let height = bottom + 46.0;
        let mut svg = format!(
            "<g class=\"frame\">\n{}{}</g>\n",
            frame::along(&x, TOP, bottom, short),
            frame::title_below("request time (logarithmic)", LEFT, RIGHT, height - 8.0)
        );
        for (row, range) in self.ranges.iter().enumerate() {
            let top = TOP + ROW * row as f64;
            let ends = (range.seconds.first().copied(), range.seconds.last().copied());
            let (from, to) = (x.place(ends.0.unwrap_or(lowest)), x.place(ends.1.unwrap_or(highest)));
            svg += &format!(
                "<g class=\"point\"><text x=\"6\" y=\"{0:.1}\">{1}</text><text class=\"value\" x=\"506\" y=\"{0:.1}\" \
                 text-anchor=\"end\">{2}</text><path class=\"axis\" d=\"M{from:.1} {3:.1}H{to:.1}\"/></g>\n",
                top + 13.0,
                escape(&clipped(&range.name, LONGEST_NAME)),
                escape(&range.text),
                top + LINE
            );
        }
        for percentile in 0..self.percentiles.len() {
            let look = percentile_style(percentile);
            svg += &format!("<g class=\"series {}\" data-line=\"{percentile}\">\n", look.classes());
            for (row, range) in self.ranges.iter().enumerate() {
                let Some(&seconds) = range.seconds.get(percentile).filter(|s| **s > 0.0) else { continue };
                svg += &format!(
                    "<g class=\"point\"><title>{}</title>{}</g>\n",
                    escape(&range.tips[percentile]),
                    marker(look.marker, x.place(seconds), TOP + ROW * row as f64 + LINE)
                );
            }
            svg += "</g>\n";
        }
        let keys = self.percentiles.iter().enumerate().map(|(i, name)| Key {
            look: percentile_style(i),
            patch: false,
            name: (*name).to_owned(),
        });
        Picture { width: WIDTH, height, body: svg, keys: keys.collect() }
    }
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
        Some((number, unit)) if number.contains('.') => {
            format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text,
    }
}
