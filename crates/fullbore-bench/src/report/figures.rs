//! The figures of a report: which charts an experiment gets, and the table under each.

use super::bar_chart::{Bar, BarChart};
use super::data_table::rows;
use super::line_chart::{Line, LineChart, Point};
use super::markup::{escape, folded, set};
use super::palette::Palette;
use crate::document::{
    Axis, CacheState, Document, Experiment, Series, SeriesHalfPower, Summary, experiments, series,
};
use crate::stats::Estimate;
use crate::units;

/// Every experiment's section, in order.
pub(super) fn all(document: &Document) -> String {
    let palette = Palette::of(document);
    let mut page = Page { document, palette, number: 0, html: String::new() };
    for experiment in experiments(&document.experiments, &document.cells) {
        let lines = series(&document.cells, &experiment);
        if lines.is_empty() {
            continue;
        }
        page.html += &format!(
            "<section id=\"{0}\">\n<h2>{1}</h2>\n<p class=\"note\">{2}</p>\n<div class=\"figures\">\n",
            escape(&anchor(&experiment.name)),
            escape(&experiment.title),
            escape(&experiment.note)
        );
        match experiment.axis {
            Axis::Request => page.by_request(&experiment, &lines),
            Axis::None => page.side_by_side(&experiment, &lines),
            _ => page.by_depth(&experiment, &lines),
        }
        page.html += "</div>\n</section>\n";
    }
    page.html
}

/// The id of an experiment's section.
pub(super) fn anchor(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    format!("experiment-{}", name.chars().map(safe).collect::<String>())
}

struct Page<'a> {
    document: &'a Document,
    palette: Palette,
    number: usize,
    html: String,
}

/// What a figure shows of a cell.
#[derive(Clone, Copy, PartialEq)]
enum Measure {
    Rate,
    Requests,
    CpuPerMb,
    CpuPerRequest,
    Processors,
}

impl Measure {
    fn is_cost(self) -> bool {
        matches!(self, Self::CpuPerMb | Self::CpuPerRequest | Self::Processors)
    }

    /// The value in base units: bytes or requests a second, seconds.
    fn of(self, summary: &Summary) -> Option<Estimate> {
        match self {
            Self::Rate => Some(summary.rate),
            // Requests are of one size within a cell, so the interval of the rate carries over.
            Self::Requests => {
                let requests = summary.requests_per_s?;
                (summary.rate.value > 0.0).then(|| summary.rate.scaled(requests / summary.rate.value))
            }
            Self::CpuPerMb => Some(summary.cpu_per_mb.charged),
            Self::CpuPerRequest => summary.cpu_per_request.map(|c| c.charged),
            Self::Processors => summary.processors,
        }
    }

    /// The factor to the unit of a chart whose largest value is `highest`, and that unit.
    fn unit(self, highest: f64) -> (f64, &'static str) {
        match self {
            Self::Rate if highest >= 1e9 => (1e-9, "GB/s"),
            Self::Rate => (1e-6, "MB/s"),
            Self::Requests if highest >= 2e3 => (1e-3, "thousand requests/s"),
            Self::Requests => (1.0, "requests/s"),
            Self::CpuPerMb => (1e3, "processor time, ms/MB"),
            Self::CpuPerRequest => (1e6, "processor time, µs/request"),
            Self::Processors => (1.0, "processors busy"),
        }
    }

    fn text(self, value: f64) -> String {
        match self {
            Self::Rate => units::rate(value),
            Self::Requests => units::requests_rate(value),
            Self::CpuPerMb => format!("{} ms/MB", units::ms_per_mb(value)),
            Self::CpuPerRequest => format!("{} a request", units::seconds(value)),
            Self::Processors => format!("{} processors busy", units::significant(value)),
        }
    }
}

/// A logarithmic axis when lines differ by more than this factor at their peaks: the lower could not be read.
const LINES_APART: f64 = 12.0;
/// The roof is drawn when it is at most this much above the fastest path, else only told of.
const ROOF_IN_SIGHT: f64 = 2.0;

impl Page<'_> {
    fn by_request(&mut self, experiment: &Experiment, lines: &[Series]) {
        let mut states: Vec<Option<CacheState>> = Vec::new();
        for line in lines {
            if !states.contains(&line.labels.cache) {
                states.push(line.labels.cache);
            }
        }
        for state in &states {
            let panel: Vec<&Series> = lines.iter().filter(|l| l.labels.cache == *state).collect();
            let of = state.map_or_else(String::new, |s| format!(", {}", s.word()));
            self.lines(experiment, &panel, Measure::Rate, &format!("Rate by request size{of}"));
        }
        let all: Vec<&Series> = lines.iter().collect();
        self.lines(experiment, &all, Measure::CpuPerMb, "Processor time a megabyte");
        self.lines(experiment, &all, Measure::CpuPerRequest, "Processor time a request");
        self.lines(experiment, &all, Measure::Processors, "Processors kept busy");
    }

    fn by_depth(&mut self, experiment: &Experiment, lines: &[Series]) {
        let all: Vec<&Series> = lines.iter().collect();
        let random = lines.iter().all(|l| l.labels.order.as_deref() == Some("random"));
        if random {
            self.lines(experiment, &all, Measure::Requests, "Requests a second by depth");
        } else {
            self.lines(experiment, &all, Measure::Rate, "Rate by depth");
        }
        self.lines(experiment, &all, Measure::CpuPerRequest, "Processor time a request by depth");
    }

    fn side_by_side(&mut self, experiment: &Experiment, lines: &[Series]) {
        self.bars(experiment, lines, Measure::Rate, "Rate");
        let charged = |l: &Series| self.summary(l.cells[0]).is_some_and(|s| s.cpu_per_mb.charged.value > 0.0);
        if lines.len() > 1 && lines.iter().any(charged) {
            self.bars(experiment, lines, Measure::CpuPerMb, "Processor time a megabyte");
        }
    }

    fn summary(&self, cell: usize) -> Option<&Summary> {
        self.document.cells[cell].summary.as_ref()
    }

    fn lines(&mut self, experiment: &Experiment, lines: &[&Series], measure: Measure, caption: &str) {
        let axis = experiment.axis;
        let value = |cell: usize| self.summary(cell).and_then(|s| measure.of(s));
        let values = lines.iter().flat_map(|l| l.cells.iter().filter_map(|&c| value(c)));
        let Some(highest) = values.map(|e| e.value).reduce(f64::max).filter(|v| *v > 0.0) else { return };
        // A lone point can be read from the table; it shall not bend the axis of the lines.
        let peak = |l: &&Series| l.cells.iter().filter_map(|&c| value(c)).map(|e| e.value).reduce(f64::max);
        let lines_only = lines.iter().filter(|l| l.cells.len() > 1);
        let lowest_peak = lines_only.filter_map(peak).filter(|v| *v > 0.0).fold(highest, f64::min);
        let (factor, unit) = measure.unit(highest);
        let looks = self.palette.looks(&lines.iter().map(|l| &l.labels).collect::<Vec<_>>());
        let drawn = lines.iter().zip(looks).map(|(line, look)| Line {
            name: line.name.clone(),
            look,
            points: line
                .cells
                .iter()
                .filter_map(|&c| {
                    let (at, estimate) = (axis.of(&self.document.cells[c].labels)?, value(c)?);
                    let tip = self.tip(&line.name, axis, at, measure, estimate, self.summary(c)?);
                    Some(Point { at, y: estimate.scaled(factor), tip })
                })
                .collect(),
            fitted: if axis == Axis::Request { self.fitted(line, measure, factor) } else { Vec::new() },
            half_power: if measure.is_cost() { None } else { self.half_power(line, axis) },
        });
        let drawn: Vec<Line> = drawn.filter(|l| !l.points.is_empty()).collect();
        let roof = self.document.findings.roof.as_ref().filter(|_| measure == Measure::Rate);
        let (rule, off) = match roof {
            Some(roof) if roof.rate.value <= highest * ROOF_IN_SIGHT => {
                let text = format!("roof: memory copy {}", units::rate(roof.rate.value));
                (Some((roof.rate.value * factor, text)), String::new())
            }
            Some(roof) => (None, format!(" The roof, {}, is off the scale.", units::rate(roof.rate.value))),
            None => (None, String::new()),
        };
        let per_work = matches!(measure, Measure::CpuPerMb | Measure::CpuPerRequest);
        let far_apart = highest > LINES_APART * lowest_peak && measure != Measure::Processors;
        let logarithmic = axis == Axis::Request && per_work || far_apart;
        let chart = LineChart {
            description: format!("{}: {caption}. {}", experiment.title, self.spoken(lines, measure)),
            x_title: if axis == Axis::Request { "request size" } else { "depth: requests in flight" },
            x_text: if axis == Axis::Request { short_size } else { |at| at.to_string() },
            y_title: format!("{unit}{}", if logarithmic { " (logarithmic)" } else { "" }),
            logarithmic,
            lines: drawn,
            rule,
        };
        let mut told = String::new();
        if chart.lines.iter().any(|l| l.half_power.is_some()) {
            told += " Ring and foot: half-power point.";
        }
        if chart.lines.iter().any(|l| !l.fitted.is_empty()) {
            told += " Lines: fitted a + b · bytes; marks: measured.";
        }
        told += &off;
        let cells: Vec<(String, usize)> =
            lines.iter().flat_map(|l| l.cells.iter().map(|&c| (l.name.clone(), c))).collect();
        let data = rows(self.document, &cells, measure.is_cost(), Some(axis));
        self.figure(caption, &told, &(chart.svg() + &chart.legend()), &data);
    }

    fn bars(&mut self, experiment: &Experiment, lines: &[Series], measure: Measure, caption: &str) {
        let mut rated: Vec<(&Series, Estimate, &Summary)> = lines
            .iter()
            .filter_map(|l| self.summary(l.cells[0]).and_then(|s| Some((l, measure.of(s)?, s))))
            .collect();
        // Best first, whichever way that is; both charts of an experiment keep the order of its rates.
        rated.sort_by(|a, b| b.2.rate.value.total_cmp(&a.2.rate.value));
        let highest = rated.iter().map(|r| r.1.value).fold(0.0, f64::max);
        let (factor, unit) = measure.unit(highest);
        let roof = self.document.findings.roof.as_ref().filter(|r| {
            measure == Measure::Rate && experiment.name != "memory" && r.rate.value <= highest * ROOF_IN_SIGHT
        });
        let chart = BarChart {
            description: format!(
                "{}: {caption}. {}",
                experiment.title,
                self.spoken(&lines.iter().collect::<Vec<_>>(), measure)
            ),
            x_title: unit.to_owned(),
            rule: roof.map(|r| (r.rate.value * factor, format!("roof {}", units::rate(r.rate.value)))),
            bars: rated
                .iter()
                .map(|(line, estimate, summary)| Bar {
                    name: line.name.clone(),
                    colour: self.palette.colour(&line.labels),
                    value: estimate.scaled(factor),
                    text: measure.text(estimate.value),
                    tip: self.tip(&line.name, Axis::None, 0, measure, *estimate, summary),
                })
                .collect(),
        };
        let cells: Vec<(String, usize)> = rated.iter().map(|r| (r.0.name.clone(), r.0.cells[0])).collect();
        let data = rows(self.document, &cells, measure.is_cost(), None);
        let order = if lines.len() > 1 { " Fastest first; colour is the access method." } else { "" };
        self.figure(caption, order, &chart.svg(), &data);
    }

    fn figure(&mut self, caption: &str, told: &str, chart: &str, data: &str) {
        self.number += 1;
        self.html += &format!(
            "<figure>\n<figcaption><b>Figure {}.</b> {}.{}</figcaption>\n{chart}{}</figure>\n",
            self.number,
            escape(caption),
            set(told),
            folded("The figures behind it", data)
        );
    }

    fn tip(
        &self,
        name: &str,
        axis: Axis,
        at: u64,
        measure: Measure,
        value: Estimate,
        summary: &Summary,
    ) -> String {
        let place = match axis {
            Axis::None => String::new(),
            _ => format!(", {}", axis.told(at)),
        };
        let mut tip = format!(
            "{name}{place}: {} ({} to {}), {}",
            measure.text(value.value),
            measure.text(value.low),
            measure.text(value.high),
            units::count(summary.n, "sample")
        );
        for flag in &summary.flags {
            tip += "; ";
            tip += flag;
        }
        tip
    }

    /// What a chart says to those who cannot see it: each line's range.
    fn spoken(&self, lines: &[&Series], measure: Measure) -> String {
        let range = |line: &&Series| {
            let values: Vec<f64> = line
                .cells
                .iter()
                .filter_map(|&c| self.summary(c).and_then(|s| measure.of(s)))
                .map(|e| e.value)
                .collect();
            let low = values.iter().copied().reduce(f64::min)?;
            let high = values.iter().copied().reduce(f64::max)?;
            if values.len() == 1 {
                return Some(format!("{}: {}", line.name, measure.text(low)));
            }
            Some(format!("{}: {} to {}", line.name, measure.text(low), measure.text(high)))
        };
        lines.iter().filter_map(range).collect::<Vec<_>>().join("; ")
    }

    fn ids(&self, line: &Series) -> Vec<&str> {
        line.cells.iter().map(|&c| self.document.cells[c].id.as_str()).collect()
    }

    fn fitted(&self, line: &Series, measure: Measure, factor: f64) -> Vec<(f64, f64)> {
        let ids = self.ids(line);
        let same = |cells: &[String]| cells.iter().map(String::as_str).eq(ids.iter().copied());
        let Some(cost) = self.document.findings.costs.iter().find(|c| same(&c.series.cells)) else {
            return Vec::new();
        };
        let at = |cell: &usize| self.document.cells[*cell].labels.request_bytes;
        let (Some(first), Some(last)) = (line.cells.first().and_then(at), line.cells.last().and_then(at))
        else {
            return Vec::new();
        };
        let steps = 60;
        let positions = (0..=steps).map(|i| {
            let share = f64::from(i) / f64::from(steps);
            first as f64 * (last as f64 / first as f64).powf(share)
        });
        let curve = positions.filter_map(|bytes| match measure {
            Measure::CpuPerMb => Some((bytes, cost.line.at(bytes) / bytes * 1e6 * factor)),
            Measure::CpuPerRequest => Some((bytes, cost.line.at(bytes) * factor)),
            Measure::Rate | Measure::Requests | Measure::Processors => None,
        });
        curve.filter(|point| point.1 > 0.0).collect()
    }

    fn half_power(&self, line: &Series, axis: Axis) -> Option<(u64, String)> {
        let findings = &self.document.findings;
        let found =
            if axis == Axis::Depth { &findings.half_power_depth } else { &findings.half_power_request };
        let ids = self.ids(line);
        let same = |f: &&SeriesHalfPower| f.series.cells.iter().map(String::as_str).eq(ids.iter().copied());
        let half = &found.iter().find(same)?.half_power;
        let at = axis.text(half.at);
        let what = if axis == Axis::Depth { "depth" } else { "request" };
        let bound = if half.at_most { "or less; nothing smaller was measured, " } else { "" };
        let crossing = half.crossing.map_or_else(String::new, |c| {
            let [value, low, high] = [c.value, c.low, c.high].map(|v| position_text(axis, v));
            format!("; the curve crosses half at {value} ({low} to {high})")
        });
        let rising =
            if half.still_rising { "; still rising at the end, so this may be too small" } else { "" };
        let peak = units::rate(half.peak);
        Some((
            half.at,
            format!("half-power {what} of {}: {at} ({bound}peak {peak}){crossing}{rising}", line.name),
        ))
    }
}

/// A position between measured ones: `11.3 KiB`, `4.6`.
pub(super) fn position_text(axis: Axis, at: f64) -> String {
    if axis == Axis::Request { units::about_size(at) } else { units::significant(at) }
}

/// A request size as a tick: `64K`, `1M`.
fn short_size(bytes: u64) -> String {
    units::size(bytes).replace(" KiB", "K").replace(" MiB", "M").replace(" GiB", "G")
}
