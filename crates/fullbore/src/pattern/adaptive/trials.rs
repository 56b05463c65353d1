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
    /// The logarithmic rates by contender, and the number of measurements.
    samples: Vec<Samples>,
    counts: Vec<usize>,
    /// Bytes and CPU time of the measurements, in seconds, by contender.
    totals: Vec<(u64, f64)>,
    /// The bytes measured so far.
    pub(in crate::pattern) bytes: u64,
}

impl Trials {
    /// Contenders without a measurement, after `bytes` of the run.
    pub(in crate::pattern) fn new(contenders: Vec<Contender>, bytes: u64) -> Self {
        let samples = vec![Samples::default(); contenders.len()];
        let (counts, totals) = (vec![0; contenders.len()], vec![(0, 0.0); contenders.len()]);
        Self { contenders, samples, counts, totals, bytes }
    }

    /// Records the cost of bytes with the contender at a place.
    pub(in crate::pattern) fn record(&mut self, place: usize, spent: Spent) {
        let bytes = spent.bytes;
        if let Some(samples) = self.samples.get_mut(place)
            && spent.seconds > 0.0
        {
            samples.push((bytes as f64 / spent.seconds).ln(), MOST);
            self.counts[place] += 1;
            self.totals[place].0 += bytes;
            self.totals[place].1 += spent.cpu;
            self.bytes += bytes;
        }
    }

    /// CPU time per byte of a contender, in seconds.
    fn cpu(&self, place: usize) -> f64 {
        let (bytes, cpu) = self.totals[place];
        if bytes > 0 { cpu / bytes as f64 } else { 0.0 }
    }

    /// The contender for the next `bytes`, and true if it is final: one whose measurement pays if as much is to come as has
    /// come, which is not final; else the [`choice`].
    /// A change of the contender takes `change` seconds.
    pub(in crate::pattern) fn next(&self, bytes: u64, change: f64) -> (usize, bool) {
        let priors: Vec<_> =
            self.contenders.iter().map(|contender| (contender.expected, contender.deviation)).collect();
        let (beliefs, noise) = beliefs(&priors, &self.samples, NOISE);
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
            let rate = self.samples[place].mean.exp();
            let strategy = &self.contenders[place].strategy;
            Tried::new(strategy, strategy.workers, rate, self.cpu(place), self.counts[place])
        };
        (0..self.samples.len()).filter(|&place| !self.samples[place].is_empty()).map(tried).collect()
    }
}
