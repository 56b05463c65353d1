//! Corrections of the regimes of samples by later findings: the credit of a device, and limits that were
//! withdrawn.

use crate::document::{DeviceCredit, RateUnit, Regime, Sample};

/// Throughput up to this multiple of the sustained one is sustained.
const MARGIN: f64 = 1.1;

/// Returns the regime of a sample by the credit that continuous transfer found in its direction: `Burst` above the sustained
/// rate of a device with a burst, which the search for limiters may have missed; otherwise, of an unknown regime, `Sustained`
/// up to the rate at which bytes were transferred continuously, if that was steady. `None` if the regime remains as it is: a
/// faster sample may have spent a credit that was gone when the transfer began. `as_sent`: the requests of the sample reach the
/// device as they are, so that a limit on requests applies to them.
pub(crate) fn regime_by_credit(sample: &Sample, credit: &[DeviceCredit], as_sent: bool) -> Option<Regime> {
    if !matches!(sample.regime, Some(Regime::Unknown | Regime::Sustained)) || sample.course.is_some() {
        return None;
    }
    let writes = sample.writes_device()?;
    let operation = if writes { "write" } else { "read" };
    // The rest of a half-cached range comes from the page cache.
    let moved = if writes { sample.device_written_bytes } else { sample.device_read_bytes };
    let share = moved.map_or(1.0, |moved| (moved as f64 / sample.bytes.max(1) as f64).min(1.0));
    let known = || credit.iter().filter(|found| found.operation == operation && found.fit.steady);
    let exceeds = |found: &DeviceCredit| {
        let pace = match found.unit {
            RateUnit::Bytes => Some(sample.rate()),
            RateUnit::Requests => sample.requests_per_s().filter(|_| as_sent),
        };
        pace.is_some_and(|pace| share * pace > MARGIN * found.fit.sustained.value)
    };
    if known().any(|found| found.fit.burst.is_some() && exceeds(found)) {
        return Some(Regime::Burst);
    }
    let covered = |found: &DeviceCredit| found.unit == RateUnit::Bytes && !exceeds(found);
    (sample.regime == Some(Regime::Unknown) && known().any(covered)).then_some(Regime::Sustained)
}

/// Makes the regime of samples of a direction unknown: the limit by which they were labelled was withdrawn.
pub(crate) fn withdraw<'a>(samples: impl IntoIterator<Item = &'a mut Sample>, operation: &str) {
    for sample in samples {
        let labelled = matches!(sample.regime, Some(Regime::Sustained | Regime::Burst));
        if labelled && sample.writes_device() == Some(operation == "write") {
            sample.regime = Some(Regime::Unknown);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{Burst, CreditFit, Estimate};

    fn exact(value: f64) -> Estimate {
        Estimate { value, low: value, high: value }
    }

    fn credit(operation: &str, unit: RateUnit, sustained: f64, bursts: bool, steady: bool) -> DeviceCredit {
        let burst = Burst { rate: exact(4.0 * sustained), credit: exact(1e10), full: true, refill: None };
        let fit = CreditFit {
            sustained: exact(sustained),
            burst: bursts.then_some(burst),
            moved: 5e10,
            idle_s: 2.0,
            steady,
            steps: Vec::new(),
        };
        DeviceCredit { cell: "sustained".into(), operation: operation.into(), unit, fit }
    }

    fn sample(rate: u64, writes: bool) -> Sample {
        Sample {
            bytes: rate,
            seconds: 1.0,
            requests: rate >> 20,
            device_read_bytes: Some(if writes { 0 } else { rate }),
            device_written_bytes: Some(if writes { rate } else { 0 }),
            regime: Some(Regime::Unknown),
            ..Sample::default()
        }
    }

    #[test]
    fn a_credit_separates_burst_and_sustained_samples_of_its_direction() {
        let writes = [credit("write", RateUnit::Bytes, 1.69e9, true, true)];
        assert_eq!(regime_by_credit(&sample(6_400_000_000, true), &writes, true), Some(Regime::Burst));
        assert_eq!(regime_by_credit(&sample(1_700_000_000, true), &writes, true), Some(Regime::Sustained));
        assert_eq!(regime_by_credit(&sample(6_400_000_000, false), &writes, true), None, "reads");
        let limited = |rate| Sample { regime: Some(Regime::Sustained), ..sample(rate, true) };
        assert_eq!(regime_by_credit(&limited(6_400_000_000), &writes, true), Some(Regime::Burst), "missed");
        assert_eq!(regime_by_credit(&limited(1_700_000_000), &writes, true), None);
        let none = [credit("write", RateUnit::Bytes, 6e9, false, true)];
        assert_eq!(regime_by_credit(&sample(6_500_000_000, true), &none, true), Some(Regime::Sustained));
        assert_eq!(
            regime_by_credit(&sample(6_800_000_000, true), &none, true),
            None,
            "of an earlier credit?"
        );
        let varying = [credit("write", RateUnit::Bytes, 6e9, false, false)];
        assert_eq!(regime_by_credit(&sample(6_400_000_000, true), &varying, true), None);
    }

    #[test]
    fn a_credit_of_requests_limits_requests_only() {
        let requests = [credit("read", RateUnit::Requests, 100.0, true, true)];
        assert_eq!(regime_by_credit(&sample(200 << 20, false), &requests, true), Some(Regime::Burst));
        assert_eq!(
            regime_by_credit(&sample(50 << 20, false), &requests, true),
            None,
            "its bytes are unknown"
        );
        assert_eq!(
            regime_by_credit(&sample(200 << 20, false), &requests, false),
            None,
            "read ahead by the system"
        );
    }

    #[test]
    fn a_half_cached_range_is_judged_by_the_bytes_of_the_device() {
        let credit = [credit("read", RateUnit::Bytes, 1e9, true, true)];
        let half = Sample { device_read_bytes: Some(900_000_000), ..sample(1_800_000_000, false) };
        assert_eq!(regime_by_credit(&half, &credit, true), Some(Regime::Sustained));
        assert_eq!(regime_by_credit(&sample(1_800_000_000, false), &credit, true), Some(Regime::Burst));
    }

    #[test]
    fn withdrawal_concerns_labelled_samples_of_the_direction() {
        let labelled = |writes| Sample { regime: Some(Regime::Sustained), ..sample(1 << 30, writes) };
        let mut samples = [labelled(true), labelled(false), Sample { regime: None, ..sample(1, true) }];
        withdraw(&mut samples, "write");
        let regimes = samples.map(|sample| sample.regime);
        assert_eq!(regimes, [Some(Regime::Unknown), Some(Regime::Sustained), None]);
    }
}
