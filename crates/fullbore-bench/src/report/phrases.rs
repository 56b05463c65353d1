//! Parts of sentences: values with their intervals, and cells compared.

use crate::document::{Cell, Document, Series};
use crate::stats::{Bootstrap, Comparison, DEFAULT_MARGIN, Estimate, Verdict, compare_rates};
use crate::units;

pub(super) fn peak<'a>(document: &'a Document, line: &Series) -> Option<(&'a Cell, Estimate)> {
    let rated = line.cells.iter().filter_map(|&c| {
        let cell = &document.cells[c];
        Some((cell, cell.summary.as_ref()?.rate))
    });
    rated.max_by(|a, b| a.1.value.total_cmp(&b.1.value))
}

/// A value with its interval, the unit once if all parts share it: `3.12 GB/s (3.05–3.18)`.
pub(crate) fn spanned(value: Estimate, text: impl Fn(f64) -> String) -> String {
    let [middle, low, high] = [value.value, value.low, value.high].map(text);
    let unit = |t: &str| t.split_once(' ').map(|(_, unit)| unit.to_owned());
    match (low.split_once(' '), unit(&middle) == unit(&low) && unit(&low) == unit(&high)) {
        (Some((bare, _)), true) => {
            format!("{middle} ({bare}–{})", high.split_once(' ').map_or(high.as_str(), |(h, _)| h))
        }
        (None, true) => format!("{middle} ({low}–{high})"),
        _ => format!("{middle} ({low} to {high})"),
    }
}

/// A value with the ends of its interval: `3.12 GB/s (3.05 GB/s to 3.18 GB/s)`.
pub(super) fn with_ends(value: Estimate, text: impl Fn(f64) -> String) -> String {
    format!("{} ({} to {})", text(value.value), text(value.low), text(value.high))
}

/// The ratio of two cells' rates: `1.24 times X (1.20–1.28)`.
pub(super) fn against(comparison: &Comparison, other: &str) -> String {
    let Estimate { value, low, high } = comparison.ratio;
    match comparison.verdict {
        Verdict::NoDifferenceThatMatters => format!("no difference that matters from {other}"),
        Verdict::Unclear => format!("no significant difference from {other} (ratio {low:.2}–{high:.2})"),
        Verdict::Faster | Verdict::Slower => {
            format!("{} times {other} ({low:.2}–{high:.2})", units::significant(value))
        }
    }
}

pub(super) fn compared(first: &Cell, second: &Cell) -> Option<Comparison> {
    compare_rates(&first.rates(), &second.rates(), DEFAULT_MARGIN, &Bootstrap::default())
}

pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_share_their_unit() {
        let rate = Estimate { value: 3.12e9, low: 3.05e9, high: 3.18e9 };
        assert_eq!(spanned(rate, units::rate), "3.12 GB/s (3.05–3.18)");
        let rate = Estimate { value: 1.01e9, low: 0.95e9, high: 1.2e9 };
        assert_eq!(spanned(rate, units::rate), "1.01 GB/s (950 MB/s to 1.20 GB/s)");
        assert_eq!(spanned(rate, units::significant), "1.01e9 (9.50e8–1.20e9)");
    }

    #[test]
    fn overlapping_intervals_give_no_verdict() {
        let ratio = |value, low, high| Estimate { value, low, high };
        let described = |verdict, ratio| against(&Comparison { ratio, verdict }, "mmap");
        assert_eq!(described(Verdict::Faster, ratio(1.24, 1.2, 1.28)), "1.24 times mmap (1.20–1.28)");
        assert_eq!(
            described(Verdict::Unclear, ratio(1.1, 0.9, 1.28)),
            "no significant difference from mmap (ratio 0.90–1.28)"
        );
        assert_eq!(
            described(Verdict::NoDifferenceThatMatters, ratio(1.0, 0.99, 1.01)),
            "no difference that matters from mmap"
        );
    }
}
