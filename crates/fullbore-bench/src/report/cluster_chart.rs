//! Narrow bars in clusters: the rates of concurrent streams.

use super::frame::{self, BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH};
use super::picture::Picture;
use super::scale::Scale;
use crate::block::html::{escape, svg_text};
use crate::stats::Estimate;

/// The streams of one cell.
pub(super) struct Cluster {
    /// First line below the cluster: `4 streams`.
    pub(super) name: String,
    /// Second line: the fairness index.
    pub(super) text: String,
    pub(super) colour: usize,
    /// The rate of each stream, in the chart's unit.
    pub(super) rates: Vec<Estimate>,
    /// Tooltip of each bar.
    pub(super) tips: Vec<String>,
}

/// A chart.
pub(super) struct ClusterChart {
    pub(super) y_title: String,
    pub(super) clusters: Vec<Cluster>,
}

/// The gap between clusters, in bars.
const GAP: f64 = 1.4;
/// Largest width of a bar.
const WIDEST: f64 = 26.0;

impl ClusterChart {
    /// The drawing.
    pub(super) fn picture(&self) -> Picture {
        let highest = self.clusters.iter().flat_map(|c| c.rates.iter().map(|r| r.high)).fold(0.0, f64::max);
        let y = Scale::linear(highest, BOTTOM, TOP);
        let mut svg = format!("<g class=\"frame\">\n{}</g>\n", frame::plot(&y, &self.y_title));
        // Every cluster gets the same share of the width, so that the text below it has room.
        let share = (RIGHT - LEFT) / self.clusters.len().max(1) as f64;
        for (number, cluster) in self.clusters.iter().enumerate() {
            let middle = LEFT + share * (number as f64 + 0.5);
            let bar = (share / (cluster.rates.len() as f64 + GAP)).min(WIDEST);
            let from = middle - bar * cluster.rates.len() as f64 / 2.0;
            for (i, rate) in cluster.rates.iter().enumerate() {
                let (x, top) = (from + bar * i as f64, y.place(rate.value));
                let center = x + bar / 2.0;
                svg += &format!(
                    "<g class=\"point c{}\"><title>{}</title><rect class=\"bar\" x=\"{:.1}\" y=\"{top:.1}\" \
                     width=\"{:.1}\" height=\"{:.1}\"/>",
                    cluster.colour,
                    escape(&cluster.tips[i]),
                    x + bar * 0.08,
                    bar * 0.84,
                    BOTTOM - top
                );
                let (high, low) = (y.place(rate.high), y.place(rate.low));
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
}
