//! Laws of synthetic samples: each with a known median, in the order in which samples would be taken.

use fullbore_bench::stats::{Bootstrap, Xoshiro256};

/// A law of rates around a median of 100 (any unit).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Law {
    /// Normal with this deviation.
    Normal(f64),
    /// Even from 80 to 120.
    Flat,
    /// A long tail above: exponential, its median at 100.
    Exponential,
    /// Student's t with two degrees of freedom: tails so heavy that it has no variance.
    Heavy(f64),
    /// Two levels 30% apart: 65% of the samples near 100 (the median among them), the others lower.
    TwoLevels,
    /// As many samples at 100 − 15 as at 100 + 15: the median lies in the gap.
    EvenLevels,
    /// A rise of 20% over the run with normal noise; 100 is the middle.
    Drifting,
    /// Normal, with this correlation between neighbouring samples.
    Correlated(f64),
}

pub(crate) const MEDIAN: f64 = 100.0;

impl Law {
    pub(crate) fn draw(self, n: usize, rng: &mut Xoshiro256) -> Vec<f64> {
        let mut before = rng.normal();
        (0..n)
            .map(|i| match self {
                Self::Normal(deviation) => MEDIAN + deviation * rng.normal(),
                Self::Flat => 80.0 + 40.0 * rng.unit(),
                Self::Exponential => 80.0 - 20.0 / std::f64::consts::LN_2 * (1.0 - rng.unit()).ln(),
                Self::Heavy(scale) => {
                    let chi_square = -2.0 * (1.0 - rng.unit()).ln();
                    MEDIAN + scale * rng.normal() / (chi_square / 2.0).sqrt()
                }
                Self::TwoLevels => {
                    // The 65% around 100 are shifted so that 15% of all lie between the level's bottom and 100.
                    let level = if rng.unit() < 0.65 { MEDIAN + 0.735_8 * 3.0 } else { 75.0 };
                    level + 3.0 * rng.normal()
                }
                Self::EvenLevels => {
                    let level = if rng.unit() < 0.5 { MEDIAN - 15.0 } else { MEDIAN + 15.0 };
                    level + 3.0 * rng.normal()
                }
                Self::Drifting => {
                    let along = (i as f64 + 0.5) / n as f64 - 0.5;
                    MEDIAN * (1.0 + 0.2 * along) + 5.0 * rng.normal()
                }
                Self::Correlated(rho) => {
                    before = rho * before + (1.0 - rho * rho).sqrt() * rng.normal();
                    MEDIAN + 5.0 * before
                }
            })
            .collect()
    }
}

/// Laws whose samples do not depend on each other and whose median can be estimated.
pub(crate) const INDEPENDENT: [Law; 5] =
    [Law::Normal(5.0), Law::Flat, Law::Exponential, Law::Heavy(5.0), Law::TwoLevels];

/// The share of `runs` in which a condition holds; each run has its number and its own generator.
pub(crate) fn share(runs: u64, seed: u64, mut holds: impl FnMut(u64, &mut Xoshiro256) -> bool) -> f64 {
    let held = (0..runs).filter(|&run| {
        let mut rng = Xoshiro256::seeded(seed.wrapping_mul(1_000_003).wrapping_add(run));
        holds(run, &mut rng)
    });
    held.count() as f64 / runs as f64
}

/// The bootstrap of a run; few resamples keep thousands of runs fast.
pub(crate) fn bootstrap(run: u64, resamples: usize) -> Bootstrap {
    Bootstrap { seed: run, resamples, ..Bootstrap::default() }
}

pub(crate) fn within(limits: impl std::ops::RangeBounds<f64>, share: f64, what: impl std::fmt::Display) {
    println!("{what}: {:.1} %", 100.0 * share);
    assert!(limits.contains(&share), "{what}: {share}");
}
