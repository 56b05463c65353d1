//! The ratio of two cells' rates or CPU times, its confidence, and phrases: tasks, methods, figures with their ratios.

use super::input::{EligibleCell, End, Growth, end, growth};
use crate::document::{AccessMethod, CacheState, Confidence, Labels, Operation, StopReason};
use crate::stats::{Bootstrap, DEFAULT_MARGIN, Estimate, RatioComparison, Verdict, compare_rates};
use crate::units;

/// Share of the peak that counts as reaching it: within the 3% that the paper of 1997 calls repeatable.
pub(super) const AT_PEAK: f64 = 0.97;
/// CPU time of at most this share counts as a saving.
pub(crate) const CHEAPER: f64 = 0.9;

/// A ratio is imprecise if its interval reaches more than this share of the way to 1 (log): 9 is, if it may be 2.9.
const HALF_WAY: f64 = 0.5;

/// The ratio of a figure of two cells.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ratio {
    /// First ÷ second, with its interval.
    pub(super) estimate: Estimate,
    /// `Faster`: the first is larger by the ratio's interval and by more than 3%.
    verdict: Verdict,
    /// True if the two cells' own intervals do not overlap, a stricter condition.
    apart: bool,
}

impl Ratio {
    pub(super) fn is_greater(&self) -> bool {
        self.verdict == Verdict::Faster
    }

    pub(super) fn is_less(&self) -> bool {
        self.verdict == Verdict::Slower
    }

    pub(super) fn is_undecided(&self) -> bool {
        self.verdict == Verdict::Unclear
    }

    /// Returns the reason why there is no verdict although the interval excludes 1.
    pub(super) fn unclear_because(&self) -> Option<&'static str> {
        RatioComparison { ratio: self.estimate, verdict: self.verdict }.unclear_because()
    }

    /// True if one is larger and the cells' own intervals do not overlap.
    pub(super) fn is_clear(&self) -> bool {
        self.apart && (self.is_greater() || self.is_less())
    }

    pub(super) fn confidence(&self, eligible_cells: &[EligibleCell<'_>]) -> Confidence {
        let few = eligible_cells.iter().any(EligibleCell::is_thin);
        let nearest = if self.is_greater() { self.estimate.low } else { self.estimate.high };
        let wide = nearest.ln() / self.estimate.value.ln() < HALF_WAY;
        let perhaps_cached =
            |w: &EligibleCell<'_>| w.summary.unproved > 0 && w.labels.cache == Some(CacheState::Cold);
        let doubtful = |w: &EligibleCell<'_>| {
            let summary = w.summary;
            summary.stop != StopReason::Precise
                || summary.unproved > 0
                || summary.modes.is_some()
                || summary.drift.is_some_and(|drift| drift.matters())
        };
        match () {
            () if few || wide || !self.is_clear() => Confidence::Low,
            () if eligible_cells.iter().any(perhaps_cached) => Confidence::Low,
            () if eligible_cells.iter().any(doubtful) => Confidence::Medium,
            () => Confidence::High,
        }
    }
}

/// The ratio of two cells' rates.
pub(super) fn speed(first: EligibleCell<'_>, second: EligibleCell<'_>) -> Option<Ratio> {
    let rates = (first.cell.rates(), second.cell.rates());
    ratio(rates, (first.summary.rate, second.summary.rate))
}

/// The ratio of two cells' CPU times per byte.
pub(super) fn cost(first: EligibleCell<'_>, second: EligibleCell<'_>) -> Option<Ratio> {
    let costs = |w: EligibleCell<'_>| -> Vec<f64> {
        w.cell.counted().map(|s| s.charged_s() / s.bytes as f64).collect()
    };
    ratio((costs(first), costs(second)), (first.cost(), second.cost()))
}

fn ratio(values: (Vec<f64>, Vec<f64>), own: (Estimate, Estimate)) -> Option<Ratio> {
    let found = compare_rates(&values.0, &values.1, DEFAULT_MARGIN, &Bootstrap::default())?;
    let apart = own.0.low > own.1.high || own.0.high < own.1.low;
    let usable = found.ratio.value.is_finite() && found.ratio.value > 0.0;
    usable.then_some(Ratio { estimate: found.ratio, verdict: found.verdict, apart })
}

/// A factor: `3.60×`.
pub(super) fn times(factor: f64) -> String {
    format!("{}×", units::significant(factor))
}

/// The topic of advice: the task without the length of the files.
pub(super) fn subject(labels: &Labels) -> String {
    task(&Labels { file_bytes: None, ..labels.clone() })
}

/// The task with source or destination: `sequential reads from the device`.
pub(super) fn task(labels: &Labels) -> String {
    let order = labels.order.as_deref().unwrap_or("sequential");
    let output = match growth(labels) {
        Some(Growth::Over) => " over existing blocks",
        Some(_) => " to a new file",
        None => "",
    };
    let mut text = match (&labels.operation, end(labels)) {
        (Operation::Read, End::Cache) => format!("{order} reads from the page cache"),
        (Operation::Read, End::Device) => format!("{order} reads from the device"),
        (Operation::Write, End::Cache) => format!("{order} writes into the page cache{output}"),
        (Operation::Write, End::Device) => format!("{order} writes to the device{output}"),
        (Operation::Append, _) => format!("appends with a flush after each record{output}"),
        (Operation::SmallFiles, End::Cache) => "reads of cached small files".into(),
        (Operation::SmallFiles, _) => "reads of small files from the device".into(),
        (operation, _) if operation.is_empty() => format!("{order} requests"),
        (operation, End::Unknown) if operation.is_transfer() => format!("{order} {operation}s{output}"),
        (operation, End::Cache) => format!("{operation} of a cached file{output}"),
        (operation, End::Device) => format!("{operation} of a file on the device{output}"),
        (operation, End::Unknown) => format!("{operation}{output}"),
    };
    if let Some(len) = labels.file_bytes {
        text.push_str(&format!(" (files of {})", units::size(len)));
    }
    if let Some(variant) = &labels.variant {
        text.push_str(&format!(" ({variant})"));
    }
    text
}

/// The access method in words: `direct uring`.
pub(super) fn method(labels: &Labels) -> String {
    let described = labels.method.always_bypasses_cache() || !labels.bypasses_cache();
    match &labels.method {
        name if name.is_empty() => "an unnamed method".into(),
        AccessMethod::Command => "the command".into(),
        name if described => name.to_string(),
        // A transformation's method names both; only the reads bypass the cache.
        name if name.is_pair() => format!("{name} (direct reads)"),
        name => format!("direct {name}"),
    }
}

/// Method and settings, as far as labelled: `direct, 64 KiB, depth 8, 2 workers`.
pub(super) fn way(labels: &Labels) -> String {
    if let Some(name) = labels.strategy.as_ref().filter(|s| !s.is_empty() && !s.contains(['=', ','])) {
        return name.clone();
    }
    let mut parts = vec![method(labels)];
    parts.extend(labels.request_bytes.map(units::size));
    parts.extend(labels.depth.filter(|&d| d > 1).map(|d| format!("depth {d}")));
    parts.extend(labels.workers.filter(|&w| w > 1).map(|w| units::count(w as usize, "worker")));
    if growth(labels) == Some(Growth::Preallocated) {
        parts.push("preallocated".into());
    }
    parts.join(", ")
}

/// A ratio with its interval: `3.60× (3.41–3.82)`; ratios of single samples have none.
pub(super) fn with_interval(ratio: &Ratio) -> String {
    let found = ratio.estimate;
    if !found.has_interval() {
        return format!("{} (no interval)", times(found.value));
    }
    format!("{} ({}–{})", times(found.value), units::significant(found.low), units::significant(found.high))
}

/// CPU time beside another figure, if significant: ` at 50% of the CPU time`.
pub(super) fn cost_beside(word: &str, ratio: Option<Ratio>) -> String {
    match ratio.filter(Ratio::is_clear).map(|found| found.estimate.value) {
        Some(r) if r >= 1.1 => format!(" {word} {} the CPU time", times(r)),
        Some(r) if r <= CHEAPER => format!(" {word} {} of the CPU time", units::percent(r)),
        _ => String::new(),
    }
}
