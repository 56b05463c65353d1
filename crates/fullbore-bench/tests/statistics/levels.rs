//! Levels: as many as put in, with shares and intervals that hold them; none in a unimodal distribution.

use fullbore_bench::stats::{Xoshiro256, levels};

use crate::laws::{INDEPENDENT, Law, MEDIAN, bootstrap, normal, share, within};

#[test]
fn a_single_hump_has_none() {
    for law in INDEPENDENT.into_iter().filter(|law| *law != Law::TwoLevels) {
        for n in [8, 12, 20, 50] {
            let wrong = share(1000, 30, |run, rng| {
                // Spread by half of the median, so that the 10% threshold does not help.
                let wide: Vec<f64> = law.draw(n, rng).iter().map(|v| MEDIAN + 3.0 * (v - MEDIAN)).collect();
                !levels(&wide, &bootstrap(run, 300)).is_empty()
            });
            within(..=0.05, wrong, format!("{law:?}, {n} samples taken for several levels"));
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
            rng.shuffle(&mut values);
            let found = levels(&values, &bootstrap(run, 300));
            for (level, truth) in found.iter().zip(truth).filter(|_| found.len() == truth.len()) {
                held[0] += usize::from(level.interval.unwrap().contains(*truth));
                held[1] += 1;
            }
            found.len() == truth.len()
        });
        let name = format!("{} levels in {n} samples", truth.len());
        within(0.95.., found, format!("{name}: found"));
        within(0.93.., held[0] as f64 / held[1] as f64, format!("{name}: intervals hold"));
    }
}
