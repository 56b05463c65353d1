//! Warm-up: steady values are kept, a rise is excluded, and the mean after it is that of the steady state.

use fullbore_bench::stats::{Xoshiro256, median, warm_up};

use crate::laws::{INDEPENDENT, Law, MEDIAN, share, within};

#[test]
fn steady_series_are_kept() {
    for law in INDEPENDENT.into_iter().chain([Law::Correlated(0.4)]) {
        for n in [12, 20, 60] {
            let mut dropped = 0;
            let unsettled = share(1000, 40, |_, rng| {
                let warm = warm_up(&law.draw(n, rng), 1).unwrap();
                dropped += warm.drop;
                !warm.settled
            });
            within(..=0.2, unsettled, format!("{law:?}, {n} values called unsettled"));
            within(..=0.2, dropped as f64 / 1000.0 / n as f64, format!("{law:?}, {n} values: dropped"));
        }
    }
}

/// A rate that rises to the median from half of it, by a factor of e nearer every `pace` values.
fn rising(law: Law, n: usize, pace: f64, rng: &mut Xoshiro256) -> Vec<f64> {
    let steady = law.draw(n, rng);
    steady.iter().enumerate().map(|(i, v)| v - 0.5 * MEDIAN * (-(i as f64) / pace).exp()).collect()
}

#[test]
fn rising_start_is_left_out() {
    for (law, n, pace, batch) in
        [(Law::Normal(2.0), 30, 3.0, 1), (Law::Heavy(2.0), 40, 3.0, 1), (Law::Normal(5.0), 200, 10.0, 5)]
    {
        let (mut before, mut after) = (0.0, 0.0);
        let left = share(500, 41, |_, rng| {
            let values = rising(law, n, pace, rng);
            let warm = warm_up(&values, batch).unwrap();
            before += values.iter().sum::<f64>() / n as f64 / MEDIAN / 500.0;
            let rest = &values[warm.drop..];
            after += median(rest).unwrap() / MEDIAN / 500.0;
            warm.settled && warm.drop >= (1.5 * pace) as usize
        });
        println!(
            "{law:?}, {n} values rising: {before:.3} of the truth before, {after:.4} after; cut in {left}"
        );
        assert!(left >= 0.8 && before < 0.98 && (after - 1.0).abs() < 0.005, "{law:?}: {left} {after}");
    }
}
