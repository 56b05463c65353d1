//! Pairs of results documents with known differences.

use crate::synthetic;
use fullbore_bench::document::{Audit, CacheState, Cell, Document, Labels, Latency, Proof, Sample};
use fullbore_bench::stats::Xoshiro256;

/// The distribution of a cell's samples around its true rate.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Spread {
    /// Normal, with this relative deviation.
    Normal(f64),
    /// Log-normal, with this deviation of the logarithm.
    LogNormal(f64),
    /// Either 1 or this, with equal probability, with 2% of noise.
    Bimodal(f64),
    /// Normal with this deviation; one in ten has a third of the rate.
    Stumbling(f64),
}

impl Spread {
    fn draw(self, rng: &mut Xoshiro256) -> f64 {
        let z = rng.normal();
        match self {
            Self::Normal(deviation) => (1.0 + deviation * z).max(0.05),
            Self::LogNormal(deviation) => (deviation * z).exp(),
            Self::Bimodal(other) => (1.0 + 0.02 * z) * if rng.unit() < 0.5 { 1.0 } else { other },
            Self::Stumbling(deviation) => {
                (1.0 + deviation * z).max(0.05) * if rng.unit() < 0.1 { 1.0 / 3.0 } else { 1.0 }
            }
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Law {
    pub(crate) rate: f64,
    /// CPU seconds per megabyte.
    pub(crate) cost: f64,
    /// 99th percentile of latency in seconds; 0: not recorded.
    pub p99: f64,
    pub(crate) spread: Spread,
    pub(crate) samples: u32,
}

impl Default for Law {
    fn default() -> Self {
        Self { rate: 1e9, cost: 1e-3, p99: 0.0, spread: Spread::Normal(0.01), samples: 8 }
    }
}

pub(crate) fn labels(request: u64) -> Labels {
    Labels {
        job: String::new(),
        request_bytes: Some(request),
        depth: Some(1),
        workers: Some(1),
        model: Some("serial".into()),
        cache_policy: Some("keep".into()),
        cache: Some(CacheState::Warm),
        order: Some("sequential".into()),
        strategy: Some(format!("method=buffered,request={request},workers=1,model=serial,stripe=8M")),
        ..Labels::of("read", "buffered")
    }
}

pub(crate) fn cell(id: &str, labels: Labels, law: &Law, rng: &mut Xoshiro256) -> Cell {
    let mut cell = Cell::new(id, "read", labels);
    let bytes = 64 << 20;
    for round in 0..law.samples {
        let rate = law.rate * law.spread.draw(rng);
        let seconds = bytes as f64 / rate;
        let cpu = law.cost * bytes as f64 / 1e6 * Spread::Normal(0.01).draw(rng);
        cell.samples.push(Sample {
            round,
            start_s: 10.0 * f64::from(round),
            bytes,
            seconds,
            requests: 1024,
            user_s: 0.2 * cpu,
            system_s: 0.8 * cpu,
            latency: (law.p99 > 0.0)
                .then(|| Latency { p99_s: law.p99 * Spread::Normal(0.01).draw(rng), ..Latency::default() }),
            proof: Proof::Confirmed,
            ..Sample::default()
        });
    }
    cell
}

/// A document of cells `read/0`, `read/1` … by their laws.
pub(crate) fn document(laws: &[Law], seed: u64) -> Document {
    let mut rng = Xoshiro256::seeded(seed);
    let mut document = Document { audit: Audit::default(), ..synthetic::unmeasured() };
    document.run.started = format!("2026-11-{:02}T10:00:00Z", 1 + seed % 28);
    document.run.seed = seed;
    for (number, law) in laws.iter().enumerate() {
        document.cells.push(cell(&format!("read/{number}"), labels(4096 << number), law, &mut rng));
    }
    document
}
