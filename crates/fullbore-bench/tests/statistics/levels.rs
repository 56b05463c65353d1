//! Levels: as many as put in, with shares and intervals that hold them; none in a unimodal distribution.

use fullbore_bench::stats::{Bootstrap, Xoshiro256, levels};

use crate::laws::{INDEPENDENT, Law, MEDIAN, normal, share};

fn bootstrap(run: u64) -> Bootstrap {
    Bootstrap { seed: run, resamples: 300, ..Bootstrap::default() }
}

#[test]
fn a_single_hump_has_none() {
    for law in INDEPENDENT.into_iter().filter(|law| *law != Law::TwoLevels) {
        for n in [8, 12, 20, 50] {
            let wrong = share(1000, 30, |run, rng| {
                // Spread by half of the median, so that the 10% threshold does not help.
                let wide: Vec<f64> = law.draw(n, rng).iter().map(|v| MEDIAN + 3.0 * (v - MEDIAN)).collect();
                !levels(&wide, &bootstrap(run)).is_empty()
            });
            println!("{law:?}, {n} samples: {:.1} % taken for several levels", 100.0 * wrong);
            assert!(wrong <= 0.05, "{law:?}, {n}: {wrong}");
        }
    }
}

#[test]
fn known_levels_are_found() {
    for (n, truth) in
        [(20, &[70.0, 100.0][..]), (30, &[70.0, 100.0, 140.0]), (60, &[60.0, 80.0, 110.0, 150.0])]
    {
        let mut held = [0usize; 2];
        let found = share(500, 31, |run, rng| {
            let draw = |rng: &mut Xoshiro256, i: usize| truth[i % truth.len()] * (1.0 + 0.03 * normal(rng));
            let mut values: Vec<f64> = (0..n).map(|i| draw(rng, i)).collect();
            // In random order.
            for i in (1..n).rev() {
                values.swap(i, rng.below(i + 1));
            }
            let found = levels(&values, &bootstrap(run));
            for (level, truth) in found.iter().zip(truth).filter(|_| found.len() == truth.len()) {
                held[0] += usize::from(level.interval.unwrap().contains(*truth));
                held[1] += 1;
            }
            found.len() == truth.len()
        });
        let coverage = held[0] as f64 / held[1] as f64;
        println!(
            "{} levels in {n} samples: found in {:.1} %, intervals hold {:.1} %",
            truth.len(),
            100.0 * found,
            100.0 * coverage
        );
        assert!(found >= 0.95 && coverage >= 0.93, "{truth:?}: {found} {coverage}");
    }
}
