//! Burst and sustained throughput: regimes of samples, their course in slices, the limits of devices, and the credit of devices in
//! the findings.

use serde::{Deserialize, Serialize};

use super::advice::RateUnit;
use crate::stats::{CreditFit, Variation};
use crate::units;

/// Regime of a sample that moves bytes from or to a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Regime {
    #[default]
    /// At most the throughput that the device sustained when its limits were measured.
    Sustained,
    /// More than the sustained throughput: the device spends saved-up credit or fills a cache.
    Burst,
    /// No limit of the device is known: it could not be measured, or no limiter was seen, whose credit may be larger than
    /// what was moved to find it.
    Unknown,
}

impl Regime {
    /// Returns the other of burst and sustained; `None` for an unknown regime.
    pub(crate) fn opposite(self) -> Option<Self> {
        match self {
            Self::Sustained => Some(Self::Burst),
            Self::Burst => Some(Self::Sustained),
            Self::Unknown => None,
        }
    }
}

/// The part of a sample that determines its throughput: after a burst, over whole accounting periods of the device.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SteadyPart {
    /// Bytes moved in the part.
    pub bytes: f64,
    /// Duration of the part in seconds.
    pub seconds: f64,
}

/// The course of a sample.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Slices {
    /// Duration of a slice in seconds.
    pub seconds: f64,
    /// Bytes that the devices moved in each slice, from the start of the sample.
    pub bytes: Vec<u64>,
}

/// Limits of the devices under a directory for one direction, found by reading or writing without pause.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeviceLimit {
    /// The directory.
    pub directory: String,
    /// `read` or `write`.
    pub operation: String,
    /// Bytes moved to find the limits.
    pub bytes: u64,
    /// Sustained throughput in bytes per second; `None` if the device showed no limiter: no burst and no accounting
    /// period.
    pub sustained: Option<f64>,
    /// Sustained requests per second, for small requests; `None` as for `sustained`.
    pub requests_per_s: Option<f64>,
    /// The burst before the sustained throughput.
    pub burst: Option<Burst>,
    /// Period in seconds at which the limiter hands out transfers, if it does so periodically.
    pub period_s: Option<f64>,
}

/// A burst.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Burst {
    /// Throughput in bytes per second.
    pub rate: f64,
    /// Bytes moved until the throughput fell.
    pub bytes: u64,
}

impl DeviceLimit {
    /// True if the device showed a limiter.
    pub fn limited(&self) -> bool {
        self.sustained.is_some() || self.requests_per_s.is_some()
    }

    /// Formats the limits: `writes: 3.3 GB/s for the first 2 GB, then 1.1 GB/s`.
    pub fn words(&self) -> String {
        let bytes = self.sustained.map(|rate| match self.burst {
            Some(burst) => {
                let (fast, size) = (units::rate(burst.rate), units::size(burst.bytes));
                format!("{fast} for the first {size}, then {}", units::rate(rate))
            }
            None => format!("limited to {}", units::rate(rate)),
        });
        let requests =
            self.requests_per_s.map(|requests| format!("at most {}", units::requests_rate(requests)));
        let period = self.period_s.map(|period| format!("accounted every {}", units::seconds(period)));
        let parts: Vec<String> = [bytes, requests, period].into_iter().flatten().collect();
        let text = match parts.as_slice() {
            [] => format!("no limiter seen in {}", units::size(self.bytes)),
            parts => parts.join(", "),
        };
        format!("{}s: {text}", self.operation)
    }
}

/// Variation of the samples of all cells that move bytes from or to devices, in one direction.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeviceVariation {
    /// `read` or `write`.
    pub operation: String,
    /// Variation of each sample's throughput as a ratio to the median of its cell.
    pub variation: Variation,
}

impl DeviceVariation {
    /// Formats the variation: `reads vary from −23% to +18% of the median over about 12.0 s`.
    pub fn words(&self) -> String {
        let Variation { low, high, time_scale_s, .. } = self.variation;
        let share = |ratio: f64| match (100.0 * (ratio - 1.0)).round() {
            0.0 => "0%".to_owned(),
            percent => format!("{percent:+.0}%").replace('-', "−"),
        };
        let scale = time_scale_s.map_or_else(
            || "between samples".into(),
            |scale| format!("over about {}", units::seconds(scale)),
        );
        format!("{}s vary from {} to {} of the median {scale}", self.operation, share(low), share(high))
    }
}

/// Burst and sustained throughput of a cell of continuous transfer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceCredit {
    /// Id of the cell.
    pub cell: String,
    /// Direction: `read` or `write`.
    pub operation: String,
    /// The unit of its rates and quantities.
    pub unit: RateUnit,
    /// The fitted model.
    #[serde(flatten)]
    pub fit: CreditFit,
}

impl DeviceCredit {
    /// Formats the finding: `3.30 GB/s for the first 6.00 GB, then 1.10 GB/s; …`, or that there is no burst.
    pub fn text(&self) -> String {
        let (unit, fit) = (self.unit, &self.fit);
        let sustained = unit.rate(fit.sustained.value);
        let unsteady = if fit.steady { "" } else { "; the rate varies" };
        let Some(burst) = &fit.burst else {
            let idle = if fit.idle_s > 0.0 {
                format!(", nor after {} without requests", units::seconds(fit.idle_s))
            } else {
                String::new()
            };
            let ends = [fit.sustained.low, fit.sustained.high].map(|rate| unit.rate(rate));
            return format!(
                "{sustained} ({}), no burst behaviour up to {}{idle}{unsteady}",
                ends.join(" to "),
                unit.quantity(fit.moved)
            );
        };
        let refill = burst.refill.as_ref().map_or_else(
            || "refill not measured".into(),
            |refill| {
                let bound = if refill.at_least { " or more" } else { "" };
                format!("refilled at {}{bound} while idle", unit.rate(refill.rate.value))
            },
        );
        format!(
            "{} for the first {}, then {sustained}; credit {}, {refill}{unsteady}",
            unit.rate(burst.rate.value),
            unit.quantity(burst.lasts(fit.sustained.value)),
            unit.quantity(burst.credit.value),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{self, Estimate, Refill};

    /// Checks that a text has these labels and figures, in this order.
    fn has(text: &str, parts: &[&str]) {
        let mut rest = text;
        for part in parts {
            rest = rest.split_once(part).unwrap_or_else(|| panic!("no {part} in {rest}: {text}")).1;
        }
    }

    #[test]
    fn limits_are_described() {
        let mut limit =
            DeviceLimit { operation: "write".into(), bytes: 2_100_000_000, ..DeviceLimit::default() };
        assert!(!limit.limited());
        has(&limit.words(), &["write", "2.10 GB"]);
        limit.sustained = Some(1.1e9);
        limit.burst = Some(Burst { rate: 3.3e9, bytes: 2_000_000_000 });
        assert!(limit.limited());
        has(&limit.words(), &["write", "3.30 GB/s", "2.00 GB", "1.10 GB/s"]);
        limit = DeviceLimit {
            sustained: Some(37e6),
            requests_per_s: Some(900.0),
            burst: None,
            period_s: Some(0.1),
            ..limit
        };
        has(&limit.words(), &["write", "37.0 MB/s", "900 /s", "100 ms"]);
    }

    #[test]
    fn variation_is_described() {
        let variation = Variation { low: 0.77, high: 1.18, time_scale_s: Some(12.0), samples: 300 };
        let mut found = DeviceVariation { operation: "read".into(), variation };
        has(&found.words(), &["read", "−23%", "+18%", "12.0 s"]);
        found.variation.time_scale_s = None;
        has(&found.words(), &["read", "−23%", "+18%"]);
        assert!(!found.words().contains("12.0"), "{}", found.words());
        (found.variation.low, found.variation.high) = (0.997, 1.06);
        has(&found.words(), &["from 0%", "+6%"]);
    }

    #[test]
    fn a_credit_is_described_in_its_unit() {
        let exact = |value| Estimate { value, low: value, high: value };
        let fit = CreditFit {
            sustained: exact(1.1e9),
            burst: None,
            moved: 42e9,
            idle_s: 2.5,
            steady: true,
            steps: Vec::new(),
        };
        let credit = |unit, fit| DeviceCredit { cell: "a".into(), operation: "read".into(), unit, fit };
        let none = credit(RateUnit::Bytes, fit.clone()).text();
        has(&none, &["1.10 GB/s", "42.0 GB", "2.50 s"]);
        let refill = Some(Refill { rate: exact(500.0), at_least: true });
        let burst = Some(stats::Burst { rate: exact(4000.0), credit: exact(3000.0), full: true, refill });
        let text = credit(RateUnit::Requests, CreditFit { sustained: exact(1000.0), burst, ..fit }).text();
        has(&text, &["4.00 k/s", "4.00 k requests", "1.00 k/s", "3.00 k requests", "500 /s or more"]);
    }
}
