//! Findings about devices: credits of continuous transfer, variation during a run, and the number of disks at which
//! throughput saturates because a shared resource is full (section 4 of Riedel, van Ingen and Gray: three disks filled a
//! SCSI bus, three buses a PCI bus).

use crate::document::{
    Cell, DeviceCredit, DeviceVariation, Disks, Labels, RateUnit, Sample, Saturation, SaturationStep, Series,
    SeriesRef,
};
use crate::stats::{Bootstrap, DEFAULT_MARGIN, Estimate, Verdict, fit_credit, median, variation};

/// Fits the credit model to every cell of continuous transfer; random requests in requests, others in bytes.
pub(crate) fn credits(cells: &[Cell]) -> Vec<DeviceCredit> {
    let credit = |cell: &Cell| {
        let course = cell.samples.iter().filter(|sample| sample.usable()).find_map(|s| s.course.as_ref())?;
        let fit = fit_credit(course, Bootstrap::default().confidence)?;
        let request = cell.labels.request_bytes.filter(|_| cell.labels.is_random_over_file());
        let (unit, fit) = match request {
            Some(bytes) => (RateUnit::Requests, fit.scaled(1.0 / bytes as f64)),
            None => (RateUnit::Bytes, fit),
        };
        Some(DeviceCredit { cell: cell.id.clone(), operation: cell.labels.operation.to_string(), unit, fit })
    };
    cells.iter().filter_map(credit).collect()
}

/// Minimum number of samples of a cell: the median of few is close to each of them.
const MIN_SAMPLES: usize = 5;

/// Returns the variation of samples on a device around their cells' medians, for each direction with enough of them.
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
        sample.regime.is_some()
            && sample.course.is_none()
            && sample.writes_device().unwrap_or(false) == writes
    };
    let samples: Vec<&Sample> = cell.counted().filter(on_device).collect();
    let rates: Vec<f64> = samples.iter().map(|sample| sample.rate()).collect();
    match median(&rates) {
        Some(middle) if samples.len() >= MIN_SAMPLES => {
            samples.iter().map(|sample| (sample.start_s, sample.rate() / middle)).collect()
        }
        _ => Vec::new(),
    }
}

/// Finds the saturation in a series along the number of disks; `None` with fewer than two numbers with a rate.
pub(crate) fn saturation(cells: &[Cell], line: &Series, path: &SeriesRef) -> Option<Saturation> {
    let singles = singles(cells, path);
    let measured: Vec<(u64, &Cell, Estimate)> = line
        .cells
        .iter()
        .filter_map(|&index| {
            let cell = &cells[index];
            Some((u64::from(cell.labels.targets?), cell, cell.summary.as_ref()?.rate))
        })
        .collect();
    let of_one = measured.iter().find(|(targets, ..)| *targets == 1).map(|(.., rate)| rate.value);
    let expected = |targets: u64| {
        let those = singles.get(..targets as usize).and_then(|those| those.iter().copied().collect());
        match those {
            Some::<Vec<f64>>(those) if line.labels.chunk_bytes.is_some() => {
                Some(those.iter().copied().fold(f64::INFINITY, f64::min) * targets as f64)
            }
            Some(those) => Some(those.iter().sum()),
            None => of_one.map(|one| one * targets as f64),
        }
    };
    let (_, top, peak) = measured.iter().max_by(|a, b| a.2.value.total_cmp(&b.2.value))?;
    let enough = |rate: &Estimate| rate.value * (1.0 + DEFAULT_MARGIN) >= peak.value;
    let first = measured.iter().position(|(.., rate)| enough(rate))?;
    if measured.len() < 2 || peak.value <= 0.0 {
        return None;
    }
    let verdict = |cell: &Cell| cell.compared_with(top).map(|found| found.verdict);
    let (at, cell, rate) = measured[first];
    let smaller_are_slower =
        measured[..first].iter().all(|(_, cell, _)| verdict(cell) == Some(Verdict::Slower));
    let as_good = cell.id == top.id || verdict(cell) == Some(Verdict::NoDifferenceThatMatters);
    let steps = measured.iter().map(|&(targets, cell, rate)| {
        let expected = expected(targets).filter(|expected| *expected > 0.0);
        let efficiency = expected.map(|expected| rate.value / expected);
        SaturationStep { targets, cell: cell.id.clone(), rate, expected, efficiency }
    });
    Some(Saturation {
        series: path.clone(),
        at,
        cell: cell.id.clone(),
        rate,
        still_rising: first + 1 == measured.len(),
        sure: smaller_are_slower && as_good,
        steps: steps.collect(),
    })
}

/// Returns the rate of each disk measured alone, in order, under otherwise equal labels; `None` for one not measured.
fn singles(cells: &[Cell], path: &SeriesRef) -> Vec<Option<f64>> {
    let but_for_disks = |labels: &Labels| Labels {
        variant: None,
        targets: None,
        chunk_bytes: None,
        strategy: None,
        ..labels.clone()
    };
    let wanted = but_for_disks(&path.labels);
    let here: Vec<&Cell> = cells
        .iter()
        .filter(|cell| cell.experiment == path.experiment && but_for_disks(&cell.labels) == wanted)
        .collect();
    (1..=here.len())
        .map(|disk| {
            let cell = here.iter().find(|cell| cell.labels.disks() == Some(Disks::Alone(disk)))?;
            cell.summary.as_ref().map(|summary| summary.rate.value)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::findings;
    use crate::document::{Axis, Experiment, Labels, Regime, Sample};
    use crate::stats::{Course, Stretch};

    #[test]
    fn random_requests_are_counted_others_are_bytes() {
        let bytes = [vec![4096 * 300; 40], vec![4096 * 100; 100]].concat();
        let total = bytes.iter().sum();
        let course = Course { slice_s: 0.05, round_s: 0.5, stretches: vec![Stretch { idle_s: 0.0, bytes }] };
        let sample = Sample { bytes: total, seconds: 7.0, course: Some(course), ..Sample::default() };
        let cell = |order: &str| {
            let write = Labels::of("write", "direct");
            let labels = Labels { order: Some(order.into()), request_bytes: Some(4096), ..write };
            Cell { samples: vec![sample.clone()], ..Cell::new(order, "sustained", labels) }
        };
        let without = Cell::new("without", "read", Labels::default());
        let found = credits(&[cell("random"), without, cell("sequential")]);
        let [requests, bytes] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((requests.unit, bytes.unit), (RateUnit::Requests, RateUnit::Bytes));
        for (found, factor) in [(requests, 1.0), (bytes, 4096.0)] {
            let burst = found.fit.burst.as_ref().unwrap();
            assert!((burst.credit.value / (200.0 * 40.0 * factor) - 1.0).abs() < 1e-6, "{burst:?}");
            assert!((found.fit.sustained.value / (2000.0 * factor) - 1.0).abs() < 1e-6);
            assert!((burst.rate.value / (6000.0 * factor) - 1.0).abs() < 1e-6);
        }
    }

    fn sampled(id: &str, rate: f64, written: bool, count: usize) -> Cell {
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
            sampled("a", 1e9, false, 60),
            sampled("b", 5e6, false, 60),
            sampled("few", 1e6, false, 4),
            sampled("written", 1e8, true, 20),
            warm(sampled("warm", 1e10, false, 60)),
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

    fn disks(targets: u32, variant: Disks, chunk: Option<u64>, rate: f64, noise: f64) -> Cell {
        let labels = Labels {
            targets: Some(targets),
            variant: Some(variant.to_string()),
            chunk_bytes: chunk,
            ..Labels::of("read", "direct")
        };
        let sample = |index: u32| Sample {
            bytes: (rate * (1.0 + noise * (f64::from(index % 5) - 2.0) / 2.0)) as u64,
            seconds: 1.0,
            ..Sample::default()
        };
        Cell::measured(&format!("{variant}/{targets}"), labels, (0..9).map(sample))
    }

    fn found(cells: &[Cell]) -> Vec<Saturation> {
        findings(cells, &[Experiment::named("read", Axis::Targets)]).saturation
    }

    #[test]
    fn a_bus_is_full_with_three_disks() {
        let mut cells: Vec<Cell> =
            (1..=4).map(|disk| disks(1, Disks::Alone(disk), None, 6e6, 0.01)).collect();
        for (targets, rate) in [(1, 6e6), (2, 12e6), (3, 16.1e6), (4, 16e6)] {
            cells.push(disks(targets, Disks::Together, None, rate, 0.01));
        }
        let [found] = found(&cells).try_into().unwrap();
        assert_eq!((found.at, found.still_rising, found.sure), (3, false, true));
        assert_eq!(found.cell, "together/3");
        let efficiency: Vec<f64> = found.steps.iter().filter_map(|step| step.efficiency).collect();
        assert!((efficiency[3] - 2.0 / 3.0).abs() < 0.01 && (efficiency[1] - 1.0).abs() < 0.01);
    }

    #[test]
    fn expected_rate_is_the_sum_or_for_a_stripe_the_slowest_times_the_number() {
        let mut cells: Vec<Cell> = [10e6, 30e6]
            .iter()
            .zip(1..)
            .map(|(&rate, disk)| disks(1, Disks::Alone(disk), None, rate, 0.01))
            .collect();
        for (targets, together, striped) in [(1, 10e6, 10e6), (2, 40e6, 20e6)] {
            cells.push(disks(targets, Disks::Together, None, together, 0.01));
            cells.push(disks(targets, Disks::Striped, Some(65_536), striped, 0.01));
        }
        let found = found(&cells);
        assert_eq!(found.len(), 2);
        for one in found {
            assert_eq!((one.at, one.still_rising), (2, true));
            assert!((one.steps[1].efficiency.unwrap() - 1.0).abs() < 1e-6, "{one:?}");
        }
    }

    #[test]
    fn noise_gives_no_saturation() {
        let cells: Vec<Cell> = [(1, 10e6), (2, 10.5e6), (3, 10.4e6)]
            .map(|(targets, rate)| disks(targets, Disks::Together, None, rate, 0.3))
            .into();
        let [found] = found(&cells).try_into().unwrap();
        assert!(!found.sure, "{found:?}");
        assert_eq!(found.steps[2].expected, Some(found.steps[0].rate.value * 3.0));
    }

    #[test]
    fn one_disk_count_gives_none() {
        assert_eq!(found(&[disks(2, Disks::Together, None, 1e6, 0.0)]), []);
    }
}
