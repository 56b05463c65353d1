//! Warm-up: steady values are kept, a rise is excluded, and the mean after it is that of the steady state.

use fullbore_bench::stats::{OnlineWarmUp, median, warm_up};

use crate::laws::{INDEPENDENT, Law, MEDIAN, share};

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
            let share = dropped as f64 / 1000.0 / n as f64;
            println!(
                "{law:?}, {n} values: {:.1} % called unsettled, {:.1} % dropped",
                100.0 * unsettled,
                100.0 * share
            );
            assert!(unsettled <= 0.2 && share <= 0.2, "{law:?}, {n}: {unsettled} {share}");
        }
    }
}

/// A rate that rises to the median from half of it, by a factor of e nearer every `pace` values.
fn rising(law: Law, n: usize, pace: f64, rng: &mut fullbore_bench::stats::Xoshiro256) -> Vec<f64> {
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

#[test]
fn online_warm_up_agrees_with_offline() {
    let mut asked = 0.0;
    let right = share(500, 42, |_, rng| {
        let values = rising(Law::Normal(2.0), 100, 4.0, rng);
        let mut online = OnlineWarmUp::new(1, 8);
        let stop = values.iter().position(|&v| online.push(v).is_some()).unwrap_or(99);
        asked += stop as f64 / 500.0;
        let last = &online.values()[online.values().len() - 8..];
        (median(last).unwrap() / MEDIAN - 1.0).abs() < 0.03
    });
    println!("settling within e^-1 every 4 values: said after {asked:.1}, true in {:.1} %", 100.0 * right);
    assert!(right >= 0.9 && asked < 40.0, "{right} {asked}");
}
