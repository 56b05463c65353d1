//! Synthetic cells with labels.

use fullbore_bench::advice::advice;
use fullbore_bench::analysis::choices;
use fullbore_bench::document::{Advice, CacheState, Cell, Findings, Labels, Proof, Sample, SummaryOptions};

pub(crate) const K: u64 = 1 << 10;
pub(crate) const M: u64 = 1 << 20;

/// Builder of cells. `Apart` gives each its own rate within 1%; `Alike` the same rate to all, widely spread.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Spread {
    Apart,
    Alike,
}

pub(crate) struct Room {
    spread: Spread,
    pub(crate) experiment: &'static str,
    pub(crate) cells: Vec<Cell>,
}

impl Room {
    pub(crate) fn new(spread: Spread) -> Self {
        Self { spread, experiment: "mine", cells: Vec::new() }
    }

    pub(crate) fn add(&mut self, labels: Labels, mb_per_s: f64) -> &mut Cell {
        self.costing(labels, mb_per_s, 1.0)
    }

    /// Adds a cell for each value of a setting, with its rate in MB/s.
    pub(crate) fn each<T, const N: usize>(&mut self, rates: [(T, f64); N], labels: impl Fn(T) -> Labels) {
        for (value, rate) in rates {
            self.add(labels(value), rate);
        }
    }

    pub(crate) fn costing(&mut self, labels: Labels, mb_per_s: f64, ms_per_mb: f64) -> &mut Cell {
        let (mb_per_s, ms_per_mb, spread) = match self.spread {
            Spread::Apart => (mb_per_s, ms_per_mb, 0.01),
            Spread::Alike => (100.0, 1.0, 0.5),
        };
        let mut cell = Cell::new(format!("cell {}", self.cells.len()), self.experiment, labels);
        for i in 0..11u32 {
            // The same values for each cell, in another order.
            let place = f64::from((i * 4 + self.cells.len() as u32) % 11) / 5.0 - 1.0;
            let bytes = 100_000_000;
            let seconds = 100.0 / mb_per_s / (1.0 + spread * place);
            cell.samples.push(Sample {
                round: i,
                bytes,
                seconds,
                requests: bytes / cell.labels.request_bytes.unwrap_or(M).max(1),
                system_s: ms_per_mb * 0.1 * (1.0 + spread * place),
                proof: Proof::Confirmed,
                ..Sample::default()
            });
        }
        cell.summarise(&SummaryOptions::default());
        self.cells.push(cell);
        self.cells.last_mut().unwrap()
    }

    pub(crate) fn advice(&self) -> Vec<Advice> {
        let found = Findings { choices: choices(&self.cells), ..Findings::default() };
        advice(&self.cells, &found)
    }
}

pub(crate) fn read(method: &str, request: u64, cache: CacheState) -> Labels {
    Labels {
        request_bytes: Some(request),
        depth: Some(1),
        workers: Some(1),
        cache: Some(cache),
        cache_policy: Some(if method == "direct" { "direct" } else { "keep" }.into()),
        order: Some("sequential".into()),
        ..Labels::of("read", method)
    }
}

pub(crate) fn write(method: &str, request: u64, state: &str) -> Labels {
    let file_state = Some(state.into());
    Labels { operation: "write".into(), file_state, cache: None, ..read(method, request, CacheState::Warm) }
}

pub(crate) fn deep(request: u64, depth: u32) -> Labels {
    Labels {
        depth: Some(depth),
        cache_policy: Some("direct".into()),
        ..read("uring", request, CacheState::Cold)
    }
}

pub(crate) fn variant(labels: Labels, variant: &str) -> Labels {
    Labels { variant: Some(variant.into()), ..labels }
}
