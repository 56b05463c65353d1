//! The credit of a device in the findings: burst and sustained throughput of a cell.

use serde::{Deserialize, Serialize};

use super::advice::RateUnit;
use crate::stats::CreditFit;
use crate::units;

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
        let Some(burst) = &fit.burst else {
            let idle = if fit.idle_s > 0.0 {
                format!(", nor after {} without requests", units::seconds(fit.idle_s))
            } else {
                String::new()
            };
            let unsteady = if fit.steady { "" } else { "; the rate varies" };
            return format!(
                "{sustained}, no burst behaviour up to {}{idle}{unsteady}",
                unit.quantity(fit.moved)
            );
        };
        let refill = burst.refill.as_ref().map_or_else(
            || "refill not measured".into(),
            |refill| {
                let bound = if refill.at_least { "by at least " } else { "at " };
                format!("refilled {bound}{} while idle", unit.rate(refill.rate.value))
            },
        );
        format!(
            "{} for the first {}, then {sustained}; credit {}, {refill}",
            unit.rate(burst.rate.value),
            unit.quantity(burst.lasts(fit.sustained.value)),
            unit.quantity(burst.credit.value),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{Burst, Estimate, Refill};

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
        assert!(["1.10 GB/s", "42.0 GB", "2.50 s"].iter().all(|part| none.contains(part)), "{none}");
        let refill = Some(Refill { rate: exact(500.0), at_least: true });
        let burst = Some(Burst { rate: exact(4000.0), credit: exact(3000.0), full: true, refill });
        let text = credit(RateUnit::Requests, CreditFit { sustained: exact(1000.0), burst, ..fit }).text();
        let parts = ["4.00 k/s", "4.00 k requests", "1.00 k/s", "3.00 k requests", "at least 500 /s"];
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    }
}
