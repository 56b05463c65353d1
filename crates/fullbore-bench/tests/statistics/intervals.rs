//! 95% intervals of the median hold it in at least 93% of 1000 runs, and are fast enough for thousands of cells.

use std::time::Instant;

use fullbore_bench::stats::{Bootstrap, Xoshiro256};

use crate::laws::{INDEPENDENT, Law, MEDIAN, bootstrap, share, within};

fn coverage(law: Law, samples: usize) -> f64 {
    share(1000, samples as u64, |run, rng| {
        bootstrap(run, 400).median(&law.draw(samples, rng)).unwrap().contains(MEDIAN)
    })
}

#[test]
fn of_independent_samples() {
    for law in INDEPENDENT.into_iter().chain([Law::EvenLevels, Law::Drifting]) {
        let more: &[usize] = match law {
            Law::Normal(_) | Law::Exponential => &[7, 9, 11, 15, 30, 60],
            _ => &[],
        };
        for &samples in [6, 10, 20, 50].iter().chain(more) {
            // A drift counted as noise widens the interval; elsewhere "always" would mean uselessly wide.
            let most = if law == Law::Drifting { 1.1 } else { 0.995 };
            within(0.93..most, coverage(law, samples), format!("{law:?}, {samples} samples"));
        }
    }
}

#[test]
fn of_samples_that_resemble_their_neighbours() {
    // The correlation is estimated from the samples: weakly correlated ones need ten, others more.
    for (rho, enough) in [(0.2, 10), (0.4, 15), (0.6, 25), (0.8, 60)] {
        for samples in [enough, 2 * enough] {
            let held = coverage(Law::Correlated(rho), samples);
            within(0.93.., held, format!("correlation {rho}, {samples} samples"));
        }
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
