//! Variation of the devices' throughput during a run.

use crate::document::{Cell, DeviceVariation, Sample};
use crate::stats::{median, variation};

/// Minimum number of samples of a cell: the median of few is close to each of them.
const MIN_SAMPLES: usize = 5;

/// Returns the variation of the samples that move bytes from or to a device around the medians of their cells, for each
/// direction with enough of them.
pub(crate) fn variations(cells: &[Cell]) -> Vec<DeviceVariation> {
    [("read", false), ("write", true)]
        .into_iter()
        .filter_map(|(operation, writes)| {
            let mut points: Vec<(f64, f64)> = cells.iter().flat_map(|cell| ratios(cell, writes)).collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            Some(DeviceVariation { operation: operation.into(), variation: variation(&points)? })
        })
        .collect()
}

/// Returns start and throughput, as a ratio to the median, of the cell's samples of one direction.
fn ratios(cell: &Cell, writes: bool) -> Vec<(f64, f64)> {
    let on_device = |sample: &&Sample| {
        sample.usable()
            && sample.regime.is_some()
            && sample.course.is_none()
            && (sample.device_written_bytes > sample.device_read_bytes) == writes
    };
    let samples: Vec<&Sample> = cell.samples.iter().filter(on_device).collect();
    let rates: Vec<f64> = samples.iter().map(|sample| sample.rate()).collect();
    match median(&rates) {
        Some(middle) if samples.len() >= MIN_SAMPLES => {
            samples.iter().map(|sample| (sample.start_s, sample.rate() / middle)).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Labels, Regime};

    fn cell(id: &str, rate: f64, written: bool, count: usize) -> Cell {
        let sample = |place: usize| Sample {
            start_s: place as f64,
            bytes: (rate * if place % 20 < 10 { 1.1 } else { 0.9 }) as u64,
            seconds: 1.0,
            regime: Some(Regime::Sustained),
            device_read_bytes: Some(u64::from(!written)),
            device_written_bytes: Some(u64::from(written)),
            ..Sample::default()
        };
        let samples = (0..count).map(sample).collect();
        Cell { samples, ..Cell::new(id, "reads", Labels::default()) }
    }

    #[test]
    fn samples_of_cells_with_different_rates_are_pooled_by_direction() {
        let warm = |mut cell: Cell| {
            cell.samples.iter_mut().for_each(|sample| sample.regime = None);
            cell
        };
        let cells = [
            cell("a", 1e9, false, 60),
            cell("b", 5e6, false, 60),
            cell("few", 1e6, false, 4),
            cell("written", 1e8, true, 20),
            warm(cell("warm", 1e10, false, 60)),
        ];
        let [reads] = &variations(&cells)[..] else { panic!("reads alone have enough samples") };
        assert_eq!((reads.operation.as_str(), reads.variation.samples), ("read", 120));
        assert!(
            (reads.variation.low - 0.9).abs() < 0.11 && (reads.variation.high - 1.1).abs() < 0.13,
            "{reads:?}"
        );
        let scale = reads.variation.time_scale_s.unwrap();
        assert!((2.0..=10.0).contains(&scale), "{scale}");
    }
}
