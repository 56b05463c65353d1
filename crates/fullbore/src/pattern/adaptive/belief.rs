//! Beliefs in the rates of contenders: prior estimates and measurements, as normal distributions of logarithms.
//!
//! Rates of contenders differ by factors, hence the logarithms. The prior estimates are relative to one another, so the
//! common level of all contenders is estimated together with them. The beliefs determine whether a trial is worth its cost
//! (the value of information; Frazier, Powell and Dayanik's knowledge gradient).

use std::f64::consts::{FRAC_1_SQRT_2, LN_2, PI};

use crate::strategy::Strategy;

/// Samples of a logarithmic rate: their number, mean, and the sum of the squared deviations from it.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::pattern) struct Samples {
    pub(in crate::pattern) count: f64,
    pub(in crate::pattern) mean: f64,
    squares: f64,
}

impl Samples {
    /// Adds a sample (Welford's method). With `most`, older ones count less, so that their weight stays below it.
    pub(in crate::pattern) fn push(&mut self, sample: f64, most: f64) {
        if self.count + 1.0 > most {
            let rest = (most - 1.0) / self.count;
            (self.count, self.squares) = (self.count * rest, self.squares * rest);
        }
        self.count += 1.0;
        let distance = sample - self.mean;
        self.mean += distance / self.count;
        self.squares += distance * (sample - self.mean);
    }

    pub(in crate::pattern) fn is_empty(&self) -> bool {
        self.count == 0.0
    }

    /// The larger half of these rates. Other load, and the mapping of another part of the file, only slow a short lease down: in a
    /// short run all samples together chose the wrong contender twice as often.
    pub(super) fn of_faster_half<'r>(rates: impl Iterator<Item = &'r f64>) -> Self {
        let mut rates: Vec<f64> = rates.copied().collect();
        rates.sort_by(|one, two| two.total_cmp(one));
        rates.truncate(rates.len().div_ceil(2));
        rates.into_iter().collect()
    }
}

impl FromIterator<f64> for Samples {
    fn from_iter<I: IntoIterator<Item = f64>>(samples: I) -> Self {
        let mut all = Self::default();
        samples.into_iter().for_each(|sample| all.push(sample, f64::INFINITY));
        all
    }
}

/// The belief in the logarithmic rate of a contender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::pattern) struct Belief {
    /// Its mean.
    pub(in crate::pattern) mean: f64,
    /// Its mean without the level that all contenders share.
    pub(in crate::pattern) relative: f64,
    /// Its variance.
    pub(in crate::pattern) variance: f64,
    /// True if it was measured.
    pub(in crate::pattern) measured: bool,
}

impl Belief {
    /// The expected gain in the logarithmic rate if the contender is measured once more, with a variance of `noise`, and
    /// replaces one with a rate of `best` if it is faster.
    pub(in crate::pattern) fn expected_gain(&self, best: f64, noise: f64) -> f64 {
        // The standard deviation of the change of the mean.
        let change = self.variance / (self.variance + noise).sqrt();
        if change <= 0.0 {
            return 0.0;
        }
        let gap = (best - self.mean) / change;
        let density = (-gap * gap / 2.0).exp() / (2.0 * PI).sqrt();
        let tail = libm::erfc(gap * FRAC_1_SQRT_2) / 2.0;
        change * (density - gap * tail).max(0.0)
    }
}

/// A measurement that may be made.
#[derive(Debug, Clone, Copy)]
pub(in crate::pattern) struct Measurement {
    /// The bytes that it takes.
    pub(in crate::pattern) bytes: u64,
    /// The bytes that are left after it.
    pub(in crate::pattern) left: u64,
    /// The variance of its result.
    pub(in crate::pattern) noise: f64,
    /// The time that it takes to change the contender, in seconds.
    pub(in crate::pattern) change: f64,
}

impl Measurement {
    /// True if measuring `other` in place of the leader is expected to save more than it costs, in bytes that the leader
    /// moves in the same time.
    pub(in crate::pattern) fn pays(&self, leader: &Belief, other: &Belief) -> bool {
        let gain = other.expected_gain(leader.mean, self.noise);
        let slower = (leader.mean - other.mean).exp_m1().max(0.0);
        gain * self.left as f64 > slower * self.bytes as f64 + self.change * leader.mean.exp()
    }
}

/// The estimate that follows from two independent ones, each a mean and a standard deviation.
pub(in crate::pattern) fn combined(one: (f64, f64), two: (f64, f64)) -> (f64, f64) {
    let [first, second] = [one, two].map(|(_, deviation)| deviation.powi(-2));
    ((one.0 * first + two.0 * second) / (first + second), (first + second).powf(-0.5))
}

/// The measured contender with the highest rate.
pub(in crate::pattern) fn leader(beliefs: &[Belief]) -> Option<usize> {
    let measured = (0..beliefs.len()).filter(|&contender| beliefs[contender].measured);
    measured.max_by(|&one, &two| beliefs[one].mean.total_cmp(&beliefs[two].mean).then(two.cmp(&one)))
}

/// Rates within this factor are equal: CPU time decides.
const EQUAL: f64 = 0.03;

/// The contender to continue with: the leader, or of the equal ones that with the least CPU time. A `cpu` of 0 is unknown: others
/// ran at the same time, or the system's ticks are too long.
pub(in crate::pattern) fn choice(beliefs: &[Belief], leader: usize, cpu: impl Fn(usize) -> f64) -> usize {
    let near = |other: usize| beliefs[other].measured && beliefs[other].mean >= beliefs[leader].mean - EQUAL;
    let equal = (0..beliefs.len()).filter(|&other| near(other) && cpu(other) > 0.0);
    let cheapest = equal.min_by(|&one, &two| cpu(one).total_cmp(&cpu(two)));
    cheapest.filter(|_| cpu(leader) > 0.0).unwrap_or(leader)
}

/// The beliefs from `priors`, the expected relative logarithmic rates with their standard deviations, and the samples of
/// each contender. `noise`: the standard deviation of a sample before any is known, and the number of samples that
/// this counts as. Returns the standard deviation of a sample, too.
pub(in crate::pattern) fn beliefs(
    priors: &[(f64, f64)],
    samples: &[Samples],
    noise: (f64, f64),
) -> (Vec<Belief>, f64) {
    let (mut squares, mut freedom) = (noise.0.powi(2) * noise.1, noise.1);
    for samples in samples.iter().filter(|samples| !samples.is_empty()) {
        squares += samples.squares;
        freedom += samples.count - 1.0;
    }
    let noise = (squares / freedom).sqrt();
    let error = |samples: &Samples| noise.powi(2) / samples.count;
    // The level: each measured contender is an estimate of it, as good as its prior and its samples.
    let (mut sum, mut weights) = (0.0, 0.0);
    for ((expected, deviation), samples) in priors.iter().zip(samples) {
        if !samples.is_empty() {
            let weight = 1.0 / (deviation.powi(2) + error(samples));
            sum += weight * (samples.mean - expected);
            weights += weight;
        }
    }
    let level = if weights > 0.0 { sum / weights } else { 0.0 };
    let belief = |((expected, deviation), samples): (&(f64, f64), &Samples)| {
        let (mut relative, mut variance) = (*expected, deviation.powi(2));
        if !samples.is_empty() {
            let weight = variance / (variance + error(samples));
            relative += weight * (samples.mean - level - expected);
            variance *= 1.0 - weight;
        }
        Belief { mean: level + relative, relative, variance, measured: !samples.is_empty() }
    };
    (priors.iter().zip(samples).map(belief).collect(), noise)
}

/// The expected logarithmic rate of a strategy relative to a measured one that kept many requests in flight, and its standard
/// deviation; `processors` is the CPU time that the measured one's workers took per second. If they wait, the device is at its
/// limit, and no other strategy is much faster; if they do not wait, their processors limit them, and more workers move more, up
/// to the unknown limit of the device.
pub(super) fn expected_after(
    (measured, workers): (&Strategy, usize),
    processors: f64,
    other: &Strategy,
    writes: bool,
) -> (f64, f64) {
    let (workers, others) = (workers as f64, other.workers.max(1) as f64);
    let busy = (2.0 * processors / workers - 1.0).clamp(0.0, 1.0);
    // Writers of one file wait for one another, and copies from the page cache take as much CPU time again.
    let alike = measured.read_cache == other.read_cache;
    let more = if alike && !writes { busy * (others / workers).ln().max(0.0) / 2.0 } else { 0.0 };
    match measured.has_the_engines_of(other) {
        true => (more.min((others / processors).ln()), 0.05 + 0.2 * busy),
        false => (more - 0.05 - if alike { 0.0 } else { busy * LN_2 }, 0.1 + 0.2 * more),
    }
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    use super::*;

    const NOISE: (f64, f64) = (0.1, 3.0);

    fn samples<const N: usize>(lists: [Vec<f64>; N]) -> [Samples; N] {
        lists.map(|list| list.into_iter().collect())
    }

    #[test]
    fn samples_have_the_moments_of_their_list_and_forget_with_a_limit() {
        let list: Vec<f64> = (0..50u32).map(|number| 20.0 + f64::from(number * 7919 % 13) / 10.0).collect();
        let mean = list.iter().sum::<f64>() / 50.0;
        let squares: f64 = list.iter().map(|sample| (sample - mean).powi(2)).sum();
        let [all] = samples([list.clone()]);
        assert!(
            (all.mean - mean).abs() < 1e-9 && (all.squares - squares).abs() < 1e-9 && all.count == 50.0,
            "{all:?}"
        );
        let mut last = Samples::default();
        (0..100).for_each(|_| last.push(20.0, 8.0));
        (0..100).for_each(|_| last.push(21.0, 8.0));
        assert!(
            (last.mean - 21.0).abs() < 1e-3 && (last.count - 8.0).abs() < 1e-9 && last.squares < 1e-3,
            "{last:?}"
        );
    }

    #[test]
    fn the_faster_half_leaves_out_the_slow_samples() {
        let mean = |rates: &[f64]| Samples::of_faster_half(rates.iter()).mean;
        assert_eq!(mean(&[5.0, 1.0, 6.0, 2.0]), 5.5);
        assert_eq!(mean(&[1.0, 6.0, 5.0]), 5.5);
        assert!(Samples::of_faster_half([].iter()).is_empty());
    }

    #[test]
    fn of_equal_contenders_the_one_with_the_least_known_cpu_time_is_chosen() {
        let belief = |mean| Belief { mean, relative: mean, variance: 0.01, measured: true };
        let beliefs = [belief(20.0), belief(20.01), belief(19.9), Belief { measured: false, ..belief(20.0) }];
        let chosen = |cpu: [f64; 4]| choice(&beliefs, leader(&beliefs).unwrap(), |one| cpu[one]);
        assert_eq!(chosen([1.0, 2.0, 0.1, 0.1]), 0);
        assert_eq!(chosen([2.0, 1.0, 0.1, 0.1]), 1);
        assert_eq!(chosen([0.0; 4]), 1, "unknown: the fastest");
        assert_eq!(chosen([0.0, 1.0, 0.1, 0.1]), 1);
        assert_eq!(chosen([1.0, 0.0, 0.1, 0.1]), 1);
    }

    #[test]
    fn without_samples_the_beliefs_are_the_priors() {
        let (found, noise) = beliefs(&[(0.0, 0.1), (-0.5, 0.2)], &samples([vec![], vec![]]), NOISE);
        assert!((noise - 0.1).abs() < 1e-12);
        assert_eq!((found[0].mean, found[1].mean, found[1].measured), (0.0, -0.5, false));
        assert!((found[1].variance - 0.04).abs() < 1e-12);
    }

    #[test]
    fn one_measurement_sets_the_level_of_all() {
        let (found, _) = beliefs(&[(0.0, 0.1), (-0.5, 0.2)], &samples([vec![20.0], vec![]]), NOISE);
        assert!((found[0].mean - 20.0).abs() < 1e-9 && (found[1].mean - 19.5).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn many_samples_outweigh_the_prior() {
        let samples = samples([vec![20.0; 100], vec![20.4; 100]]);
        let (found, noise) = beliefs(&[(0.0, 0.1), (-0.5, 0.3)], &samples, NOISE);
        assert!((found[0].mean - 20.0).abs() < 0.01 && (found[1].mean - 20.4).abs() < 0.01, "{found:?}");
        assert!(noise < 0.02, "{noise}");
    }

    /// The expected gain is that of a simulation: draw the rate, measure it, decide.
    #[test]
    fn the_expected_gain_is_that_of_a_simulation() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut uniform = || ((random.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        let mut normal = || (-2.0 * uniform().ln()).sqrt() * (2.0 * PI * uniform()).cos();
        for (mean, deviation, noise) in [(-0.1, 0.2, 0.1), (0.05, 0.1, 0.2), (-0.5, 0.3, 0.15f64)] {
            let belief = Belief { mean, relative: mean, variance: deviation * deviation, measured: false };
            let weight = belief.variance / (belief.variance + noise * noise);
            let rounds = 400_000;
            let mut gained = 0.0;
            for _ in 0..rounds {
                let rate = mean + deviation * normal();
                let after = mean + weight * (rate + noise * normal() - mean);
                // It is taken if it is believed to be faster than the best, which has the rate 0.
                gained += if after > 0.0 { rate } else { 0.0 };
            }
            let (gained, expected) = (gained / f64::from(rounds), belief.expected_gain(0.0, noise * noise));
            assert!((gained - expected).abs() < 0.002, "{mean} {deviation} {noise}: {gained}, {expected}");
        }
    }
}
