//! The findings of a chapter in tables, charts and sentences: burst and sustained throughput, the regret of `auto`, ratios to
//! other programs, the number of disks, request time by size.

use std::collections::BTreeMap;

use super::figures::ChartBuilder;
use super::phrases::{against, capital, spanned};
use super::plot_charts;
use super::row_charts::{Bar, BarChart};
use crate::block::{NOTHING, Table, Titled, figures, words};
use crate::document::{DeviceCredit, Document, Experiment, PeerRatio, Regret, Saturation, SeriesRequestTime};
use crate::stats::{Estimate, Law, Verdict};
use crate::units;

/// The findings about cells of a chapter.
fn in_chapter<'a, T>(
    document: &Document,
    experiment: &Experiment,
    findings: &'a [T],
    cell: fn(&T) -> &str,
) -> Vec<&'a T> {
    let here = |found: &&T| document.cell(cell(found)).is_some_and(|cell| cell.experiment == experiment.name);
    findings.iter().filter(here).collect()
}

/// The name of a credit in a chapter: `write, bytes`.
fn name(credit: &DeviceCredit) -> String {
    format!("{}, {}", credit.operation, credit.unit.word())
}

/// The parameters of a chapter's cells with their intervals, one row per cell.
pub(super) fn credit_table(document: &Document, experiment: &Experiment) -> Titled {
    let columns = [
        words("limit of"),
        figures("burst"),
        figures("credit"),
        words("full"),
        figures("sustained"),
        figures("refill while idle"),
        figures("transferred without a pause"),
        words("steady"),
    ];
    let yes = |holds: bool| if holds { "yes".to_owned() } else { "no".into() };
    let row = |found: &&DeviceCredit| {
        let (unit, fit) = (found.unit, &found.fit);
        let burst = fit.burst.as_ref();
        let refill = burst.and_then(|burst| burst.refill.as_ref());
        vec![
            name(found),
            burst.map_or_else(|| "none".into(), |burst| spanned(burst.rate, |rate| unit.rate(rate))),
            burst.map_or_else(|| NOTHING.into(), |burst| spanned(burst.credit, |count| unit.quantity(count))),
            burst.map_or_else(|| NOTHING.into(), |burst| yes(burst.full)),
            spanned(fit.sustained, |rate| unit.rate(rate)),
            refill.map_or_else(
                || NOTHING.into(),
                |refill| {
                    let bound = if refill.at_least { "at least " } else { "" };
                    format!("{bound}{}", spanned(refill.rate, |rate| unit.rate(rate)))
                },
            ),
            unit.quantity(fit.moved),
            yes(fit.steady),
        ]
    };
    let rows = in_chapter(document, experiment, &document.findings.credit, |found| &found.cell)
        .iter()
        .map(row)
        .collect();
    ("Burst, credit, sustained rate and refill", Table::new(columns, rows))
}

/// A sentence per cell.
pub(super) fn credit_sentences(document: &Document, experiment: &Experiment) -> Vec<String> {
    let sentence = |found: &DeviceCredit| format!("{}: {}.", capital(&name(found)), found.text());
    in_chapter(document, experiment, &document.findings.credit, |found| &found.cell)
        .into_iter()
        .map(sentence)
        .collect()
}

impl ChartBuilder<'_> {
    /// A chart per cell: throughput over time with the fitted steps.
    pub(super) fn course(&mut self) {
        for found in
            in_chapter(self.document, self.experiment, &self.document.findings.credit, |found| &found.cell)
        {
            let cell = self.document.cell(&found.cell);
            let Some(course) = cell.and_then(|c| c.samples.iter().find_map(|s| s.course.as_ref())) else {
                continue;
            };
            let request = cell.and_then(|cell| cell.labels.request_bytes).unwrap_or(1);
            let picture = plot_charts::course(course, found, request as f64);
            let described = format!(
                " Thin: {} slices of {}; thick: fitted. Gaps are idle periods.",
                course.stretches.iter().map(|stretch| stretch.bytes.len()).sum::<usize>(),
                units::seconds(course.slice_s)
            );
            let caption = format!("Throughput over time, {}", name(found));
            self.add("course", caption, described, &(found.text() + "."), picture);
        }
    }
}

/// The times of a regret: `auto` ÷ best.
fn times(regret: &Regret) -> Estimate {
    let Estimate { value, low, high } = regret.regret;
    Estimate { value: 1.0 + value, low: 1.0 + low, high: 1.0 + high }
}

fn rate_of(document: &Document, cell: &str) -> String {
    let summary = document.cell(cell).and_then(|cell| cell.summary.as_ref());
    summary.map_or_else(String::new, |summary| units::rate(summary.rate.value))
}

/// The regrets of a chapter, one row per job.
pub(super) fn regret_table(document: &Document, experiment: &Experiment) -> Titled {
    let columns = [
        words("job"),
        figures("regret"),
        figures("95% interval"),
        figures("auto"),
        figures("best"),
        figures("strategies"),
        words("best strategy"),
    ];
    let row = |found: &&Regret| {
        vec![
            found.job.clone(),
            units::percent(found.regret.value),
            format!("{} to {}", units::percent(found.regret.low), units::percent(found.regret.high)),
            rate_of(document, &found.cell),
            rate_of(document, &found.best),
            found.strategies.to_string(),
            found.strategy.clone(),
        ]
    };
    let rows = in_chapter(document, experiment, &document.findings.regrets, |found| &found.cell)
        .iter()
        .map(row)
        .collect();
    ("Regret: auto ÷ best strategy − 1", Table::new(columns, rows))
}

/// A sentence per job.
pub(super) fn regret_sentences(document: &Document, experiment: &Experiment) -> Vec<String> {
    in_chapter(document, experiment, &document.findings.regrets, |found| &found.cell)
        .into_iter()
        .map(|found| found.text() + ".")
        .collect()
}

impl ChartBuilder<'_> {
    /// A bar per job, in the order of the cells, with a line where `auto` takes as long as the best strategy.
    pub(super) fn regret(&mut self) {
        let found =
            in_chapter(self.document, self.experiment, &self.document.findings.regrets, |found| &found.cell);
        if found.is_empty() {
            return;
        }
        let bar = |found: &&Regret| Bar {
            name: found.job.clone(),
            colour: 0,
            value: times(found),
            text: units::percent(found.regret.value),
            tip: found.text(),
        };
        let chart = BarChart {
            x_title: "time of auto ÷ time of the best strategy".into(),
            bars: found.iter().map(bar).collect(),
            rule: Some((1.0, "best strategy".into())),
        };
        let spoken: Vec<String> = found.iter().map(|found| found.text()).collect();
        self.add(
            "regret",
            "Regret of auto, by job".into(),
            " Figures: time beyond that of the best strategy fixed for the whole run.".into(),
            &(spoken.join("; ") + "."),
            chart.picture(),
        );
    }
}

/// The ratios of a chapter, one row per cell that a peer also ran.
pub(super) fn peer_table(document: &Document, experiment: &Experiment) -> Titled {
    let columns = [
        words("cell"),
        words("program"),
        figures("rate"),
        figures("95% interval"),
        words("fullbore is"),
        figures("p50"),
        figures("p99"),
        figures("CPU time"),
        words("notes"),
    ];
    let found = in_chapter(document, experiment, &document.findings.peers, |found| &found.cell);
    // Names are computed for all cells at once, and most chapters have no peer.
    let names = if found.is_empty() { BTreeMap::new() } else { document.cell_names() };
    let ratio = |value: Option<f64>| value.map_or_else(|| NOTHING.into(), |value| format!("{value:.2}"));
    let row = |found: &&PeerRatio| {
        let name = names.get(&found.cell).unwrap_or(&found.cell);
        let name = name.strip_prefix(&format!("{}: ", experiment.name)).unwrap_or(name);
        let rate = found.rate.ratio;
        vec![
            name.to_owned(),
            found.peer.clone(),
            format!("{:.2}", rate.value),
            format!("{:.2}–{:.2}", rate.low, rate.high),
            found.rate.verdict.to_string(),
            ratio(found.p50),
            ratio(found.p99),
            ratio(found.cpu_per_request.or(found.cpu_per_mb)),
            found.note.clone().unwrap_or_default(),
        ]
    };
    let rows = found.iter().map(row).collect();
    ("Ratios: fullbore ÷ other programs", Table::new(columns, rows).without_empty_columns())
}

/// A sentence per program: the range of the ratios, and the number of significant differences.
pub(super) fn peer_sentences(document: &Document, experiment: &Experiment) -> Vec<String> {
    let all = in_chapter(document, experiment, &document.findings.peers, |found| &found.cell);
    let mut programs: Vec<&str> = Vec::new();
    for found in &all {
        if !programs.contains(&found.peer.as_str()) {
            programs.push(&found.peer);
        }
    }
    let sentence = |program: &str| {
        let rates: Vec<_> =
            all.iter().filter(|found| found.peer == program).map(|found| found.rate).collect();
        if let [only] = rates.as_slice() {
            return format!("Compared with {program}: {}.", against(only, "its rate"));
        }
        let count = |verdict| rates.iter().filter(|rate| rate.verdict == verdict).count();
        let values = || rates.iter().map(|rate| rate.ratio.value);
        format!(
            "Compared with {program} in {}: {} to {} times its rate; significantly faster in {}, slower in {}.",
            units::count(rates.len(), "cell"),
            units::significant(values().fold(f64::INFINITY, f64::min)),
            units::significant(values().fold(f64::NEG_INFINITY, f64::max)),
            count(Verdict::Faster),
            count(Verdict::Slower)
        )
    };
    programs.into_iter().map(sentence).collect()
}

/// Rate by number of disks, beside the rate expected of disks that share nothing.
pub(super) fn disk_table(document: &Document, experiment: &Experiment) -> Titled {
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
pub(super) fn request_time_table(document: &Document, experiment: &Experiment) -> Titled {
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
