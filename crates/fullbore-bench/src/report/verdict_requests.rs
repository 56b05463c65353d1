//! Verdicts on the time of requests: their latency, its phases, and the pipeline.

use super::phrases::spanned;
use super::pipeline_chart::narrowest;
use super::request_figures::{PARTS, parts, percentile};
use crate::document::{Axis, Document, Experiment, Figure, Series};
use crate::units;

/// Sentences for the figures of an experiment beyond rates and costs.
pub(super) fn sentences(document: &Document, experiment: &Experiment, lines: &[&Series]) -> Vec<String> {
    let asked = |figure: Figure| experiment.figures.contains(&figure);
    let mut described = Vec::new();
    if asked(Figure::Latency) && experiment.axis != Axis::Load {
        described.extend(latency(document, experiment, lines));
    }
    if asked(Figure::Phases) {
        described.extend(phases(document, experiment, lines));
    }
    if asked(Figure::Pipeline) {
        described.extend(pipeline(document));
    }
    described
}

fn latency(document: &Document, experiment: &Experiment, lines: &[&Series]) -> Option<String> {
    let mut found: Vec<(String, crate::stats::Estimate)> = Vec::new();
    for line in lines {
        for &c in &line.cells {
            let at = experiment.axis.of(&document.cells[c].labels);
            let at = at.map_or_else(String::new, |at| format!(", {}", experiment.axis.label(at)));
            let tail = percentile(&document.cells[c], |l| l.p99_s);
            found.extend(tail.map(|tail| (format!("{}{at}", line.name), tail)));
        }
    }
    found.sort_by(|a, b| a.1.value.total_cmp(&b.1.value));
    let described = |(name, tail): &(String, crate::stats::Estimate)| {
        format!("{} ({name})", spanned(*tail, units::seconds))
    };
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
        let at = experiment
            .axis
            .of(&cell.labels)
            .map_or_else(|| line.name.clone(), |at| experiment.axis.label(at));
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
        text += &format!(
            ", {} of the {} advertised",
            units::percent(real.value / advertised),
            units::rate(advertised)
        );
    }
    let lost = pipeline.stages.iter().filter_map(|s| {
        let (real, advertised) = (s.real?.value, s.advertised.filter(|a| *a > 0.0)?);
        Some((s, real / advertised))
    });
    if let Some((stage, share)) = lost.min_by(|a, b| a.1.total_cmp(&b.1)).filter(|l| l.0.name != narrow.name)
    {
        text += &format!(
            "; largest gap to the advertised rate: the {}, at {} of it",
            stage.name,
            units::percent(share)
        );
    }
    Some(text + ".")
}
