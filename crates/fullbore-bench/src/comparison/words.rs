//! Figures and sentences shared by all forms of a comparison.

use super::change::{Change, Judgement, Measure};
use super::compare::RunComparison;
use super::compared_run::{CellChange, ComparedRun, Origin};
use super::difference::{Difference, shown};
use crate::stats::Estimate;
use crate::units;

pub(super) fn figure(measure: Measure, value: f64) -> String {
    match measure {
        Measure::Rate => units::rate(value),
        Measure::CostPerMb => format!("{} ms/MB", units::ms_per_mb(value)),
        Measure::CostPerRequest => format!("{} µs/req", units::significant(value * 1e6)),
        Measure::LatencyP99 => units::seconds(value),
    }
}

/// A ratio: `0.931`, followed by `?` if its verdict does not hold among all comparisons.
pub(super) fn ratio(change: &Change) -> String {
    let doubt = if change.is_judged() && !change.stands { "?" } else { "" };
    format!("{}{doubt}", units::significant(change.ratio.value))
}

/// An interval: `0.902–0.960`. The ratio of single samples has none.
pub(super) fn interval(ratio: &Estimate) -> String {
    if !ratio.has_interval() {
        return "no interval".into();
    }
    format!("{}–{}", units::significant(ratio.low), units::significant(ratio.high))
}

/// A ratio of cost, with its verdict as a mark before it.
fn marked_ratio(change: Option<&Change>) -> String {
    let Some(change) = change else { return "-".into() };
    let mark = match change.judgement {
        Judgement::Same => "=",
        Judgement::Unclear => "~",
        Judgement::Worse => "▲",
        Judgement::Better => "▼",
    };
    format!("{mark}{}", units::significant(change.ratio.value))
}

/// The figures of a cell: baseline, this, ratio, interval, CPU time, latency.
pub(super) fn figures(cell: &CellChange) -> [String; 6] {
    [
        figure(Measure::Rate, cell.rate.baseline),
        figure(Measure::Rate, cell.rate.this),
        ratio(&cell.rate),
        interval(&cell.rate.ratio),
        marked_ratio(cell.cost.as_ref()),
        marked_ratio(cell.latency.as_ref()),
    ]
}

/// Explanation of the marks of [`marked_ratio`] and [`ratio`].
pub(super) fn legend(comparison: &RunComparison, other: &ComparedRun) -> String {
    let latency = if other.cells.iter().any(|cell| cell.latency.is_some()) {
        "; p99: ratio of the 99th percentile of request time"
    } else {
        ""
    };
    let n = other.cells.iter().filter(|cell| cell.rate.p.is_some()).count();
    format!(
        "ratio: this ÷ baseline with its {} interval; below 1 is slower; ? does not hold among all {} (Holm). cpu: ratio of \
         CPU time per MB (random: per request){latency}; ▲ more, ▼ less, = same within the margin, ~ unclear. \
         Margin of equivalence: {}.",
        units::percent(comparison.confidence),
        units::count(n, "comparison"),
        units::percent(comparison.margin),
    )
}

pub(super) fn heading(judgement: Judgement, count: usize, margin: f64) -> String {
    let word = match judgement {
        Judgement::Worse => "Slower".to_owned(),
        Judgement::Unclear => "Unclear".to_owned(),
        Judgement::Same => format!("Same within {}", units::percent(margin)),
        Judgement::Better => "Faster".to_owned(),
    };
    format!("{word} ({count})")
}

/// The cells by their verdict, the worst first.
pub(super) fn groups(other: &ComparedRun) -> Vec<(Judgement, Vec<&CellChange>)> {
    let judgements = [Judgement::Worse, Judgement::Unclear, Judgement::Same, Judgement::Better];
    let of = |judgement| other.cells.iter().filter(|cell| cell.rate.judgement == judgement).collect();
    let groups = judgements.map(|judgement| (judgement, of(judgement))).into_iter();
    groups.filter(|(_, cells): &(_, Vec<_>)| !cells.is_empty()).collect()
}

/// The number of verdicts expected by chance.
pub(super) fn chance(other: &ComparedRun) -> String {
    let verdict_counts = &other.verdict_counts;
    let found = verdict_counts.slower + verdict_counts.faster;
    format!(
        "By chance alone, up to {:.1} of {} would be called slower or faster. {found} {}; {} after the correction for \
         all comparisons (Holm).",
        verdict_counts.by_chance,
        units::count(verdict_counts.compared, "cell"),
        if found == 1 { "is" } else { "are" },
        match verdict_counts.standing {
            0 => "none is".to_owned(),
            1 => "1 is".to_owned(),
            n => format!("{n} are"),
        }
    )
}

/// The last line of a document: its verdicts, and the number of cells not compared.
pub(super) fn summary(other: &ComparedRun) -> String {
    let mut line = other.verdict_counts.line();
    for (cells, word) in [(&other.missing, "missing"), (&other.added, "added")] {
        if !cells.is_empty() {
            line += &format!("; {} {word}", cells.len());
        }
    }
    line
}

pub(super) fn origin(origin: &Origin) -> String {
    let on = if origin.file_system.is_empty() { String::new() } else { format!(" ({})", origin.file_system) };
    format!(
        "{}: {}{on}, {} file, {}, fullbore {}",
        origin.name,
        origin.directory,
        units::size(origin.file_bytes),
        shown(&origin.started),
        shown(&origin.fullbore_version)
    )
}

/// The allowed differences, a line each.
pub(super) fn ignored_differences(other: &ComparedRun) -> Vec<String> {
    let line = |difference: &Difference| match difference.what == difference.aspect.to_string() {
        true => shown(&format!("across {difference}")),
        false => shown(&format!("across {}: {difference}", difference.aspect)),
    };
    other.differences.iter().map(line).collect()
}
