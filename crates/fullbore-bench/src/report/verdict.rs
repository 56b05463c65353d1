//! The verdict of an experiment in sentences; a difference that the intervals do not confirm is not significant.

use super::figures::{cost_of, half_of};
use super::measure::{Measure, between};
use super::panels::{Facet, JOBS, named};
use super::pipeline_chart::narrowest;
use super::prose::{against, capital, peak, spanned};
use super::request_figures::{parts, percentile, stream_fairness};
use super::row_charts::PARTS;
use crate::document::{AccessMethod, Axis, Cell, Document, Experiment, Figure, Series, Stage};
use crate::grouping::grouped;
use crate::stats::{Estimate, Verdict};
use crate::units;

/// Kinds of jobs described in sentences; the rest appears in the tables only.
const MOST_JOBS: usize = 6;

/// The verdict of an experiment: a few sentences; none if nothing was measured.
pub(crate) fn verdict(document: &Document, experiment: &Experiment, lines: &[Series]) -> Vec<String> {
    let credits = super::chapter_findings::credit_sentences(document, experiment);
    if !credits.is_empty() {
        return credits;
    }
    let all: Vec<&Series> = lines.iter().collect();
    let varying: Vec<Facet> = JOBS
        .into_iter()
        .filter(|facet| lines.iter().any(|l| facet(&l.labels) != facet(&lines[0].labels)))
        .collect();
    let job = |line: &Series| {
        let words = varying.iter().filter_map(|f| f(&line.labels)).filter(|w| !w.is_empty());
        words.collect::<Vec<_>>().join(", ")
    };
    let mut jobs = grouped(all.iter().map(|line| (job(line), *line)));
    let more = jobs.len().saturating_sub(MOST_JOBS);
    jobs.truncate(MOST_JOBS);
    let mut described = Vec::new();
    for (job, group) in &jobs {
        described.extend(best(document, experiment, group, job, jobs.len() == 1));
        described.extend(along(document, experiment, group, job));
    }
    if more > 0 {
        described.push(format!("{} of job in the tables.", units::count(more, "more kind")));
    }
    described.extend(cost(document, &all));
    described.extend(request_sentences(document, experiment, &all));
    described.extend(super::chapter_findings::peer_sentences(document, experiment));
    described
}

fn place(experiment: &Experiment, cell: &Cell) -> String {
    let at = experiment.axis.of(&cell.labels);
    if experiment.axis == Axis::Offset && at == Some(0) {
        return " when aligned".into();
    }
    at.map_or_else(String::new, |at| format!(" at {}", experiment.axis.label(at)))
}

/// The fastest path for a job, compared with the next and the slowest.
fn best(
    document: &Document,
    experiment: &Experiment,
    lines: &[&Series],
    job: &str,
    only: bool,
) -> Option<String> {
    // At a set rate the request rate is given, not found.
    if experiment.axis == Axis::Load {
        return None;
    }
    let mut peaks: Vec<(String, &Series, &Cell, Estimate)> = named(lines, job)
        .into_iter()
        .filter_map(|(name, line)| peak(document, line).map(|(cell, rate)| (name, line, cell, rate)))
        .collect();
    peaks.sort_by(|a, b| b.3.value.total_cmp(&a.3.value));
    let (name, line, cell, rate) =
        peaks.first().map(|(name, line, cell, rate)| (name, *line, *cell, *rate))?;
    // For small random requests the number per second counts, if they have one size.
    let one_size = peaks.iter().all(|peak| peak.2.labels.request_bytes == cell.labels.request_bytes);
    let random = line.labels.is_random_over_file() && experiment.axis != Axis::Request;
    let counted = one_size && (random || experiment.figures.first() == Some(&Figure::Requests));
    let requests = cell.summary.as_ref().and_then(|s| Measure::Requests.of(s)).filter(|_| counted);
    let speed = match requests {
        Some(requests) => spanned(requests, units::requests_rate),
        None => spanned(rate, units::rate),
    };
    let roof = document.findings.roof.as_ref().filter(|_| line.labels.method != AccessMethod::Memory);
    let share = roof.and_then(|roof| roof.share(&rate));
    let share = share.map_or_else(String::new, |share| format!(", {} of the roof", units::percent(share)));
    let unnamed = peaks.len() == 1 && only;
    let who = if unnamed { "peak" } else { name };
    let head = if job.is_empty() { String::new() } else { format!("{}: ", capital(job)) };
    let at = place(experiment, cell);
    let mut text = format!("{head}{who}{at}, {speed}{share}");
    if unnamed {
        text = capital(&text);
    }
    if let [_, next, others @ ..] = peaks.as_slice() {
        if let Some(comparison) = cell.compared_with(next.2) {
            text += &format!("; {}", against(&comparison, &next.0));
        }
        if let Some(last) = others.last()
            && let Some(comparison) = cell.compared_with(last.2)
        {
            text += &format!("; {}", against(&comparison, &format!("{}, the slowest", last.0)));
        }
    }
    if let Some(half) = half_of(document, line, experiment.axis).map(|h| &h.half_power) {
        let at = experiment.axis.text(half.at);
        let bound = if half.at_most { " or less" } else { "" };
        let crossing = half.crossing.map_or_else(String::new, |c| {
            let fitted = spanned(c, |v| between(experiment.axis, v));
            format!(" (fitted {}", fitted.replacen(" (", ", ", 1))
        });
        let (what, end) =
            if experiment.axis == Axis::Depth { ("depth", "depth") } else { ("request", "size") };
        let rising = if half.still_rising {
            format!("; throughput still rising at the largest {end}")
        } else {
            String::new()
        };
        text += &format!("; half-power {what} {at}{bound}{crossing}{rising}");
    }
    Some(text + ".")
}

/// Least and greatest fixed CPU cost of a request among the fitted lines.
fn cost(document: &Document, lines: &[&Series]) -> Option<String> {
    let found = lines.iter().filter_map(|l| Some((*l, cost_of(document, l)?)));
    // A cost whose interval includes 0 is not significant.
    let mut costs: Vec<_> = found.filter(|(_, c)| c.line.per_request.low > 0.0).collect();
    costs.sort_by(|a, b| a.1.line.per_request.value.total_cmp(&b.1.line.per_request.value));
    let described = |(line, cost): &(&Series, &crate::document::SeriesCost)| {
        format!(
            "{}, {} per request + {} per MB of CPU time",
            line.name,
            spanned(cost.line.per_request, units::seconds),
            spanned(cost.line.per_byte.scaled(1e6), units::seconds)
        )
    };
    match costs.as_slice() {
        [] => None,
        [only] => Some(format!("Fitted cost: {}.", described(only))),
        [least, .., most] if most.1.line.per_request.low <= least.1.line.per_request.high => Some(format!(
            "Fixed cost of a request: no significant difference between the paths; the lowest is {}.",
            described(least)
        )),
        [least, .., most] => Some(format!(
            "Lowest fixed cost of a request: {}. Highest: {}.",
            described(least),
            described(most)
        )),
    }
}

/// A sentence about a kind of job along the axis; `None` for axes that the half-power point describes.
pub(super) fn along(
    document: &Document,
    experiment: &Experiment,
    lines: &[&Series],
    job: &str,
) -> Option<String> {
    let (name, fastest, _) = named(lines, job)
        .into_iter()
        .filter(|(_, line)| line.cells.len() > 1)
        .filter_map(|(name, line)| Some((name, line, peak(document, line)?.1.value)))
        .max_by(|a, b| a.2.total_cmp(&b.2))?;
    let cells: Vec<&Cell> = fastest.cells.iter().map(|&c| &document.cells[c]).collect();
    let walk = AxisVerdict { axis: experiment.axis, cells, name: if lines.len() > 1 { &name } else { "" } };
    let described = match experiment.axis {
        Axis::Targets | Axis::Streams => walk.adding()?,
        Axis::File => walk.outgrowing()?,
        Axis::Offset => walk.misaligning()?,
        Axis::Load => walk.loading()?,
        Axis::Request | Axis::Depth | Axis::None => return None,
    };
    let head: Vec<String> =
        [capital(job), walk.name.to_owned()].into_iter().filter(|w| !w.is_empty()).collect();
    Some(if head.is_empty() { capital(&described) } else { format!("{}: {described}", head.join(", ")) })
}

/// An added stream or disk helps if it brings at least this share of the first one's rate.
const HELPS: f64 = 0.1;
/// A load is sustained if at least this share of it is served.
pub(crate) const SUSTAINED_SHARE: f64 = 0.95;

struct AxisVerdict<'a> {
    axis: Axis,
    cells: Vec<&'a Cell>,
    name: &'a str,
}

impl AxisVerdict<'_> {
    fn at(&self, cell: &Cell) -> u64 {
        self.axis.of(&cell.labels).unwrap_or(0)
    }

    fn text(&self, cell: &Cell) -> String {
        self.axis.text(self.at(cell))
    }

    fn label(&self, cell: &Cell) -> String {
        self.axis.label(self.at(cell))
    }

    fn rate(cell: &Cell) -> f64 {
        cell.summary.as_ref().map_or(0.0, |s| s.rate.value)
    }

    /// Streams or disks added one after the other.
    fn adding(&self) -> Option<String> {
        let (first, last) = (*self.cells.first()?, *self.cells.last()?);
        let (start, base) = (self.at(first), Self::rate(first));
        if base <= 0.0 || start == 0 {
            return None;
        }
        let comparison = last.compared_with(first)?;
        let mut text = format!("{}: {}", self.label(last), against(&comparison, &self.label(first)));
        let share = base / start as f64;
        let helps = |pair: &[&Cell]| {
            let added = (self.at(pair[1]) - self.at(pair[0])) as f64;
            added > 0.0 && Self::rate(pair[1]) - Self::rate(pair[0]) >= HELPS * share * added
        };
        // A step that adds little may be followed by one that helps.
        let enough = self.cells.windows(2).rposition(helps).map_or(first, |step| self.cells[step + 1]);
        if self.at(enough) < self.at(last) {
            let enough = self.label(enough);
            text +=
                &format!("; beyond {enough}, each further one adds less than 10% of the first one's rate");
        } else if comparison.verdict == Verdict::Faster && self.cells.windows(2).all(helps) {
            text += "; every addition raised throughput";
        }
        let fair = self.cells.iter().rev().find_map(|c| Some((*c, stream_fairness(c)?)));
        if let Some((cell, index)) = fair {
            text += &format!("; Jain’s fairness index at {}: {index:.2}", self.label(cell));
        }
        Some(text + ".")
    }

    /// Files that grow until they no longer fit into memory.
    fn outgrowing(&self) -> Option<String> {
        let best = self.cells.iter().copied().max_by(|a, b| Self::rate(a).total_cmp(&Self::rate(b)))?;
        let beyond = self.cells.iter().copied().filter(|c| self.at(c) > self.at(best));
        let fallen = beyond.clone().find(|c| Self::rate(c) < Self::rate(best) / 2.0);
        let last = *self.cells.last()?;
        Some(match fallen {
            Some(cell) => format!(
                "throughput falls below half the peak at a file of {}: {} there, {} at {}.",
                self.text(cell),
                units::rate(Self::rate(cell)),
                units::rate(Self::rate(last)),
                self.text(last)
            ),
            None => format!(
                "throughput stays at or above half the peak up to a file of {} ({} there).",
                self.text(last),
                units::rate(Self::rate(last))
            ),
        })
    }

    /// Requests that do not begin at a multiple of their size.
    fn misaligning(&self) -> Option<String> {
        let aligned = self.cells.iter().copied().find(|c| self.at(c) == 0)?;
        let off = self.cells.iter().copied().filter(|c| self.at(c) > 0);
        let worst = off.min_by(|a, b| Self::rate(a).total_cmp(&Self::rate(b)))?;
        let comparison = worst.compared_with(aligned)?;
        Some(match comparison.verdict {
            Verdict::Slower => format!(
                "largest cost of misalignment: at {} off, {} of the aligned rate ({}–{}).",
                units::size(self.at(worst)),
                units::percent(comparison.ratio.value),
                units::percent(comparison.ratio.low),
                units::percent(comparison.ratio.high)
            ),
            _ if comparison.unclear_because().is_some() => {
                let worst_is = against(&comparison, "aligned");
                format!("lowest rate at {} off: {worst_is}.", units::size(self.at(worst)))
            }
            _ => format!(
                "no measurable cost of misalignment; lowest rate at {} off: {}.",
                units::size(self.at(worst)),
                against(&comparison, "aligned")
            ),
        })
    }

    /// Requests that arrive at a set rate.
    fn loading(&self) -> Option<String> {
        let served = |c: &Cell| c.summary.as_ref().and_then(|s| s.requests_per_s);
        let sustained = |c: &&&Cell| served(c).is_some_and(|r| r >= SUSTAINED_SHARE * self.at(c) as f64);
        let most = self.cells.iter().filter(sustained).copied().max_by_key(|c| self.at(c));
        let Some(most) = most else {
            let least = *self.cells.first()?;
            let got = units::requests_rate(served(least)?);
            return Some(format!("does not sustain the lowest load, {}: {got} served.", self.text(least)));
        };
        let tail = |c: &Cell| percentile(c, |l| l.p99_s).map(|e| spanned(e, units::seconds));
        let mut text = format!("sustains {}", self.text(most));
        if let (Some(light), Some(heavy)) = (tail(self.cells[0]), tail(most)) {
            text += &if self.at(most) > self.at(self.cells[0]) {
                format!("; p99 {light} at {}, {heavy} at that load", self.text(self.cells[0]))
            } else {
                format!("; p99 {light}")
            };
        }
        let over = self.cells.iter().copied().find(|c| self.at(c) > self.at(most));
        if let Some(over) = over {
            text += &format!("; does not sustain {}", self.text(over));
        }
        Some(text + ".")
    }
}

/// Sentences for the figures of an experiment beyond rates and costs.
fn request_sentences(document: &Document, experiment: &Experiment, lines: &[&Series]) -> Vec<String> {
    let has = |figure: Figure| experiment.figures.contains(&figure);
    let mut described = Vec::new();
    if has(Figure::Latency) && experiment.axis != Axis::Load {
        described.extend(latency(document, experiment, lines));
    }
    if has(Figure::Phases) {
        described.extend(phases(document, experiment, lines));
    }
    if has(Figure::Pipeline) {
        described.extend(pipeline(document));
    }
    described
}

fn latency(document: &Document, experiment: &Experiment, lines: &[&Series]) -> Option<String> {
    let mut found: Vec<(String, Estimate)> = Vec::new();
    for line in lines {
        for &c in &line.cells {
            let at = experiment.axis.of(&document.cells[c].labels);
            let at = at.map_or_else(String::new, |at| format!(", {}", experiment.axis.label(at)));
            let tail = percentile(&document.cells[c], |l| l.p99_s);
            found.extend(tail.map(|tail| (format!("{}{at}", line.name), tail)));
        }
    }
    found.sort_by(|a, b| a.1.value.total_cmp(&b.1.value));
    let described =
        |(name, tail): &(String, Estimate)| format!("{} ({name})", spanned(*tail, units::seconds));
    match found.as_slice() {
        [] => None,
        [only] => Some(format!("p99 of request time: {}.", described(only))),
        [least, .., most] => {
            Some(format!("p99 of request time: lowest {}, highest {}.", described(least), described(most)))
        }
    }
}

fn phases(document: &Document, experiment: &Experiment, lines: &[&Series]) -> Option<String> {
    let line = lines.iter().find(|l| l.cells.iter().any(|&c| parts(&document.cells[c]).is_some()))?;
    let described = |&c: &usize| {
        let cell = &document.cells[c];
        let sizes = parts(cell)?;
        let whole: f64 = sizes.iter().flatten().sum();
        let most =
            (0..PARTS.len()).max_by(|&a, &b| sizes[a].unwrap_or(0.0).total_cmp(&sizes[b].unwrap_or(0.0)))?;
        let at = experiment.axis.of(&cell.labels);
        let at = at.map_or_else(|| line.name.clone(), |at| experiment.axis.label(at));
        let share = units::percent(sizes[most].unwrap_or(0.0) / whole);
        Some(format!("{share} of {} in “{}” ({at})", units::seconds(whole), PARTS[most].0))
    };
    let measured: Vec<String> = line.cells.iter().filter_map(described).collect();
    match measured.as_slice() {
        [] => None,
        [only] => Some(format!("Longest phase of a request: {only}.")),
        [first, .., last] => Some(format!("Longest phase of a request: {first}; {last}.")),
    }
}

fn pipeline(document: &Document) -> Option<String> {
    let pipeline = document.findings.pipeline.as_ref()?;
    let narrow = &pipeline.stages[narrowest(pipeline)?];
    let real = narrow.real?;
    let mut text = format!("Narrowest stage: the {}, {}", narrow.name, spanned(real, units::rate));
    if let Some(advertised) = narrow.advertised.filter(|a| *a > 0.0) {
        let share = units::percent(real.value / advertised);
        text += &format!(", {share} of the {} advertised", units::rate(advertised));
    }
    let lost = pipeline.stages.iter().filter_map(|s| {
        let (real, advertised) = (s.real?.value, s.advertised.filter(|a| *a > 0.0)?);
        Some((s, real / advertised))
    });
    let most = lost.min_by(|a, b| a.1.total_cmp(&b.1)).filter(|lost| lost.0.name != narrow.name);
    if let Some((Stage { name, .. }, share)) = most {
        let share = units::percent(share);
        text += &format!("; largest gap to the advertised rate: the {name}, at {share} of it");
    }
    Some(text + ".")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Labels, Sample};

    #[test]
    fn only_streams_after_the_last_one_that_helps_add_little() {
        let text = |rates: [f64; 4]| {
            let cells: Vec<Cell> = (rates.iter().zip([1, 2, 4, 8]))
                .map(|(rate, streams)| {
                    let labels = Labels { streams: Some(streams), ..Labels::of("read", "direct") };
                    let sample = |round| Sample {
                        round,
                        bytes: 1_000_000_000,
                        seconds: (1.0 + f64::from(round) * 1e-3) / rate,
                        ..Sample::default()
                    };
                    Cell::measured(&streams.to_string(), labels, (0..6).map(sample))
                })
                .collect();
            AxisVerdict { axis: Axis::Streams, cells: cells.iter().collect(), name: "" }.adding().unwrap()
        };
        for (rates, words) in [
            ([1.0, 1.05, 3.5, 7.0], None),
            ([1.0, 1.05, 3.5, 3.6], Some("beyond 4 streams, ")),
            ([1.0, 1.01, 1.02, 1.03], Some("beyond 1 stream, ")),
            ([1.0, 1.9, 3.5, 7.0], Some("every addition")),
        ] {
            let text = text(rates);
            let found = ["beyond 1 stream, ", "beyond 4 streams, ", "every addition", "beyond"];
            assert_eq!(found.into_iter().find(|words| text.contains(words)), words, "{text}");
        }
    }
}
