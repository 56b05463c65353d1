//! A contender, and its measurement.

use fullbore_io::engine::CachePolicy;
use fullbore_io::size;
use serde::Serialize;

use super::fields::{BUDGET, Strategy};

/// A strategy worth trying, and its expected rate.
#[derive(Debug, Clone, PartialEq)]
pub struct Contender {
    /// The strategy.
    pub strategy: Strategy,
    /// The expected logarithm of its rate, relative to that of the first contender.
    pub expected: f64,
    /// The standard deviation of this expectation.
    pub deviation: f64,
}

/// The strategies that a run may use, by the state of a region in the page cache, best expected first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Contenders {
    /// Contenders for regions in the page cache, and for files whose state is unknown.
    pub cached: Vec<Contender>,
    /// Contenders for regions that must be read from the device.
    pub uncached: Vec<Contender>,
}

impl Contenders {
    /// The contenders for both kinds of regions.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Contender> {
        self.cached.iter().chain(&self.uncached)
    }

    /// Returns the contenders of a run whose parts are all of one kind.
    pub fn of_one_kind(&self) -> &[Contender] {
        if self.cached.is_empty() { &self.uncached } else { &self.cached }
    }

    /// True if there is a choice: several contenders for one region, or regions of two kinds.
    pub fn differ(&self) -> bool {
        self.cached.len() + self.uncached.len() > 1
    }
}

/// The contenders of both lists.
pub(super) fn common(one: &[Contender], two: &[Contender]) -> Vec<Contender> {
    let both = |contender: &&Contender| two.iter().any(|other| other.strategy == contender.strategy);
    one.iter().filter(both).cloned().collect()
}

/// The measurement of one contender.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Tried {
    /// The strategy, as `--strategy` takes it.
    pub(crate) strategy: String,
    /// A short name, with the number of workers that it had.
    pub(crate) name: String,
    /// Throughput of all its workers, in bytes per second.
    pub(crate) rate: f64,
    /// CPU time per byte, in seconds.
    pub(crate) cpu: f64,
    /// The number of parts it was tried on.
    pub(crate) samples: usize,
}

impl Tried {
    pub(crate) fn new(strategy: &Strategy, workers: usize, rate: f64, cpu: f64, samples: usize) -> Self {
        let name = name(&Strategy { workers, ..strategy.clone() });
        Self { strategy: text(strategy), name, rate, cpu, samples }
    }
}

/// Returns a strategy as `--strategy` takes it, without the budget, which is the run's.
pub(crate) fn text(strategy: &Strategy) -> String {
    Strategy { budget: BUDGET, ..strategy.clone() }.to_string()
}

/// Returns a short name of a strategy: method, cache policy, request size, depth, workers.
pub(super) fn name(strategy: &Strategy) -> String {
    let mut name = strategy.read.name.to_owned();
    if strategy.read_cache == CachePolicy::Direct && name != "direct" {
        name.push_str(" direct");
    }
    match strategy.window.filter(|_| strategy.read.capabilities.mapped) {
        Some(window) => name.push_str(&format!(" window {}", size::binary(window as u64))),
        None => name.push_str(&format!(" {}", size::binary(strategy.request as u64))),
    }
    if strategy.depth > 1 {
        name.push_str(&format!(" depth {}", strategy.depth));
    }
    name.push_str(&format!(" × {}", strategy.workers));
    name
}
