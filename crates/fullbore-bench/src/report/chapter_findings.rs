//! The findings of a chapter: burst and sustained throughput, regret, other programs, disks, request time by size.

use std::collections::BTreeMap;

use super::figures::ChartBuilder;
use super::plot_charts;
use super::prose::{against, capital, ends, spanned, two_digits};
use super::row_charts::{Bar, BarChart};
use crate::block::{NOTHING, TableOf, Titled};
use crate::document::{DeviceCredit, Document, Experiment, PeerRatio, Regret, Saturation, word};
use crate::grouping::distinct;
use crate::stats::{Burst, Estimate, Law, RequestTime, Verdict};
use crate::units;

fn is_in(document: &Document, experiment: &Experiment, cell: &str) -> bool {
    document.cell(cell).is_some_and(|cell| cell.experiment == experiment.name)
}

fn credits<'a>(document: &'a Document, experiment: &Experiment) -> Vec<&'a DeviceCredit> {
    let here = |found: &&DeviceCredit| is_in(document, experiment, &found.cell);
    document.findings.credit.iter().filter(here).collect()
}

fn regrets<'a>(document: &'a Document, experiment: &Experiment) -> Vec<&'a Regret> {
    let here = |found: &&Regret| is_in(document, experiment, &found.cell);
    document.findings.regrets.iter().filter(here).collect()
}

fn peers<'a>(document: &'a Document, experiment: &Experiment) -> Vec<&'a PeerRatio> {
    let here = |found: &&PeerRatio| is_in(document, experiment, &found.cell);
    document.findings.peers.iter().filter(here).collect()
}

/// The name of a credit in a chapter: `write, bytes`.
fn name(credit: &DeviceCredit) -> String {
    format!("{}, {}", credit.operation, word(credit.unit))
}

pub(super) fn credit_table(document: &Document, experiment: &Experiment) -> Titled {
    let yes = |holds: bool| if holds { "yes".to_owned() } else { "no".into() };
    let nothing = || NOTHING.to_owned();
    let quantity =
        |found: &DeviceCredit, burst: &Burst| spanned(burst.credit, |count| found.unit.quantity(count));
    let rate = |found: &DeviceCredit, rate: Estimate| spanned(rate, |rate| found.unit.rate(rate));
    let refill = |found: &DeviceCredit| {
        let refill = found.fit.burst.as_ref()?.refill.as_ref()?;
        let bound = if refill.at_least { "at least " } else { "" };
        Some(format!("{bound}{}", rate(found, refill.rate)))
    };
    let burst = |found: &DeviceCredit| found.fit.burst.clone();
    let table = TableOf::new(credits(document, experiment))
        .words("limit of", |found| name(found))
        .figures("burst", |found| burst(found).map_or_else(|| "none".into(), |b| rate(found, b.rate)))
        .figures("credit", |found| burst(found).map_or_else(nothing, |burst| quantity(found, &burst)))
        .words("full", |found| burst(found).map_or_else(nothing, |burst| yes(burst.full)))
        .figures("sustained", |found| rate(found, found.fit.sustained))
        .figures("refill while idle", |found| refill(found).unwrap_or_else(nothing))
        .figures("transferred without a pause", |found| found.unit.quantity(found.fit.moved))
        .words("steady", |found| yes(found.fit.steady));
    ("Burst, credit, sustained rate and refill", table.table())
}

pub(super) fn credit_sentences(document: &Document, experiment: &Experiment) -> Vec<String> {
    let sentence = |found: &DeviceCredit| format!("{}: {}.", capital(&name(found)), found.text());
    credits(document, experiment).into_iter().map(sentence).collect()
}

impl ChartBuilder<'_> {
    /// A chart per cell: throughput over time with the fitted steps.
    pub(super) fn course(&mut self) {
        for found in credits(self.document, self.experiment) {
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
            self.add("course", caption, &described, &[found.text()], picture);
        }
    }
}

/// The times of a regret: `auto` ÷ best.
fn times(regret: &Regret) -> Estimate {
    let Estimate { value, low, high } = regret.regret;
    Estimate { value: 1.0 + value, low: 1.0 + low, high: 1.0 + high }
}

fn rate_of(document: &Document, cell: &str) -> String {
    document.summary(cell).map_or_else(String::new, |summary| units::rate(summary.rate.value))
}

pub(super) fn regret_table(document: &Document, experiment: &Experiment) -> Titled {
    let table = TableOf::new(regrets(document, experiment))
        .words("job", |found| found.job.clone())
        .figures("regret", |found| units::percent(found.regret.value))
        .figures("95% interval", |found| ends(found.regret, units::percent))
        .figures("auto", |found| rate_of(document, &found.cell))
        .figures("best", |found| rate_of(document, &found.best))
        .figures("strategies", |found| found.strategies.to_string())
        .words("best strategy", |found| found.strategy.clone());
    ("Regret: auto ÷ best strategy − 1", table.table())
}

pub(super) fn regret_sentences(document: &Document, experiment: &Experiment) -> Vec<String> {
    regrets(document, experiment).into_iter().map(|found| found.text() + ".").collect()
}

impl ChartBuilder<'_> {
    /// A bar per job, in the order of the cells, with a line where `auto` takes as long as the best strategy.
    pub(super) fn regret(&mut self) {
        let found = regrets(self.document, self.experiment);
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
        let described = " Figures: time beyond that of the best strategy fixed for the whole run.";
        self.add("regret", "Regret of auto, by job".into(), described, &spoken, chart.picture());
    }
}

pub(super) fn peer_table(document: &Document, experiment: &Experiment) -> Titled {
    let found = peers(document, experiment);
    // Names are computed for all cells at once, and most chapters have no peer.
    let names = if found.is_empty() { BTreeMap::new() } else { document.cell_names() };
    let name = |id: &String| {
        let name = names.get(id).unwrap_or(id);
        name.strip_prefix(&format!("{}: ", experiment.name)).unwrap_or(name).to_owned()
    };
    let ratio = |value: Option<f64>| value.map_or_else(|| NOTHING.into(), two_digits);
    let table = TableOf::new(found)
        .words("cell", |found| name(&found.cell))
        .words("program", |found| found.peer.clone())
        .figures("rate", |found| two_digits(found.rate.ratio.value))
        .figures("95% interval", |found| ends(found.rate.ratio, two_digits))
        .words("fullbore is", |found| found.rate.verdict.to_string())
        .figures("p50", |found| ratio(found.p50))
        .figures("p99", |found| ratio(found.p99))
        .figures("CPU time", |found| ratio(found.cpu_per_request.or(found.cpu_per_mb)))
        .words("notes", |found| found.note.clone().unwrap_or_default());
    ("Ratios: fullbore ÷ other programs", table.table().without_empty_columns())
}

/// A sentence per program: the range of the ratios, and the number of significant differences.
pub(super) fn peer_sentences(document: &Document, experiment: &Experiment) -> Vec<String> {
    let all = peers(document, experiment);
    let programs = distinct(all.iter().map(|found| found.peer.as_str()));
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
    let found: Vec<&Saturation> =
        document.findings.saturation.iter().filter(|s| s.series.experiment == experiment.name).collect();
    let mut rows = Vec::new();
    for path in &found {
        if found.len() > 1 {
            rows.push((path.series.name.clone(), None));
        }
        rows.extend(path.steps.iter().map(|step| (step.targets.to_string(), Some((*path, step)))));
    }
    let more = |path: &Saturation| match (path.still_rising, path.sure) {
        (true, _) => "not measured".to_owned(),
        (false, true) => "no gain".into(),
        (false, false) => "no significant gain".into(),
    };
    let table = TableOf::named("disks", rows)
        .figures("rate", |(_, step)| spanned(step.rate, units::rate))
        .figures("if nothing were shared", |(_, step)| {
            step.expected.map_or_else(|| NOTHING.into(), units::rate)
        })
        .figures("share of that", |(_, step)| step.efficiency.map_or_else(|| NOTHING.into(), units::percent))
        .words("more disks", |(path, step)| if step.targets == path.at { more(path) } else { String::new() });
    ("Rate by number of disks", table.table().without_empty_columns())
}

/// The fitted model of request time, one row per path.
pub(super) fn request_time_table(document: &Document, experiment: &Experiment) -> Titled {
    let law = |law: Law| match law {
        Law::Sum => "a + b · bytes",
        Law::Larger => "the larger of a and b · bytes",
    };
    let bound = |at_most: bool, sign: &str| if at_most { sign.to_owned() } else { String::new() };
    let request = |t: &RequestTime, sign: &str| bound(t.request_at_most, sign);
    let byte = |t: &RequestTime| bound(t.byte_at_most, "≥ ");
    let here = document.findings.request_times.iter().filter(|t| t.series.experiment == experiment.name);
    let table = TableOf::new(here.map(|found| (&found.series.name, &found.time)))
        .words("path", |(name, _)| (*name).clone())
        .words("model", |(_, t)| law(t.law).into())
        .figures("a", |(_, t)| request(t, "≤ ") + &spanned(t.per_request, units::seconds))
        .figures("1 ÷ a", |(_, t)| {
            request(t, "≥ ") + &spanned(t.per_request.inverse(), units::requests_rate)
        })
        .figures("1 ÷ b", |(_, t)| byte(t) + &spanned(t.per_byte.inverse(), units::rate))
        .figures("half-power size", |(_, t)| {
            request(t, "≤ ") + &byte(t) + &spanned(t.half_power, units::about_size)
        })
        .figures("worst residual", |(_, t)| units::percent(t.max_relative_residual))
        .figures("sizes", |(_, t)| t.points.to_string());
    ("Request time by size", table.table().without_empty_columns())
}
