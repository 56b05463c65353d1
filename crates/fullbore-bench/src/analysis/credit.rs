//! The credits of the cells of continuous transfer.

use crate::document::{Cell, CreditUnit, DeviceCredit};
use crate::stats::{Bootstrap, fit_credit};

/// Fits the credit model to every cell of continuous transfer; random requests in requests, others in bytes.
pub(super) fn credits(cells: &[Cell], bootstrap: &Bootstrap) -> Vec<DeviceCredit> {
    let credit = |cell: &Cell| {
        let course = cell.samples.iter().filter(|sample| sample.usable()).find_map(|s| s.course.as_ref())?;
        let fit = fit_credit(course, bootstrap.confidence)?;
        let request = cell.labels.request_bytes.filter(|_| cell.labels.order.as_deref() == Some("random"));
        let (unit, fit) = match request {
            Some(bytes) => (CreditUnit::Requests, fit.scaled(1.0 / bytes as f64)),
            None => (CreditUnit::Bytes, fit),
        };
        Some(DeviceCredit { cell: cell.id.clone(), operation: cell.labels.operation.clone(), unit, fit })
    };
    cells.iter().filter_map(credit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Labels, Sample};
    use crate::stats::{Course, Stretch};

    #[test]
    fn random_requests_are_counted_others_are_bytes() {
        let bytes = [vec![4096 * 300; 40], vec![4096 * 100; 100]].concat();
        let total = bytes.iter().sum();
        let course = Course { slice_s: 0.05, round_s: 0.5, stretches: vec![Stretch { idle_s: 0.0, bytes }] };
        let sample = Sample { bytes: total, seconds: 7.0, course: Some(course), ..Sample::default() };
        let cell = |order: &str| Cell {
            samples: vec![sample.clone()],
            ..Cell::new(
                order,
                "sustained",
                Labels {
                    operation: "write".into(),
                    order: Some(order.into()),
                    request_bytes: Some(4096),
                    ..Labels::default()
                },
            )
        };
        let without = Cell::new("without", "read", Labels::default());
        let found = credits(&[cell("random"), without, cell("sequential")], &Bootstrap::default());
        let [requests, bytes] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((requests.unit, bytes.unit), (CreditUnit::Requests, CreditUnit::Bytes));
        for (found, factor) in [(requests, 1.0), (bytes, 4096.0)] {
            let burst = found.fit.burst.as_ref().unwrap();
            assert!((burst.credit.value / (200.0 * 40.0 * factor) - 1.0).abs() < 1e-6, "{burst:?}");
            assert!((found.fit.sustained.value / (2000.0 * factor) - 1.0).abs() < 1e-6);
            assert!((burst.rate.value / (6000.0 * factor) - 1.0).abs() < 1e-6);
        }
    }
}
