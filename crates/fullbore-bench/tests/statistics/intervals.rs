//! 95% intervals hold the truth in at least 93% of 1000 runs: those of the median, which are fast enough for thousands of
//! cells, of half-power crossings and of fitted costs.

use std::time::Instant;

use fullbore_bench::stats::{Bootstrap, Xoshiro256, fit_cost_samples, half_power};
use fullbore_testkit::cases;

use crate::laws::{INDEPENDENT, Law, MEDIAN, bootstrap, share, within};

fn coverage(law: Law, samples: usize) -> f64 {
    share(1000, samples as u64, |run, rng| {
        bootstrap(run, 400).median(&law.draw(samples, rng)).unwrap().contains(MEDIAN)
    })
}

#[test]
fn of_independent_samples() {
    let laws = INDEPENDENT.into_iter().chain([Law::EvenLevels, Law::Drifting]);
    let every = laws.flat_map(|law| {
        let more: &[usize] = match law {
            Law::Normal(_) | Law::Exponential => &[7, 9, 11, 15, 30, 60],
            _ => &[],
        };
        [6, 10, 20, 50].into_iter().chain(more.iter().copied()).map(move |samples| (law, samples))
    });
    for (law, samples) in cases("intervals of samples", 4, every) {
        // A drift counted as noise widens the interval; elsewhere "always" would mean uselessly wide.
        let most = if law == Law::Drifting { 1.1 } else { 0.995 };
        within(0.93..most, coverage(law, samples), format!("{law:?}, {samples} samples"));
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

/// Bytes per second at a request size.
type Rate = fn(f64) -> f64;

/// Rates by request size of three disks: one limited to 2000 requests and 100 MB per second; one with a fixed time per
/// request beside the transfer; one with a sharper knee.
const CURVES: [(&str, Rate); 3] = [
    ("limits", |size| (2000.0 * size).min(100e6)),
    ("fixed and per byte", |size| 1.0 / (1.0 / (2000.0 * size) + 1e-8)),
    ("knee", |size| 100e6 / (1.0 + (40_000.0 / size).powi(2))),
];

const SIZES: [u64; 9] = [1 << 12, 1 << 13, 1 << 14, 1 << 15, 1 << 16, 1 << 17, 1 << 18, 1 << 20, 1 << 22];

#[test]
fn half_power_intervals_hold_the_crossing() {
    for (name, rate) in CURVES {
        let exact: Vec<(u64, Vec<f64>)> = SIZES.map(|size| (size, vec![rate(size as f64)])).to_vec();
        let truth = half_power(&exact, &Bootstrap::default()).unwrap().crossing.unwrap().value;
        for (noise, n) in cases("half-power intervals", 3, [(0.02, 5), (0.05, 9), (0.05, 20)]) {
            let mut width = 0.0;
            let held = share(1000, 20, |run, rng| {
                let mut draw = |size: u64| -> Vec<f64> {
                    (0..n).map(|_| rate(size as f64) * (1.0 + noise * rng.normal())).collect()
                };
                let curve = SIZES.map(|size| (size, draw(size)));
                let crossing = half_power(&curve, &bootstrap(run, 300)).unwrap().crossing.unwrap();
                width += crossing.relative_half_width() / 1000.0;
                crossing.contains(truth)
            });
            within(0.93.., held, format!("{name}, noise {noise}, {n} samples"));
            within(..4.0 * noise, width, format!("{name}, noise {noise}, {n} samples: half the width"));
        }
    }
}

#[test]
fn cost_intervals_hold_both_parts() {
    let (a, b) = (20e-6, 0.3e-9);
    for (law, n) in
        [(Law::Normal(3.0), 6), (Law::Normal(3.0), 10), (Law::Heavy(3.0), 10), (Law::Correlated(0.4), 20)]
    {
        let mut held = [0_u16; 2];
        share(1000, 21, |run, rng| {
            let mut draw = |size: f64| -> Vec<f64> {
                law.draw(n, rng).iter().map(|noise| (a + b * size) * noise / 100.0).collect()
            };
            let points = [4096.0, 16384.0, 65536.0, 262_144.0, 1_048_576.0].map(|size| (size, draw(size)));
            let line = fit_cost_samples(&points, &bootstrap(run, 300)).unwrap();
            held[0] += u16::from(line.per_request.contains(a));
            held[1] += u16::from(line.per_byte.contains(b));
            true
        });
        for (part, held) in ["a", "b"].into_iter().zip(held) {
            within(0.93.., f64::from(held) / 1000.0, format!("{law:?}, {n} samples a size: {part}"));
        }
    }
}
