//! The verdict of an experiment, in sentences computed from its cells: the best path against the others, half-power,
//! cost. A difference that the intervals do not confirm is reported as not significant.

use super::figures::{cost_of, half_of};
use super::measure::{Measure, between};
use super::panels::{Facet, JOBS, grouped, named};
use super::phrases::{against, capital, compared, peak, spanned};
use super::verdict_along::along;
use crate::document::{Axis, Cell, Document, Experiment, Figure, Series};
use crate::stats::Estimate;
use crate::units;

/// Kinds of jobs described in sentences; the rest appears in the tables only.
const MOST_JOBS: usize = 6;

/// The verdict of an experiment: a few sentences; none if nothing was measured.
pub(crate) fn verdict(document: &Document, experiment: &Experiment, lines: &[Series]) -> Vec<String> {
    let credits = super::credit::sentences(document, experiment);
    if !credits.is_empty() {
        return credits;
    }
    let all: Vec<&Series> = lines.iter().collect();
    let varying: Vec<Facet> = JOBS
        .into_iter()
        .filter(|facet| lines.iter().any(|l| facet.of(&l.labels) != facet.of(&lines[0].labels)))
        .collect();
    let job = |line: &Series| {
        let words = varying.iter().map(|f| f.of(&line.labels)).filter(|w| !w.is_empty());
        words.collect::<Vec<_>>().join(", ")
    };
    let mut jobs = grouped(&all, job);
    let more = jobs.len().saturating_sub(MOST_JOBS);
    jobs.truncate(MOST_JOBS);
    let mut described = Vec::new();
    for (job, group) in &jobs {
        described.extend(best(document, experiment, group, job, jobs.len() == 1));
        described.extend(along(document, experiment, group, job));
    }
    if more > 0 {
        described.push(format!(
            "{} more in the tables.",
            units::count(more, "kind of job").replace("jobs", "job")
        ));
    }
    described.extend(cost(document, &all));
    described.extend(super::verdict_requests::sentences(document, experiment, &all));
    described.extend(super::peers::sentences(document, experiment));
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
    // For small random requests the number per second counts.
    let random = line.labels.order.as_deref() == Some("random") && experiment.axis != Axis::Request;
    let counted = random || experiment.figures.first() == Some(&Figure::Requests);
    let requests = cell.summary.as_ref().and_then(|s| Measure::Requests.of(s)).filter(|_| counted);
    let speed = match requests {
        Some(requests) => spanned(requests, units::requests_rate),
        None => spanned(rate, units::rate),
    };
    let roof = document.findings.roof.as_ref().filter(|r| r.rate.value > 0.0 && experiment.name != "memory");
    let share = roof
        .map_or_else(String::new, |r| format!(", {} of the roof", units::percent(rate.value / r.rate.value)));
    let who = if peaks.len() == 1 && only { "peak" } else { name };
    let head = if job.is_empty() { String::new() } else { format!("{}: ", capital(job)) };
    let at = place(experiment, cell);
    let mut text = format!("{head}{who}{at}, {speed}{share}");
    if who == "peak" {
        text = capital(&text);
    }
    if let [_, next, others @ ..] = peaks.as_slice() {
        if let Some(comparison) = compared(cell, next.2) {
            text += &format!("; {}", against(&comparison, &next.0));
        }
        if let Some(last) = others.last()
            && let Some(comparison) = compared(cell, last.2)
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
        [least, .., most] if most.1.line.per_request.low <= least.1.line.per_request.high => {
            Some(format!("Cheapest: {}; no significant difference from the other paths.", described(least)))
        }
        [least, .., most] => {
            Some(format!("Cheapest: {}. Most expensive: {}.", described(least), described(most)))
        }
    }
}
