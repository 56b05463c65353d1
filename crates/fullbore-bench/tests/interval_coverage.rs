//! Intervals hold the true median as often as promised, and are fast enough for thousands of cells.

use std::time::Instant;

use fullbore_bench::stats::{Bootstrap, Xoshiro256};

fn coverage(samples: usize, truth: f64, mut draw: impl FnMut(&mut Xoshiro256) -> f64) -> f64 {
    let mut rng = Xoshiro256::seeded(samples as u64);
    let held = (0..1000u64)
        .filter(|&seed| {
            let values: Vec<f64> = (0..samples).map(|_| draw(&mut rng)).collect();
            Bootstrap { seed, resamples: 1000, ..Bootstrap::default() }
                .median(&values)
                .unwrap()
                .contains(truth)
        })
        .count();
    held as f64 / 1000.0
}

#[test]
fn ninety_five_percent_intervals_hold_the_median() {
    for samples in [6, 7, 9, 11, 15, 30, 60] {
        let normal = coverage(samples, 100.0, |rng| {
            let radius = (-2.0 * (1.0 - rng.unit()).ln()).sqrt();
            100.0 + 5.0 * radius * (std::f64::consts::TAU * rng.unit()).cos()
        });
        let exponential = coverage(samples, std::f64::consts::LN_2, |rng| -(1.0 - rng.unit()).ln());
        assert!(normal >= 0.93, "normal, {samples} samples: {normal}");
        assert!(exponential >= 0.93, "exponential, {samples} samples: {exponential}");
        // An interval that always holds would be useless.
        assert!(normal < 0.995 && exponential < 0.995, "{samples}: {normal} {exponential}");
    }
}

#[test]
fn thousands_of_cells_are_summarised_quickly() {
    let mut rng = Xoshiro256::seeded(1);
    let values: Vec<f64> = (0..15).map(|_| rng.unit()).collect();
    let started = Instant::now();
    let width: f64 = (0..2000u64)
        .map(|seed| Bootstrap { seed, ..Bootstrap::default() }.median(&values).unwrap().relative_half_width())
        .sum();
    assert!(width > 0.0);
    // Optimised code needs about a tenth of this; a debug build on a busy machine gets more time.
    let limit = if cfg!(debug_assertions) { 30.0 } else { 2.0 };
    assert!(started.elapsed().as_secs_f64() < limit, "{:?} for 2000 cells", started.elapsed());
}
