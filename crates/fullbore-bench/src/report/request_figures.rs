//! Charts of requests: latency, phases, fairness of streams; and the pipeline.

use super::figures::{ChartBuilder, MOST_LINES};
use super::measure::axis_words;
use super::panels::{Panel, split};
use super::pipeline_chart;
use super::plot_charts::{ChartLine, Cluster, LineChart, Point, clusters};
use super::prose::spanned;
use super::row_charts::{
    PARTS, PERCENTILES, Percentile, Range, Stack, percentile_style, percentiles, shares,
};
use crate::document::{Axis, Cell, Phases, Series, Stage};
use crate::stats::{Bootstrap, Estimate, jain, median};
use crate::units;

/// Above this number of paths there is one chart per percentile, otherwise one per path.
const MOST_PATHS: usize = 4;
const MOST_ROWS: usize = 14;

/// A percentile of a cell in seconds: the median over its counted samples, with its interval.
pub(super) fn percentile(cell: &Cell, value: Percentile) -> Option<Estimate> {
    let values: Vec<f64> = cell.counted().filter_map(|s| s.latency.as_ref().map(value)).collect();
    Bootstrap::default().median(&values).filter(|e| e.value > 0.0)
}

/// The phases of a request in seconds: medians over the counted samples; `None` for a phase that no sample recorded.
pub(super) fn parts(cell: &Cell) -> Option<[Option<f64>; 4]> {
    let each = |value: fn(&Phases) -> Option<f64>| {
        let counted = cell.counted().filter(|s| s.requests > 0);
        let values = counted.filter_map(|s| Some(value(s.phases.as_ref()?)? / s.requests as f64));
        median(&values.filter(|v| v.is_finite()).collect::<Vec<_>>())
    };
    let parts =
        [each(|p| Some(p.submit_s)), each(|p| p.queue_s), each(|p| p.device_s), each(|p| Some(p.complete_s))];
    parts.iter().flatten().any(|v| *v > 0.0).then_some(parts)
}

impl ChartBuilder<'_> {
    pub(super) fn latency(&mut self, lines: &[&Series]) {
        let described = |line: &&&Series| {
            line.cells.iter().any(|&c| self.summary(c).is_some_and(|s| s.latency.is_some()))
        };
        let lines: Vec<&Series> = lines.iter().filter(described).copied().collect();
        if self.experiment.axis == Axis::None {
            for panel in split(&lines, false, MOST_ROWS) {
                self.latency_rows(&panel);
            }
        } else if lines.len() <= MOST_PATHS {
            for line in lines {
                self.latency_of(line);
            }
        } else {
            for panel in split(&lines, false, MOST_LINES) {
                for (name, value) in [PERCENTILES[0], PERCENTILES[2]] {
                    self.latency_lines(&panel, name, value);
                }
            }
        }
    }

    /// A chart of one path: one line per percentile.
    fn latency_of(&mut self, line: &Series) {
        let lines = PERCENTILES.iter().enumerate().map(|(i, (name, value))| {
            ChartLine::new(name, percentile_style(i), self.latency_points(name, line, *value))
        });
        self.latency_chart(lines.collect(), &format!("Request time{{}}: {}", line.name), "latency");
    }

    /// A chart of one percentile: one line per path.
    fn latency_lines(&mut self, panel: &Panel, percentile: &str, value: Percentile) {
        let lines =
            panel.lines.iter().zip(panel.styles(self.palette)).map(|((name, line), look)| {
                ChartLine::new(name, look, self.latency_points(name, line, value))
            });
        let caption = format!("Request time, {percentile}{{}}{}", panel.suffix());
        self.latency_chart(lines.collect(), &caption, &format!("latency-{}", percentile.replace('.', "")));
    }

    fn latency_points(&self, name: &str, line: &Series, value: Percentile) -> Vec<Point> {
        let point = |&c: &usize| {
            let cell = &self.document.cells[c];
            let (at, y) = (self.experiment.axis.of(&cell.labels)?, percentile(cell, value)?);
            let tip = format!("{name}{}: {}", self.place(c), spanned(y, units::seconds));
            Some(Point { at, y, tip })
        };
        line.cells.iter().filter_map(point).collect()
    }

    /// Adds a chart; in `caption`, `{}` is replaced by the axis.
    fn latency_chart(&mut self, mut lines: Vec<ChartLine>, caption: &str, stem: &str) {
        lines.retain(|l| !l.points.is_empty());
        let highest = lines.iter().flat_map(|l| l.points.iter().map(|p| p.y.value)).fold(0.0, f64::max);
        if highest <= 0.0 {
            return;
        }
        let (factor, unit) = if highest < 2e-3 { (1e6, "µs") } else { (1e3, "ms") };
        let range = |line: &ChartLine| {
            let values = || line.points.iter().map(|p| p.y.value);
            let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
            format!("{}: {} to {}", line.name, units::seconds(low), units::seconds(high))
        };
        let spoken: Vec<String> = lines.iter().map(range).collect();
        for point in lines.iter_mut().flat_map(|l| &mut l.points) {
            point.y = point.y.scaled(factor);
        }
        let chart = LineChart {
            axis: self.experiment.axis,
            y_title: format!("{unit} (logarithmic)"),
            logarithmic: true,
            lines,
            rule: None,
        };
        let caption = caption.replacen("{}", axis_words(self.experiment.axis).by, 1);
        self.add(stem, caption, " Medians of the samples’ percentiles.", &spoken, chart.picture());
    }

    fn latency_rows(&mut self, panel: &Panel) {
        let row = |(name, line): &(String, &Series)| {
            let cell = &self.document.cells[line.cells[0]];
            let all: Option<Vec<Estimate>> = PERCENTILES.iter().map(|p| percentile(cell, p.1)).collect();
            let all = all?;
            let tip = |(i, e): (usize, &Estimate)| {
                format!("{name}, {}: {}", PERCENTILES[i].0, spanned(*e, units::seconds))
            };
            Some(Range {
                name: name.clone(),
                text: format!("p50 {}, p99 {}", units::seconds(all[0].value), units::seconds(all[2].value)),
                tips: all.iter().enumerate().map(tip).collect(),
                seconds: all.iter().map(|e| e.value).collect(),
            })
        };
        let mut ranges: Vec<Range> = panel.lines.iter().filter_map(row).collect();
        if ranges.is_empty() {
            return;
        }
        ranges.sort_by(|a, b| a.seconds[0].total_cmp(&b.seconds[0]));
        let spoken: Vec<String> = ranges.iter().map(|r| format!("{}: {}", r.name, r.text)).collect();
        let caption = format!("Request time{}", panel.suffix());
        self.add("latency", caption, " Lowest median first.", &spoken, percentiles(&ranges));
    }

    pub(super) fn phases(&mut self, lines: &[&Series]) {
        let alone = self.experiment.axis == Axis::None;
        let known = |line: &&&Series| line.cells.iter().any(|&c| parts(&self.document.cells[c]).is_some());
        let lines: Vec<&Series> = lines.iter().filter(known).copied().collect();
        if alone {
            for panel in split(&lines, false, MOST_ROWS) {
                let rows: Vec<(String, usize)> =
                    panel.lines.iter().map(|(name, line)| (name.clone(), line.cells[0])).collect();
                self.stacked(&rows, &panel.suffix());
            }
            return;
        }
        let one = lines.len() == 1;
        for line in lines {
            let axis = self.experiment.axis;
            let name = |c: usize| {
                axis.of(&self.document.cells[c].labels).map_or_else(String::new, |at| axis.label(at))
            };
            let rows: Vec<(String, usize)> = line.cells.iter().map(|&c| (name(c), c)).collect();
            let of = if one { String::new() } else { format!(": {}", line.name) };
            self.stacked(&rows, &format!("{}{of}", axis_words(axis).by));
        }
    }

    fn stacked(&mut self, rows: &[(String, usize)], of: &str) {
        let stack = |(name, cell): &(String, usize)| {
            let parts = parts(&self.document.cells[*cell])?;
            let sizes: Vec<f64> = parts.iter().map(|p| p.unwrap_or(0.0).max(0.0)).collect();
            let whole: f64 = sizes.iter().sum();
            let tip = |(i, size): (usize, &f64)| {
                let share = units::percent(size / whole);
                format!("{name}: {} {}, {share}", PARTS[i].0, units::seconds(*size))
            };
            let tips = sizes.iter().enumerate().map(tip).collect();
            (whole > 0.0).then(|| Stack { name: name.clone(), text: units::seconds(whole), tips, sizes })
        };
        let stacks: Vec<Stack> = rows.iter().filter_map(stack).collect();
        if stacks.is_empty() {
            return;
        }
        let spoken: Vec<String> =
            stacks.iter().map(|s| format!("{} total {}: {}", s.name, s.text, s.tips.join(", "))).collect();
        let unknown = stacks.iter().all(|s| s.sizes[1] <= 0.0 || s.sizes[2] <= 0.0);
        let described = if unknown {
            " Right: total time of a request. A phase not measured separately is included in its neighbours."
        } else {
            " Right: total time of a request."
        };
        let caption = format!("Phases of a request{of}");
        self.add("phases", caption, described, &spoken, shares(&stacks));
    }

    pub(super) fn fairness(&mut self, lines: &[&Series]) {
        let described = |c: usize| stream_rates(&self.document.cells[c]).len() > 1;
        let lines: Vec<&Series> =
            lines.iter().filter(|l| l.cells.iter().any(|&c| described(c))).copied().collect();
        let one = lines.len() == 1;
        for line in lines {
            let rated = line.cells.iter().map(|&c| (c, stream_rates(&self.document.cells[c])));
            let rated: Vec<(usize, Vec<Estimate>)> = rated.filter(|(_, r)| !r.is_empty()).collect();
            let highest = rated.iter().flat_map(|(_, r)| r.iter().map(|e| e.value)).fold(0.0, f64::max);
            if highest <= 0.0 {
                continue;
            }
            let (factor, unit) = super::measure::Measure::Rate.unit(highest);
            let colour = self.palette.line_styles(&[&line.labels])[0].colour;
            let disks = |c: usize| self.document.cells[c].labels.targets.is_some();
            let one_of = |c: usize| if disks(c) { "disk" } else { "stream" };
            let tip = |cell, number: usize, all: usize, rate| {
                let (one_of, place) = (one_of(cell), self.place(cell));
                format!("{one_of} {number} of {all}{place}: {}", spanned(rate, units::rate))
            };
            let cluster = |(cell, rates): &(usize, Vec<Estimate>)| Cluster {
                name: units::count(rates.len(), one_of(*cell)),
                text: jain(rates.iter().map(|rate| rate.value))
                    .map_or_else(String::new, |j| format!("{j:.2}")),
                colour,
                rates: rates.iter().map(|r| r.scaled(factor)).collect(),
                tips: (1..).zip(rates).map(|(number, rate)| tip(*cell, number, rates.len(), *rate)).collect(),
            };
            let all: Vec<Cluster> = rated.iter().map(cluster).collect();
            let spoken: Vec<String> =
                all.iter().map(|c| format!("{}, Jain’s index {}", c.name, c.text)).collect();
            let of = if one { String::new() } else { format!(": {}", line.name) };
            let picture = clusters(&format!("{unit} each"), &all);
            let described = " Below: Jain’s fairness index, 1 for equal rates.";
            let caption = format!("Rate of each {}{of}", one_of(line.cells[0]));
            self.add("fairness", caption, described, &spoken, picture);
        }
    }

    pub(super) fn pipeline(&mut self) {
        let Some(pipeline) = &self.document.findings.pipeline else { return };
        if pipeline.stages.is_empty() {
            return;
        }
        let spoken = |s: &Stage| {
            let advertised = s.advertised.map(|a| format!("advertised {}, ", units::rate(a)));
            let real = pipeline_chart::real(s);
            format!("{} ({}): {}{real}", s.name, s.what, advertised.unwrap_or_default())
        };
        let spoken: Vec<String> = pipeline.stages.iter().map(spoken).collect();
        let described = " From the application’s memory to the device. Outlined: advertised; filled: measured by an \
             application through this stage.";
        let picture = pipeline_chart::picture(pipeline);
        self.add("pipeline", "The storage pipeline".into(), described, &spoken, picture);
    }
}

/// The rate of each stream in bytes per second; empty if samples record none, or different numbers of them.
pub(super) fn stream_rates(cell: &Cell) -> Vec<Estimate> {
    let counted: Vec<&[f64]> = cell.counted().map(|s| s.streams.as_slice()).collect();
    let count = counted.first().map_or(0, |s| s.len());
    if counted.iter().any(|s| s.len() != count) {
        return Vec::new();
    }
    let of =
        |stream: usize| Bootstrap::default().median(&counted.iter().map(|s| s[stream]).collect::<Vec<_>>());
    (0..count).map(of).collect::<Option<Vec<_>>>().unwrap_or_default()
}

/// Jain's index of the rates of a cell's streams.
pub(super) fn stream_fairness(cell: &Cell) -> Option<f64> {
    jain(stream_rates(cell).iter().map(|rate| rate.value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Labels, Sample};

    #[test]
    fn a_stream_has_the_median_of_its_rates() {
        let mut cell = Cell::new("a", "streams", Labels::default());
        for scale in [1.0, 3.0, 2.0] {
            let streams = vec![10.0 * scale, 20.0 * scale];
            cell.samples.push(Sample { bytes: 1, seconds: 1.0, streams, ..Sample::default() });
        }
        let found = stream_rates(&cell);
        assert_eq!(found.iter().map(|r| r.value).collect::<Vec<_>>(), [20.0, 40.0]);
        cell.samples[1].streams.pop();
        assert!(stream_rates(&cell).is_empty(), "samples with different numbers of streams");
    }
}
