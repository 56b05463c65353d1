//! A chart of throughput over time: slices, and the fitted steps.

use super::frame::{self, BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH};
use super::palette::LineStyle;
use super::picture::{Key, Picture};
use super::scale::{Scale, tick_text};
use crate::block::html::escape;
use crate::document::{CreditUnit, DeviceCredit};
use crate::stats::{Course, Step};

/// Most points of a line; adjacent slices are averaged beyond.
const MOST_POINTS: usize = 480;
/// Colours of the measured line and of the fitted one.
const MEASURED: usize = 0;
const FITTED: usize = 1;

/// A chart of a course.
pub(super) struct CourseChart {
    unit: CreditUnit,
    /// Points of each stretch: seconds, and units per second.
    stretches: Vec<Vec<(f64, f64)>>,
    steps: Vec<Step>,
}

impl CourseChart {
    /// The chart of a cell with requests of `request` bytes.
    pub(super) fn new(course: &Course, credit: &DeviceCredit, request: f64) -> Self {
        let per_byte = if credit.unit == CreditUnit::Requests { 1.0 / request } else { 1.0 };
        let slices: usize = course.stretches.iter().map(|stretch| stretch.bytes.len()).sum();
        let joined = slices.div_ceil(MOST_POINTS).max(1);
        let points = |(number, stretch): (usize, &crate::stats::Stretch)| {
            let start = course.start_s(number);
            let point = |(place, slices): (usize, &[u64])| {
                let seconds = slices.len() as f64 * course.slice_s;
                let middle = start + (place * joined) as f64 * course.slice_s + seconds / 2.0;
                (middle, slices.iter().sum::<u64>() as f64 * per_byte / seconds)
            };
            stretch.bytes.chunks(joined).enumerate().map(point).collect()
        };
        let stretches = course.stretches.iter().enumerate().map(points).collect();
        Self { unit: credit.unit, stretches, steps: credit.fit.steps.clone() }
    }

    /// The drawing.
    pub(super) fn picture(&self) -> Picture {
        let points = || self.stretches.iter().flatten();
        let highest = points().map(|point| point.1).fold(0.0, f64::max);
        let end = points().map(|point| point.0).fold(0.0, f64::max);
        let (factor, unit) = self.axis_unit(highest);
        let y = Scale::linear(highest * factor, BOTTOM, TOP);
        let x = Scale::linear(end, LEFT, RIGHT);
        let mut svg = format!("<g class=\"frame\">\n{}", frame::plot(&y, unit));
        svg += &frame::along(&x, TOP, BOTTOM, tick_text);
        svg += &(frame::title_below("seconds", LEFT, RIGHT, HEIGHT - 8.0) + "</g>\n");
        let measured: String = self
            .stretches
            .iter()
            .map(|points| joined(points.iter().map(|(at, rate)| (x.place(*at), y.place(rate * factor)))))
            .collect();
        svg += &format!(
            "<g class=\"series c{MEASURED}\" data-line=\"0\"><path class=\"l course\" d=\"{measured}\"/></g>\n"
        );
        svg += &format!("<g class=\"series c{FITTED}\" data-line=\"1\">");
        for step in &self.steps {
            let at = y.place(step.rate * factor);
            let ends = [(x.place(step.from_s), at), (x.place(step.to_s), at)];
            svg += &format!(
                "<g class=\"point\"><title>{}</title><path class=\"l\" d=\"{}\"/></g>",
                escape(&format!(
                    "{} from {:.1} s to {:.1} s",
                    self.unit.rate(step.rate),
                    step.from_s,
                    step.to_s
                )),
                joined(ends.into_iter())
            );
        }
        svg += "</g>\n";
        let key = |colour, name: &str| Key { look: LineStyle::plain(colour), patch: true, name: name.into() };
        let keys = vec![key(MEASURED, "measured"), key(FITTED, "fitted")];
        Picture { width: WIDTH, height: HEIGHT, body: svg, keys }
    }

    /// The factor to the axis's unit, and the unit.
    fn axis_unit(&self, highest: f64) -> (f64, &'static str) {
        match self.unit {
            CreditUnit::Bytes if highest >= 1e9 => (1e-9, "GB/s"),
            CreditUnit::Bytes => (1e-6, "MB/s"),
            CreditUnit::Requests if highest >= 1e4 => (1e-3, "thousand requests/s"),
            CreditUnit::Requests => (1.0, "requests/s"),
        }
    }
}

/// A path through points; empty without any.
fn joined(points: impl Iterator<Item = (f64, f64)>) -> String {
    points.enumerate().map(|(i, (x, y))| format!("{}{x:.1} {y:.1}", if i == 0 { 'M' } else { 'L' })).collect()
}
