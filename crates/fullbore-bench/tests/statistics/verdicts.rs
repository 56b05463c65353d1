//! Pairs without difference are called different in at most 5% of runs, and different ones are rarely called equal.

use fullbore_bench::stats::{Bootstrap, RatioComparison, Verdict, compare_paired, compare_rates};
use fullbore_testkit::cases;

use crate::laws::{INDEPENDENT, Law, bootstrap, share, within};

type Compare = fn(&[f64], &[f64], f64, &Bootstrap) -> Option<RatioComparison>;

fn different(comparison: Option<RatioComparison>) -> bool {
    matches!(comparison.unwrap().verdict, Verdict::Faster | Verdict::Slower)
}

fn equal(comparison: Option<RatioComparison>) -> bool {
    comparison.unwrap().verdict == Verdict::NoDifferenceThatMatters
}

/// The share of pairs without difference that are called different. A margin of 0 calls every interval that excludes 1 a
/// difference: the hardest case.
fn called_different(law: Law, [n, m]: [usize; 2], seed: u64) {
    let wrong = share(1000, seed, |run, rng| {
        let (first, second) = (law.draw(n, rng), law.draw(m, rng));
        different(compare_rates(&first, &second, 0.0, &bootstrap(run, 400)))
    });
    within(..=0.05, wrong, format!("{law:?}, {n} and {m} samples called different"));
}

#[test]
fn pairs_without_difference() {
    let laws = INDEPENDENT.into_iter().chain([Law::EvenLevels, Law::Drifting]);
    let every = laws.flat_map(|law| [[2, 20], [4, 4], [6, 15], [20, 20]].map(|counts| (law, counts)));
    for (law, counts) in cases("pairs without difference", 3, every) {
        called_different(law, counts, 1);
    }
}

#[test]
fn correlated_pairs_without_difference() {
    for (rho, enough) in [(0.2, 6), (0.4, 15), (0.6, 20)] {
        for n in [enough, 2 * enough] {
            called_different(Law::Correlated(rho), [n, n], 2);
        }
    }
}

#[test]
fn rounds_side_by_side_without_difference() {
    // Samples of a round share the machine's variation; the rest is the law's own noise.
    for law in INDEPENDENT.into_iter().chain([Law::EvenLevels, Law::Correlated(0.2)]) {
        // Six samples do not show their correlation.
        let enough = if law == Law::Correlated(0.2) { 10 } else { 6 };
        for n in [enough, 2 * enough, 40] {
            let wrong = share(1000, 3, |run, rng| {
                let machine = Law::Correlated(0.9).draw(n, rng);
                let mut side = || -> Vec<f64> {
                    law.draw(n, rng).iter().zip(&machine).map(|(own, shared)| own * shared).collect()
                };
                let (first, second) = (side(), side());
                different(compare_paired(&first, &second, 0.0, &bootstrap(run, 400)))
            });
            within(..=0.05, wrong, format!("{law:?}, {n} pairs called different"));
        }
    }
}

#[test]
fn differences_are_not_called_equal() {
    // The truth is at the margin itself: beyond it, calling it equal is an error, rarer with distance.
    for noise in [0.005, 0.02, 0.05] {
        for n in [4, 6, 10, 20] {
            for (name, compare) in [("paired", compare_paired as Compare), ("unpaired", compare_rates)] {
                let called = share(1000, 4, |run, rng| {
                    let mut side = |middle: f64| -> Vec<f64> {
                        (0..n).map(|_| middle * (1.0 + noise * rng.normal())).collect()
                    };
                    let (first, second) = (side(103.01), side(100.0));
                    equal(compare(&first, &second, 0.03, &bootstrap(run, 400)))
                });
                within(..=0.05, called, format!("3% apart, noise {noise}, {n} samples called equal, {name}"));
            }
        }
    }
}

#[test]
fn differences_are_found() {
    for (apart, noise, n) in [(1.10, 0.03, 10), (1.10, 0.05, 20), (0.80, 0.10, 20)] {
        let found = share(500, 5, |run, rng| {
            let mut side =
                |middle: f64| -> Vec<f64> { (0..n).map(|_| middle * (1.0 + noise * rng.normal())).collect() };
            let (first, second) = (side(100.0 * apart), side(100.0));
            let expected = if apart > 1.0 { Verdict::Faster } else { Verdict::Slower };
            compare_rates(&first, &second, 0.03, &bootstrap(run, 400)).unwrap().verdict == expected
        });
        within(0.9.., found, format!("{apart} times as fast, noise {noise}, {n} samples: found"));
    }
    // A true equality is recognised.
    let same = share(500, 6, |run, rng| {
        let (first, second) = (Law::Normal(1.0).draw(15, rng), Law::Normal(1.0).draw(15, rng));
        equal(compare_rates(&first, &second, 0.03, &bootstrap(run, 400)))
    });
    within(0.95.., same, "equal, noise 0.01, 15 samples: called equal");
}
