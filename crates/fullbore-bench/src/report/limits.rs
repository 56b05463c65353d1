//! Tables of limits: rate by number of disks, and request time by size.

use super::phrases::spanned;
use crate::block::{NOTHING, Table, Titled, figures, words};
use crate::document::{Document, Experiment, Saturation, SeriesRequestTime};
use crate::stats::Law;
use crate::units;

/// Rate by number of disks, beside the rate expected of disks that share nothing.
pub(super) fn disks(document: &Document, experiment: &Experiment) -> Titled {
    let columns = [
        words("disks"),
        figures("rate"),
        figures("if nothing were shared"),
        figures("share of that"),
        words("more disks"),
    ];
    let found: Vec<&Saturation> =
        document.findings.saturation.iter().filter(|s| s.series.experiment == experiment.name).collect();
    let mut rows = Vec::new();
    for path in &found {
        if found.len() > 1 {
            rows.push(vec![path.series.name.clone()]);
        }
        let text = match (path.still_rising, path.sure) {
            (true, _) => "not measured",
            (false, true) => "no gain",
            (false, false) => "no significant gain",
        };
        rows.extend(path.steps.iter().map(|step| {
            vec![
                step.targets.to_string(),
                spanned(step.rate, units::rate),
                step.expected.map_or_else(|| NOTHING.into(), units::rate),
                step.efficiency.map_or_else(|| NOTHING.into(), units::percent),
                if step.targets == path.at { text.into() } else { String::new() },
            ]
        }));
    }
    ("Rate by number of disks", Table::new(columns, rows).without_empty_columns())
}

/// The fitted model of request time, one row per path.
pub(super) fn requests(document: &Document, experiment: &Experiment) -> Titled {
    let columns = [
        words("path"),
        words("model"),
        figures("a"),
        figures("1 ÷ a"),
        figures("1 ÷ b"),
        figures("half-power size"),
        figures("worst residual"),
        figures("sizes"),
    ];
    let row = |found: &SeriesRequestTime| {
        let time = &found.time;
        let law = match time.law {
            Law::Sum => "a + b · bytes",
            Law::Larger => "the larger of a and b · bytes",
        };
        let bound = |at_most: bool, sign: &str| if at_most { sign.to_owned() } else { String::new() };
        vec![
            found.series.name.clone(),
            law.into(),
            bound(time.request_at_most, "≤ ") + &spanned(time.per_request, units::seconds),
            bound(time.request_at_most, "≥ ") + &spanned(time.per_request.inverse(), units::requests_rate),
            bound(time.byte_at_most, "≥ ") + &spanned(time.per_byte.inverse(), units::rate),
            bound(time.request_at_most, "≤ ")
                + &bound(time.byte_at_most, "≥ ")
                + &spanned(time.half_power, units::about_size),
            units::percent(time.max_relative_residual),
            time.points.to_string(),
        ]
    };
    let here = document.findings.request_times.iter().filter(|t| t.series.experiment == experiment.name);
    ("Request time by size", Table::new(columns, here.map(row).collect()).without_empty_columns())
}
