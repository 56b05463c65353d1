//! Changes within a series: change points, rare in steady series and at the right place in others; levels, as many as put
//! in, with shares and intervals that hold them; and warm-up, after which the mean is that of the steady state.

use fullbore_bench::stats::{
    Bootstrap, ChangePoint, Changes, Xoshiro256, change_points, find_modes, levels, median, warm_up,
};
use fullbore_testkit::cases;

use crate::laws::{INDEPENDENT, Law, MEDIAN, bootstrap, share, within};

fn found(values: &[f64], run: u64) -> Changes {
    change_points(values, &bootstrap(run, 500)).unwrap()
}

#[test]
fn steady_series_have_none() {
    let correlated = [0.2, 0.4].map(Law::Correlated);
    let laws = INDEPENDENT.into_iter().chain([Law::EvenLevels]).chain(correlated);
    let every = laws.flat_map(|law| [10, 20, 60].map(|n| (law, n)));
    for (law, n) in cases("steady series", 4, every) {
        let runs = if n == 60 { 200 } else { 1000 };
        let wrong = share(runs, 10, |run, rng| !found(&law.draw(n, rng), run).points.is_empty());
        let most = if matches!(law, Law::Correlated(rho) if rho > 0.3) { 0.06 } else { 0.03 };
        within(..=most, wrong, format!("{law:?}, {n} samples with change points"));
    }
}

/// Checks the share of runs in which exactly the changes put in are found, within one sample of their place.
fn right(name: &str, law: Law, parts: &[(usize, f64)], least: f64) {
    let n = parts.iter().map(|part| part.0).sum();
    let share = share(200, 11, |run, rng| {
        let mut values = law.draw(n, rng);
        let mut truth = Vec::new();
        let mut at = 0;
        for &(length, factor) in parts {
            values[at..at + length].iter_mut().for_each(|v| *v *= factor);
            at += length;
            truth.push(at);
        }
        truth.pop();
        let places: Vec<usize> = found(&values, run).points.iter().map(|point| point.at).collect();
        places.len() == truth.len() && places.iter().zip(&truth).all(|(a, b)| a.abs_diff(*b) <= 1)
    });
    within(least.., share, format!("{name}, {law:?}: right"));
}

#[test]
fn changes_are_found_at_their_place() {
    let noisy = Law::Normal(5.0);
    right("30% in the middle of 20", noisy, &[(10, 1.0), (10, 0.7)], 0.97);
    right("30% in the middle of 12", noisy, &[(6, 1.0), (6, 0.7)], 0.93);
    right("30% before the last 5 of 20", noisy, &[(15, 1.0), (5, 0.7)], 0.95);
    right("30% for 6 of 20", noisy, &[(7, 1.0), (6, 0.7), (7, 1.0)], 0.95);
    right("two steps in 24", noisy, &[(8, 1.0), (8, 0.8), (8, 0.6)], 0.9);
    right("30% in the middle of 20", Law::Heavy(3.0), &[(10, 1.0), (10, 0.7)], 0.93);
}

#[test]
fn a_change_has_both_levels_and_its_size() {
    let mut rng = Xoshiro256::seeded(3);
    let mut values = Law::Normal(5.0).draw(30, &mut rng);
    values[15..].iter_mut().for_each(|v| *v *= 0.7);
    // A missing value and an outlier have no effect.
    values.insert(4, f64::NAN);
    values[22] = 400.0;
    let changes = found(&values, 0);
    let [ChangePoint { at, p, relative_change }] = changes.points[..] else { panic!("{changes:?}") };
    assert_eq!(at, 16);
    assert!(p < 0.01 && (relative_change + 0.3).abs() < 0.05 && changes.points[0].matters());
    let [before, after] = changes.segments[..] else { panic!("{changes:?}") };
    assert_eq!((before.from, before.to, after.from, after.to), (0, 16, 16, 31));
    assert!(before.level.contains(100.0) && after.level.contains(70.0), "{changes:?}");
    assert!(!changes.drifts);
}

#[test]
fn the_probability_is_the_one_of_all_orders() {
    // Five high and five low values: of the 252 orders two are as clear.
    let values: Vec<f64> = (0..10).map(|i| if i < 5 { 100.0 } else { 50.0 }).collect();
    let changes = change_points(&values, &Bootstrap { resamples: 40_000, ..Bootstrap::default() }).unwrap();
    assert_eq!(changes.points.len(), 1);
    assert_eq!(changes.points[0].relative_change, -0.5);
    // In reverse, and from zero, the jump is as clear.
    let from_nothing: Vec<f64> = values.iter().rev().map(|v| v - 50.0).collect();
    let found = change_points(&from_nothing, &Bootstrap { resamples: 40_000, ..Bootstrap::default() });
    assert_eq!(found.unwrap().points[0].relative_change, 1.0);
    assert!((changes.points[0].p - 2.0 / 252.0).abs() < 0.002, "{changes:?}");
}

#[test]
fn drift_is_not_reported_as_steps() {
    let steps = share(200, 12, |run, rng| {
        let changes = found(&Law::Drifting.draw(40, rng), run);
        !changes.points.is_empty() && !changes.drifts
    });
    let drifts = share(200, 13, |run, rng| {
        let mut values = Law::Normal(5.0).draw(40, rng);
        values[20..].iter_mut().for_each(|v| *v *= 0.7);
        found(&values, run).drifts
    });
    within(..=0.2, steps, "a drift of 20% called steps");
    within(..=0.02, drifts, "a step called drift");
}

#[test]
fn long_series_are_searched_quickly_and_exactly() {
    let mut rng = Xoshiro256::seeded(4);
    let mut values = Law::Normal(5.0).draw(3000, &mut rng);
    values[1111..2222].iter_mut().for_each(|v| *v *= 0.8);
    let places: Vec<usize> = found(&values, 0).points.iter().map(|point| point.at).collect();
    assert_eq!(places.len(), 2, "{places:?}");
    assert!(places[0].abs_diff(1111) <= 1 && places[1].abs_diff(2222) <= 1, "{places:?}");
    assert!(change_points(&values[..9], &Bootstrap::default()).is_none());
    assert!(found(&[5.0; 30], 0).points.is_empty());
}

#[test]
fn a_single_hump_has_none() {
    for law in INDEPENDENT.into_iter().filter(|law| *law != Law::TwoLevels) {
        for n in [8, 12, 20, 50] {
            let mut two = 0_u16;
            let wrong = share(1000, 30, |run, rng| {
                // Spread by half of the median, so that the 10% threshold does not help.
                let wide: Vec<f64> = law.draw(n, rng).iter().map(|v| MEDIAN + 3.0 * (v - MEDIAN)).collect();
                two += u16::from(find_modes(&wide).is_some());
                !levels(&wide, &bootstrap(run, 300)).is_empty()
            });
            within(..=0.05, wrong, format!("{law:?}, {n} samples taken for several levels"));
            within(..=0.01, f64::from(two) / 1000.0, format!("{law:?}, {n} samples taken for two modes"));
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
            let draw = |rng: &mut Xoshiro256, i: usize| truth[i % truth.len()] * (1.0 + 0.03 * rng.normal());
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

#[test]
fn steady_series_are_kept() {
    for law in INDEPENDENT.into_iter().chain([Law::Correlated(0.4)]) {
        for n in [12, 20, 60] {
            let mut dropped = 0;
            let unsettled = share(1000, 40, |_, rng| {
                let warm = warm_up(&law.draw(n, rng)).unwrap();
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
    for (law, n, pace) in [(Law::Normal(2.0), 30, 3.0), (Law::Heavy(2.0), 40, 3.0)] {
        let (mut before, mut after) = (0.0, 0.0);
        let left = share(500, 41, |_, rng| {
            let values = rising(law, n, pace, rng);
            let warm = warm_up(&values).unwrap();
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
