//! The selection of an experiment's charts, with their captions.

use super::measure::{Measure, axis_words, between};
use super::panels::{Palette, Panel, split};
use super::picture::{Chart, Picture};
use super::plot_charts::{ChartLine, LineChart, Point};
use super::prose::spanned;
use super::row_charts::{Bar, BarChart};
use crate::document::{
    AccessMethod, Axis, Document, Experiment, Figure, Series, SeriesCost, SeriesHalfPower, Summary,
};
use crate::stats::Estimate;
use crate::units;

pub(super) const MOST_LINES: usize = 12;
/// Most bars of a legible chart.
const MOST_BARS: usize = 16;
/// The axis is logarithmic if the peaks of the lines differ by more than this factor.
const LINES_APART: f64 = 12.0;
/// The roof is drawn if it is at most this many times the fastest path, otherwise only mentioned.
const ROOF_IN_SIGHT: f64 = 2.0;

pub(super) struct ChartBuilder<'a> {
    pub(super) document: &'a Document,
    pub(super) palette: &'a Palette,
    pub(super) experiment: &'a Experiment,
    pub(super) charts: Vec<Chart>,
}

impl ChartBuilder<'_> {
    /// The charts that the experiment names; if it names none, those that suit its axis.
    pub(super) fn draw(&mut self, lines: &[Series]) {
        let all: Vec<&Series> = lines.iter().collect();
        let figures = match self.experiment.figures.as_slice() {
            [] => self.suitable(lines),
            requested => requested.to_vec(),
        };
        for figure in figures {
            match figure {
                Figure::Latency => self.latency(&all),
                Figure::Phases => self.phases(&all),
                Figure::Fairness => self.fairness(&all),
                Figure::Pipeline => self.pipeline(),
                Figure::Regret => self.regret(),
                Figure::Course => self.course(),
                _ => {
                    if let Some(measure) = Measure::shown_by(figure) {
                        self.measured(&all, measure);
                    }
                }
            }
        }
    }

    fn suitable(&self, lines: &[Series]) -> Vec<Figure> {
        let random = lines.iter().all(|l| l.labels.is_random_over_file());
        match self.experiment.axis {
            Axis::Request => vec![Figure::Rate, Figure::CpuPerMb, Figure::CpuPerRequest, Figure::Processors],
            Axis::Load => vec![Figure::Requests, Figure::Latency],
            Axis::Depth if random => vec![Figure::Requests, Figure::CpuPerRequest],
            Axis::Depth => vec![Figure::Rate, Figure::CpuPerRequest],
            Axis::File | Axis::Streams | Axis::Targets | Axis::Offset => vec![Figure::Rate, Figure::CpuPerMb],
            Axis::None => {
                let charged =
                    |l: &Series| self.summary(l.cells[0]).is_some_and(|s| s.cpu_per_mb.charged.value > 0.0);
                let cost = lines.len() > 1 && lines.iter().any(charged);
                if cost { vec![Figure::Rate, Figure::CpuPerMb] } else { vec![Figure::Rate] }
            }
        }
    }

    pub(super) fn summary(&self, cell: usize) -> Option<&Summary> {
        self.document.cells[cell].summary.as_ref()
    }

    /// A cell's position on the axis, as text after a comma; empty without an axis.
    pub(super) fn place(&self, cell: usize) -> String {
        let at = self.experiment.axis.of(&self.document.cells[cell].labels);
        at.map_or_else(String::new, |at| format!(", {}", self.experiment.axis.label(at)))
    }

    fn measured(&mut self, lines: &[&Series], measure: Measure) {
        let bars = self.experiment.axis == Axis::None;
        let most = if bars { MOST_BARS } else { MOST_LINES };
        // Rates of memory and of a device need different scales.
        let apart = !measure.is_cost() && !bars;
        for panel in split(lines, apart, most) {
            if bars { self.bars(&panel, measure) } else { self.lines(&panel, measure) }
        }
    }

    /// Adds a chart. `caption` ends without a full stop; `described` begins with a space or is empty.
    pub(super) fn add(
        &mut self,
        stem: &str,
        caption: String,
        described: &str,
        spoken: &[String],
        picture: Picture,
    ) {
        let title = self.experiment.title.clone();
        let description = format!("{title}: {caption}. {}.", spoken.join("; "));
        let (stem, described) = (stem.to_owned(), described.to_owned());
        self.charts.push(Chart { stem, number: 0, title, caption, described, description, picture });
    }

    fn lines(&mut self, panel: &Panel, measure: Measure) {
        let axis = self.experiment.axis;
        let value = |cell: usize| self.summary(cell).and_then(|s| measure.of(s));
        let values = panel.lines.iter().flat_map(|(_, l)| l.cells.iter().filter_map(|&c| value(c)));
        let Some(highest) = values.map(|e| e.value).reduce(f64::max).filter(|v| *v > 0.0) else { return };
        // A single point is left to the table; it must not stretch the axis of the lines.
        let peak = |l: &Series| l.cells.iter().filter_map(|&c| value(c)).map(|e| e.value).reduce(f64::max);
        let lines_only = panel.lines.iter().filter(|(_, l)| l.cells.len() > 1);
        let lowest_peak =
            lines_only.filter_map(|(_, l)| peak(l)).filter(|v| *v > 0.0).fold(highest, f64::min);
        let (factor, unit) = measure.unit(highest);
        let drawn =
            panel.lines.iter().zip(panel.styles(self.palette)).map(|((name, line), look)| ChartLine {
                name: name.clone(),
                look,
                points: line
                    .cells
                    .iter()
                    .filter_map(|&c| {
                        let (at, estimate) = (axis.of(&self.document.cells[c].labels)?, value(c)?);
                        Some(Point {
                            at,
                            y: estimate.scaled(factor),
                            tip: self.tip(name, c, measure, estimate),
                        })
                    })
                    .collect(),
                fitted: if axis == Axis::Request { self.fitted(line, measure, factor) } else { Vec::new() },
                half_power: if measure.is_cost() { None } else { self.half_power(name, line) },
            });
        let drawn: Vec<ChartLine> = drawn.filter(|l| !l.points.is_empty()).collect();
        let roof = self.document.findings.roof.as_ref().filter(|_| measure == Measure::Rate);
        let (rule, off) = match roof {
            Some(roof) if roof.rate.value <= highest * ROOF_IN_SIGHT => {
                let text = format!("roof: memory {}", units::rate(roof.rate.value));
                (Some((roof.rate.value * factor, text)), String::new())
            }
            Some(roof) => (None, format!(" The roof, {}, is off the scale.", units::rate(roof.rate.value))),
            None => (None, String::new()),
        };
        let far_apart = highest > LINES_APART * lowest_peak && measure != Measure::Processors;
        let per_work = measure.is_cost() && measure != Measure::Processors;
        let logarithmic = axis == Axis::Request && per_work || far_apart;
        let chart = LineChart {
            axis,
            y_title: format!("{unit}{}", if logarithmic { " (logarithmic)" } else { "" }),
            logarithmic,
            lines: drawn,
            rule,
        };
        let mut described = String::new();
        if chart.lines.iter().any(|l| l.half_power.is_some()) {
            described += " Ring and foot: half-power point.";
        }
        if chart.lines.iter().any(|l| !l.fitted.is_empty()) {
            described += " Lines: fitted a + b · bytes; marks: measured.";
        }
        described += &off;
        let (caption, spoken) = (self.caption(measure, panel), self.spoken(panel, measure));
        self.add(measure.names().1, caption, &described, &spoken, chart.picture());
    }

    fn caption(&self, measure: Measure, panel: &Panel) -> String {
        format!("{}{}{}", measure.names().0, axis_words(self.experiment.axis).by, panel.suffix())
    }

    fn bars(&mut self, panel: &Panel, measure: Measure) {
        let mut rated: Vec<(&str, &Series, Estimate, f64)> = panel
            .lines
            .iter()
            .filter_map(|(name, line)| {
                let summary = self.summary(line.cells[0])?;
                Some((name.as_str(), *line, measure.of(summary)?, summary.rate.value))
            })
            .collect();
        // Best first in the measure's direction; all charts of an experiment keep the order of its rates.
        rated.sort_by(|a, b| b.3.total_cmp(&a.3));
        let highest = rated.iter().map(|r| r.2.value).fold(0.0, f64::max);
        if highest <= 0.0 {
            return;
        }
        let (factor, unit) = measure.unit(highest);
        let line_styles = self.palette.line_styles(&rated.iter().map(|r| &r.1.labels).collect::<Vec<_>>());
        // One colour for all if they share one method.
        let one_method = rated.iter().all(|r| r.1.labels.method == rated[0].1.labels.method);
        let roof = self.document.findings.roof.as_ref().filter(|r| {
            let other = rated.iter().any(|r| r.1.labels.method != AccessMethod::Memory);
            measure == Measure::Rate && other && r.rate.value <= highest * ROOF_IN_SIGHT
        });
        let chart = BarChart {
            x_title: unit.to_owned(),
            rule: roof.map(|r| (r.rate.value * factor, format!("roof {}", units::rate(r.rate.value)))),
            bars: rated
                .iter()
                .zip(&line_styles)
                .map(|((name, line, estimate, _), look)| Bar {
                    name: (*name).to_owned(),
                    colour: if one_method { line_styles[0].colour } else { look.colour },
                    value: estimate.scaled(factor),
                    text: measure.text(estimate.value),
                    tip: self.tip(name, line.cells[0], measure, *estimate),
                })
                .collect(),
        };
        let order = if rated.len() > 1 { " Fastest first." } else { "" };
        let (caption, spoken) = (self.caption(measure, panel), self.spoken(panel, measure));
        self.add(measure.names().1, caption, order, &spoken, chart.picture());
    }

    fn tip(&self, name: &str, cell: usize, measure: Measure, value: Estimate) -> String {
        let figure = spanned(value, |value| measure.text(value));
        let mut tip = format!("{name}{}: {figure}", self.place(cell));
        let Some(summary) = self.summary(cell) else { return tip };
        tip += &format!(", {}", units::count(summary.n, "sample"));
        // The chart of rates shows the warnings; the chart of costs does not repeat them.
        for warning in summary.flags.iter().filter(|_| !measure.is_cost()) {
            tip += &format!("; {warning}");
        }
        tip
    }

    /// Text alternative of a chart: the range of each line.
    fn spoken(&self, panel: &Panel, measure: Measure) -> Vec<String> {
        let range = |(name, line): &(String, &Series)| {
            let values = line.cells.iter().filter_map(|&c| self.summary(c).and_then(|s| measure.of(s)));
            let values: Vec<f64> = values.map(|e| e.value).collect();
            let low = values.iter().copied().reduce(f64::min)?;
            let high = values.iter().copied().reduce(f64::max)?;
            if values.len() == 1 {
                return Some(format!("{name}: {}", measure.text(low)));
            }
            Some(format!("{name}: {} to {}", measure.text(low), measure.text(high)))
        };
        panel.lines.iter().filter_map(range).collect()
    }

    fn fitted(&self, line: &Series, measure: Measure, factor: f64) -> Vec<(f64, f64)> {
        let Some(cost) = cost_of(self.document, line) else { return Vec::new() };
        let at = |cell: &usize| self.document.cells[*cell].labels.request_bytes;
        let (Some(first), Some(last)) = (line.cells.first().and_then(at), line.cells.last().and_then(at))
        else {
            return Vec::new();
        };
        let steps = 32;
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

    fn half_power(&self, name: &str, line: &Series) -> Option<(u64, String)> {
        let axis = self.experiment.axis;
        let half = &half_of(self.document, line, axis)?.half_power;
        let at = axis.text(half.at);
        let what = if axis == Axis::Depth { "depth" } else { "request" };
        let bound = if half.at_most { "or less; nothing smaller was measured, " } else { "" };
        let crossing = half
            .crossing
            .map_or_else(String::new, |c| format!("; fitted {}", spanned(c, |value| between(axis, value))));
        let rising = if half.still_rising {
            "; throughput still rising at the end, so the half-power point may be too small"
        } else {
            ""
        };
        let peak = units::rate(half.peak);
        Some((half.at, format!("half-power {what} of {name}: {at} ({bound}peak {peak}){crossing}{rising}")))
    }
}

pub(super) fn is_of(document: &Document, line: &Series, cells: &[String]) -> bool {
    let ids = line.cells.iter().map(|&c| document.cells[c].id.as_str());
    cells.iter().map(String::as_str).eq(ids)
}

pub(super) fn half_of<'a>(document: &'a Document, line: &Series, axis: Axis) -> Option<&'a SeriesHalfPower> {
    let findings = &document.findings;
    let found = match axis {
        Axis::Depth => &findings.half_power_depth,
        Axis::Request => &findings.half_power_request,
        _ => return None,
    };
    found.iter().find(|f| is_of(document, line, &f.series.cells))
}

pub(super) fn cost_of<'a>(document: &'a Document, line: &Series) -> Option<&'a SeriesCost> {
    document.findings.costs.iter().find(|c| is_of(document, line, &c.series.cells))
}
