//! Trials in a run of unknown length, of files or of a pipe: the contenders take turns on the next bytes.

use super::belief::{Measurement, Samples, beliefs, choice, leader};
use super::lease::Spent;
use crate::strategy::{Contender, Tried};

/// The standard deviation of a logarithmic rate before any is known, and the samples that this counts as.
const NOISE: (f64, f64) = (0.15, 3.0);
/// The greatest weight of the samples of a contender: rates change in the course of a long run.
const MOST: f64 = 32.0;

#[derive(Debug, Default)]
pub(in crate::pattern) struct Trials {
    pub(in crate::pattern) contenders: Vec<Contender>,
    measured: Vec<Measured>,
    /// The bytes measured so far.
    pub(in crate::pattern) bytes: u64,
}

/// The measurements of a contender.
#[derive(Debug, Clone, Default)]
struct Measured {
    /// The logarithmic rates.
    samples: Samples,
    count: usize,
    bytes: u64,
    /// CPU time in seconds.
    cpu: f64,
}

impl Trials {
    /// Contenders without a measurement, after `bytes` of the run.
    pub(in crate::pattern) fn new(contenders: Vec<Contender>, bytes: u64) -> Self {
        Self { measured: vec![Measured::default(); contenders.len()], contenders, bytes }
    }

    /// Records the cost of bytes with the contender at a place.
    pub(in crate::pattern) fn record(&mut self, place: usize, spent: Spent) {
        let bytes = spent.bytes;
        if let Some(measured) = self.measured.get_mut(place)
            && spent.seconds > 0.0
        {
            measured.samples.push((bytes as f64 / spent.seconds).ln(), MOST);
            measured.count += 1;
            measured.bytes += bytes;
            measured.cpu += spent.cpu;
            self.bytes += bytes;
        }
    }

    /// CPU time per byte of a contender, in seconds.
    fn cpu(&self, place: usize) -> f64 {
        let Measured { bytes, cpu, .. } = self.measured[place];
        if bytes > 0 { cpu / bytes as f64 } else { 0.0 }
    }

    /// The contender for the next `bytes`, and true if it is final: one whose measurement pays if as much is to come as has
    /// come, which is not final; else the [`choice`].
    /// A change of the contender takes `change` seconds.
    pub(in crate::pattern) fn next(&self, bytes: u64, change: f64) -> (usize, bool) {
        let priors: Vec<_> =
            self.contenders.iter().map(|contender| (contender.expected, contender.deviation)).collect();
        let samples: Vec<_> = self.measured.iter().map(|measured| measured.samples).collect();
        let (beliefs, noise) = beliefs(&priors, &samples, NOISE);
        let Some(leader) = leader(&beliefs) else { return (0, false) };
        let measurement = Measurement { bytes, left: self.bytes, noise: noise.powi(2), change };
        let pays = |&other: &usize| other != leader && measurement.pays(&beliefs[leader], &beliefs[other]);
        match (0..beliefs.len()).find(pays) {
            Some(other) => (other, false),
            None => (choice(&beliefs, leader, |place| self.cpu(place)), true),
        }
    }

    pub(in crate::pattern) fn tried(&self) -> Vec<Tried> {
        let tried = |place: usize| {
            let Measured { samples, count, .. } = &self.measured[place];
            let strategy = &self.contenders[place].strategy;
            Tried::new(strategy, strategy.workers, samples.mean.exp(), self.cpu(place), *count)
        };
        (0..self.measured.len()).filter(|&place| self.measured[place].count > 0).map(tried).collect()
    }
}
