//! The samples of a cell that enter its summary: those of one regime, without short samples and warm-up.

use super::regime::Regime;
use super::sample::Sample;
use crate::stats::{WarmUp, median, warm_up};

/// Share of the bytes and of the time of the largest samples below which a sample does not count beside them.
const SHORT: f64 = 0.5;

/// Fewest large samples beside which short ones do not count.
const ENOUGH_LONG: usize = 3;

/// Returns the positions of the usable samples of a regime. Samples of an unknown regime that are no faster than the sustained ones
/// are not bursts; they count as sustained. Leaving them out would choose samples by their throughput, because a limiter of requests
/// labels only those that reach its limit.
pub(super) fn of_regime(samples: &[Sample], regime: Option<Regime>) -> Vec<usize> {
    let usable = || (0..samples.len()).filter(|&i| samples[i].usable());
    let has = |i: usize, regime| samples[i].regime == regime;
    let fastest = usable().filter(|&i| has(i, regime)).map(|i| samples[i].rate()).fold(0.0, f64::max);
    let is_sustained = |i: usize| {
        regime == Some(Regime::Sustained) && has(i, Some(Regime::Unknown)) && samples[i].rate() <= fastest
    };
    usable().filter(|&i| has(i, regime) || is_sustained(i)).collect()
}

/// Returns the positions of the usable samples of a regime: without the short ones of the first rounds, if there are
/// enough long ones. A device needs some time to reach its throughput, and short samples vary more.
pub(super) fn counted(samples: &[Sample], regime: Option<Regime>) -> Vec<usize> {
    let all = of_regime(samples, regime);
    let largest = all.iter().map(|&i| samples[i].bytes).max().unwrap_or(0);
    let is_large = |i: usize| samples[i].bytes as f64 >= SHORT * largest as f64;
    let large: Vec<f64> = all.iter().filter(|&&i| is_large(i)).map(|&i| samples[i].seconds).collect();
    let Some(seconds) = median(&large).filter(|_| large.len() >= ENOUGH_LONG) else { return all };
    all.into_iter().filter(|&i| is_large(i) || samples[i].seconds >= SHORT * seconds).collect()
}

/// Returns the same without those of the warm-up, and the warm-up.
pub(super) fn counted_warm(samples: &[Sample], regime: Option<Regime>) -> (Vec<usize>, Option<WarmUp>) {
    let mut positions = counted(samples, regime);
    let rates: Vec<f64> = positions.iter().map(|&i| samples[i].rate()).collect();
    let warm_up = if are_continuous(samples, &positions) { warm_up(&rates) } else { None };
    positions.drain(..warm_up.map_or(0, WarmUp::left_out));
    (positions, warm_up)
}

/// Largest pause between samples of a continuous series, in multiples of the earlier one's duration.
const PAUSE: f64 = 1.0;

/// True if samples follow each other with short pauses. Samples of interleaved cells are seconds apart and have no warm-up:
/// to leave out the first of them would only trim their variation.
fn are_continuous(samples: &[Sample], positions: &[usize]) -> bool {
    positions.windows(2).all(|pair| {
        let (before, after) = (&samples[pair[0]], &samples[pair[1]]);
        let distance = after.start_s - before.start_s;
        distance > 0.0 && distance <= (1.0 + PAUSE) * before.seconds
    })
}

/// Returns the regime of a cell: the requested one if a usable sample has it, then an unknown one. Samples of different
/// regimes are never summarised together.
pub(super) fn regime_of(samples: &[Sample], requested: Regime) -> Option<Regime> {
    let usable = || samples.iter().filter(|s| s.usable());
    let wanted = [Some(requested), None, Some(Regime::Unknown)];
    wanted
        .into_iter()
        .find(|&regime| usable().any(|s| s.regime == regime))
        .unwrap_or_else(|| usable().next().and_then(|s| s.regime))
}

#[cfg(test)]
mod tests {
    use crate::document::{Cell, Labels, Sample, SummaryOptions};

    /// The stopping rule is applied to samples without a summary.
    #[test]
    fn only_continuous_samples_warm_up_and_the_stop_rule_counts_the_same() {
        let cell = |distance: f64| {
            let mut cell = Cell::new("a", "read", Labels::default());
            let rate = |place: u32| if place < 4 { 5e8 } else { 1e9 + 1e6 * f64::from(place * 7 % 5) };
            let sample = |place: u32| Sample {
                bytes: (rate(place) * 0.1) as u64,
                seconds: 0.1,
                start_s: distance * f64::from(place),
                ..Sample::default()
            };
            cell.samples = (0..24).map(sample).collect();
            cell
        };
        for (distance, expected) in [(0.12, 20), (2.0, 24)] {
            let mut cell = cell(distance);
            assert_eq!(cell.rates().len(), expected, "as judged");
            cell.summarise(&SummaryOptions::default());
            assert_eq!(cell.summary.as_ref().unwrap().n, expected, "as reported");
            assert_eq!(cell.rates().len(), expected);
        }
    }

    #[test]
    fn short_samples_count_where_the_summary_of_an_earlier_version_counted_them() {
        let sample = |place: u64| Sample {
            bytes: if place < 3 { 4 << 20 } else { 100 << 20 },
            seconds: if place < 3 { 0.005 } else { 0.1 },
            ..Sample::default()
        };
        let mut cell = Cell::measured("a", Labels::default(), (0..8).map(sample));
        assert_eq!((cell.summary.as_ref().unwrap().n, cell.counted().count()), (5, 5));
        let summary = cell.summary.as_mut().unwrap();
        (summary.n, summary.short) = (8, 0);
        assert_eq!(cell.counted().count(), 8);
    }
}
