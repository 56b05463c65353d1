//! The rates of concurrent streams and their fairness.

use crate::document::Cell;
use crate::stats::{Bootstrap, Estimate, fairness};

/// The rate of each stream of a cell, in bytes per second, with its interval over the usable samples. Empty if samples
/// do not record streams, or record different numbers of them.
pub(super) fn stream_rates(cell: &Cell) -> Vec<Estimate> {
    let usable: Vec<&[f64]> =
        cell.samples.iter().filter(|s| s.usable()).map(|s| s.streams.as_slice()).collect();
    let count = usable.first().map_or(0, |s| s.len());
    if usable.iter().any(|s| s.len() != count) {
        return Vec::new();
    }
    let of =
        |stream: usize| Bootstrap::default().median(&usable.iter().map(|s| s[stream]).collect::<Vec<_>>());
    (0..count).map(of).collect::<Option<Vec<_>>>().unwrap_or_default()
}

/// Jain's index of fairness of several streams; `None` for fewer than two.
pub(super) fn jain(rates: &[Estimate]) -> Option<f64> {
    let rates: Vec<f64> = rates.iter().map(|rate| rate.value).collect();
    fairness(&rates).filter(|found| found.streams > 1).map(|found| found.jain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Labels, Sample};

    fn rates(values: &[f64]) -> Vec<Estimate> {
        values.iter().map(|&v| Estimate { value: v, low: v, high: v }).collect()
    }

    #[test]
    fn fairness_is_one_for_equal_rates_and_one_nth_for_a_single_active_stream() {
        assert_eq!(jain(&rates(&[3.0, 3.0, 3.0])), Some(1.0));
        assert_eq!(jain(&rates(&[8.0, 0.0, 0.0, 0.0])), Some(0.25));
        assert!((jain(&rates(&[1.0, 2.0])).unwrap() - 0.9).abs() < 1e-12);
        assert_eq!(jain(&rates(&[1.0])), None);
    }

    #[test]
    fn a_stream_has_the_median_of_its_rates() {
        let mut cell = Cell::new("a", "streams", Labels::default());
        for scale in [1.0, 3.0, 2.0] {
            let streams = vec![10.0 * scale, 20.0 * scale];
            cell.samples.push(Sample { bytes: 1, seconds: 1.0, streams, ..Sample::default() });
        }
        let found = stream_rates(&cell);
        assert_eq!(found.iter().map(|r| r.value).collect::<Vec<_>>(), [20.0, 40.0]);
        cell.samples[1].streams.pop();
        assert!(stream_rates(&cell).is_empty(), "samples with different numbers of streams");
    }
}
