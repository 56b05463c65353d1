//! Stopping on precision: the intervals of cells that were measured until they were narrow still hold the truth.

use fullbore_bench::stats::{Bootstrap, StopRule};

use crate::laws::{Law, MEDIAN, share};

/// The most samples a cell gets.
const MOST: usize = 40;

#[test]
fn stopped_cells_hold_the_truth() {
    for (law, width) in [
        (Law::Normal(5.0), 0.05),
        (Law::Normal(5.0), 0.03),
        (Law::Heavy(4.0), 0.05),
        (Law::Flat, 0.08),
        (Law::TwoLevels, 0.05),
        (Law::EvenLevels, 0.05),
        (Law::Correlated(0.2), 0.05),
    ] {
        let rule = StopRule::precision(width);
        let (mut taken, mut plain) = (0, 0);
        let held = share(1000, 50, |run, rng| {
            let values = law.draw(MOST, rng);
            let bootstrap = Bootstrap { seed: run, resamples: 200, ..Bootstrap::default() };
            let n = (6..MOST).find(|&n| rule.narrow_enough(&values[..n], &bootstrap)).unwrap_or(MOST);
            taken += n;
            plain += usize::from(bootstrap.median(&values[..n]).unwrap().contains(MEDIAN));
            bootstrap.after_stopping().median(&values[..n]).unwrap().contains(MEDIAN)
        });
        println!(
            "{law:?} to ±{width}: {:.1} % hold ({:.1} % of those drawn as if not stopped), {:.1} samples",
            100.0 * held,
            plain as f64 / 10.0,
            taken as f64 / 1000.0
        );
        // Between two levels equally full the middle of a few samples is a coin tossed; the first eight fall on one side
        // (but for one) in 7 % of runs, and nothing in them shows that there is another.
        // Nor do few samples show that they resemble each other.
        let least = if matches!(law, Law::EvenLevels | Law::Correlated(_)) { 0.90 } else { 0.93 };
        assert!(held >= least, "{law:?} to {width}: {held}");
    }
}
