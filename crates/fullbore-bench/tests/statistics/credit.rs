//! Credits: the parameters of simulated buckets, and none where there is none.

use fullbore_bench::stats::{Course, CreditFit, Estimate, Stretch, Xoshiro256, fit_credit};

use crate::laws::{Law, share};

/// Length of a slice and of a step of the simulation, in seconds.
const SLICE: f64 = 0.05;
const STEP: f64 = 0.001;

/// A device with a credit: `burst` while there is credit, `sustained` after; idle time adds `refill` a second up to
/// `credit`.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    burst: f64,
    sustained: f64,
    credit: f64,
    refill: f64,
    /// Credit at the start.
    level: f64,
    /// Standard deviation of the rate of a slice, as a share.
    noise: f64,
}

impl Bucket {
    fn new(burst: f64, sustained: f64, credit: f64, refill: f64) -> Self {
        Self { burst, sustained, credit, refill, level: credit, noise: 0.0 }
    }

    /// Transfers for `seconds`, in steps of a millisecond.
    fn transfer(&mut self, seconds: f64, rng: &mut Xoshiro256) -> Vec<u64> {
        let steps = (SLICE / STEP).round() as usize;
        let slices = (seconds / SLICE).round() as usize;
        let mut slice = |bucket: &mut Self| {
            let speed = (1.0 + bucket.noise * rng.normal()).max(0.0);
            let step = |bucket: &mut Self| {
                let spent = (bucket.level > 0.0).then_some(bucket.burst - bucket.sustained);
                bucket.level -= spent.unwrap_or(0.0) * STEP * speed;
                STEP * speed * if spent.is_some() { bucket.burst } else { bucket.sustained }
            };
            (0..steps).map(|_| step(bucket)).sum::<f64>() as u64
        };
        (0..slices).map(|_| slice(self)).collect()
    }

    fn idle(&mut self, seconds: f64) {
        self.level = (self.level.max(0.0) + self.refill * seconds).min(self.credit);
    }

    /// A stretch of `first` seconds, and longer ones than the credit lasts after `idle` periods.
    fn course(mut self, first: f64, idle: &[f64], rng: &mut Xoshiro256) -> Vec<Stretch> {
        let mut stretches = vec![Stretch { idle_s: 0.0, bytes: self.transfer(first, rng) }];
        for &idle_s in idle {
            self.idle(idle_s);
            let spending = self.level / (self.burst - self.sustained);
            let bytes = self.transfer((3.0 * spending).max(1.0), rng);
            stretches.push(Stretch { idle_s, bytes });
        }
        stretches
    }
}

fn fitted(stretches: Vec<Stretch>) -> CreditFit {
    fit_credit(&Course { slice_s: SLICE, round_s: 0.5, stretches }, 0.95).unwrap()
}

/// Buckets of several proportions: a cloud volume, a cache of single-level cells, a small write cache, one larger than
/// what idle time refills.
const BUCKETS: [(f64, f64, f64, f64); 5] = [
    (40e6, 10e6, 60e6, 10e6),
    (3.3e9, 1.1e9, 4e9, 0.3e9),
    (100e6, 80e6, 30e6, 20e6),
    (500e6, 50e6, 200e6, 300e6),
    (20e6, 4e6, 80e6, 3e6),
];

const IDLE: [f64; 4] = [0.5, 1.0, 2.0, 4.0];

#[test]
fn exact_buckets_are_found_within_two_percent() {
    for (burst, sustained, credit, refill) in BUCKETS {
        let bucket = Bucket::new(burst, sustained, credit, refill);
        let mut rng = Xoshiro256::seeded(1);
        let fit = fitted(bucket.course(10.0, &IDLE, &mut rng));
        let found = fit.burst.as_ref().unwrap_or_else(|| panic!("{bucket:?}: {fit:?}"));
        let refilled = found.refill.as_ref().unwrap();
        println!("{bucket:?}\n {:?} {found:?}", fit.sustained);
        let near = |found: f64, truth: f64| (found / truth - 1.0).abs() < 0.02;
        assert!(near(fit.sustained.value, sustained) && near(found.rate.value, burst), "{bucket:?} {fit:?}");
        assert!(near(found.credit.value, credit), "{bucket:?} {fit:?}");
        assert!(!refilled.at_least && near(refilled.rate.value, refill), "{bucket:?} {fit:?}");
        assert_eq!(found.full, refill * IDLE[3] >= credit);
        let lasts = burst * credit / (burst - sustained);
        assert!(near(found.lasts(fit.sustained.value), lasts) && fit.steady, "{bucket:?} {fit:?}");
    }
}

#[test]
fn intervals_hold_the_parameters_of_noisy_buckets() {
    for (burst, sustained, credit, refill) in BUCKETS {
        let bucket = Bucket { noise: 0.03, ..Bucket::new(burst, sustained, credit, refill) };
        let mut held = [0.0; 4];
        let mut within = [0.0; 4];
        const RUNS: u64 = 200;
        for run in 0..RUNS {
            let mut rng = Xoshiro256::seeded(run);
            let fit = fitted(bucket.course(12.0, &IDLE, &mut rng));
            let found = fit.burst.unwrap_or_else(|| panic!("{bucket:?}, {run}"));
            let pairs: [(Estimate, f64); 4] = [
                (fit.sustained, sustained),
                (found.rate, burst),
                (found.credit, credit),
                (found.refill.unwrap().rate, refill),
            ];
            for (i, (estimate, truth)) in pairs.into_iter().enumerate() {
                held[i] += f64::from(u8::from(estimate.contains(truth))) / RUNS as f64;
                within[i] += f64::from(u8::from((estimate.value / truth - 1.0).abs() < 0.1)) / RUNS as f64;
            }
        }
        println!("{bucket:?}: held {held:.2?}, within 10% {within:.2?}");
        assert!(held.iter().all(|share| *share >= 0.9), "{bucket:?}: {held:?}");
        assert!(within.iter().all(|share| *share >= 0.9), "{bucket:?}: {within:?}");
    }
}

#[test]
fn a_bucket_empty_at_the_start_is_found_after_idle_periods() {
    let bucket = Bucket { level: 0.0, ..Bucket::new(40e6, 10e6, 30e6, 10e6) };
    let fit = fitted(bucket.course(5.0, &[0.5, 1.0, 2.0, 4.0, 8.0], &mut Xoshiro256::seeded(1)));
    let burst = fit.burst.unwrap();
    assert!((burst.credit.value / 30e6 - 1.0).abs() < 0.02, "{burst:?}");
    assert!((burst.refill.unwrap().rate.value / 10e6 - 1.0).abs() < 0.02);
    assert!(burst.full);
}

#[test]
fn a_refill_faster_than_the_idle_periods_is_a_lower_bound() {
    let bucket = Bucket::new(40e6, 10e6, 30e6, 90e6);
    let refill = fitted(bucket.course(5.0, &IDLE, &mut Xoshiro256::seeded(1))).burst.unwrap().refill.unwrap();
    assert!(refill.at_least && refill.rate.value <= 90e6 && refill.rate.value >= 59e6, "{refill:?}");
}

#[test]
fn a_fall_that_idle_time_does_not_undo_has_no_refill() {
    let bucket = Bucket::new(40e6, 10e6, 60e6, 0.0);
    let refill = fitted(bucket.course(5.0, &IDLE, &mut Xoshiro256::seeded(1))).burst.unwrap().refill.unwrap();
    assert!(!refill.at_least && refill.rate.value < 0.1e6, "{refill:?}");
}

#[test]
fn two_caches_are_two_steps() {
    let bytes =
        [(30, 200), (60, 100), (200, 50)].iter().flat_map(|&(n, rate)| vec![rate * 1000; n]).collect();
    let fit = fitted(vec![Stretch { idle_s: 0.0, bytes }]);
    let steps: Vec<(f64, f64)> = fit.steps.iter().map(|step| (step.to_s, step.rate)).collect();
    assert_eq!(steps.iter().map(|step| (step.0 / SLICE).round()).collect::<Vec<_>>(), [30.0, 90.0, 290.0]);
    let burst = fit.burst.unwrap();
    // 150 · 30 + 50 · 60 beyond the last level.
    assert!((burst.credit.value / 7.5e6 - 1.0).abs() < 1e-6, "{burst:?}");
    assert!((burst.rate.value / 4e6 - 1.0).abs() < 1e-6 && burst.refill.is_none());
}

/// The rate falls, and then alternates between two levels every half second.
#[test]
fn a_fall_to_a_rate_that_is_not_steady_is_no_burst() {
    let fit = |levels: [u64; 2]| {
        let after = |slice: u64| levels[(slice / 10 % 2) as usize] * 1000 + slice * 7 % 5;
        let bytes = (0..60).map(|_| 300_000).chain((0..200).map(after)).collect();
        fitted(vec![Stretch { idle_s: 0.0, bytes }])
    };
    let steady = fit([95, 95]);
    assert!(steady.burst.is_some() && steady.steady && steady.steps.len() == 2, "{steady:?}");
    let varying = fit([80, 110]);
    assert!(varying.burst.is_none() && !varying.steady, "{varying:?}");
    // One rate, that of the whole stretch.
    assert_eq!(varying.steps.len(), 1, "{varying:?}");
    assert!(varying.sustained.value > 95e3 / SLICE, "{varying:?}");
}

/// Bytes of a throttle that grants the budget of `period` at once, the unused one of the period before included, to a
/// device of `speed`; `unused` periods are saved at the start.
fn throttled(rate: f64, speed: f64, period: f64, unused: f64, seconds: f64) -> Vec<u64> {
    let (mut budget, mut next) = (rate * period * unused, 0.0);
    let slice = |number: usize| {
        let mut moved = 0.0;
        for step in 0..(SLICE / STEP) as usize {
            let now = number as f64 * SLICE + step as f64 * STEP;
            if now >= next {
                budget = (budget + rate * period).min(2.0 * rate * period);
                next += period;
            }
            let here = (speed * STEP).min(budget);
            budget -= here;
            moved += here;
        }
        moved as u64
    };
    (0..(seconds / SLICE) as usize).map(slice).collect()
}

#[test]
fn accounting_periods_are_no_burst() {
    for (speed, unused) in [(1e9, 1.0), (1e9, 0.0), (60e6, 1.0), (45e6, 1.0)] {
        for period in [0.1, 0.13, 0.02] {
            let stretch = |idle_s| Stretch { idle_s, bytes: throttled(37e6, speed, period, unused, 8.0) };
            let fit = fitted([0.0, 1.0, 2.0].map(stretch).into());
            assert!(fit.burst.is_none(), "{speed} {unused} {period}: {fit:?}");
            assert!((fit.sustained.value / 37e6 - 1.0).abs() < 0.01, "{:?}", fit.sustained);
            assert_eq!((fit.idle_s, fit.steps.len()), (2.0, 3));
        }
    }
}

/// Rates of a storage that changes between two levels at random, on average every two seconds.
fn wandering(n: usize, rng: &mut Xoshiro256) -> Vec<f64> {
    let mut high = rng.unit() < 0.5;
    (0..n)
        .map(|_| {
            high ^= rng.unit() < SLICE / 2.0;
            (if high { 130.0 } else { 90.0 }) + 5.0 * rng.normal()
        })
        .collect()
}

type Draw<'a> = dyn Fn(usize, &mut Xoshiro256) -> Vec<f64> + 'a;

#[test]
fn storage_without_a_bucket_has_none() {
    let laws: [(&str, &Draw<'_>, f64); 6] = [
        ("normal", &|n, rng| Law::Normal(20.0).draw(n, rng), 0.01),
        ("long tail", &|n, rng| Law::Exponential.draw(n, rng), 0.01),
        ("correlated", &|n, rng| Law::Correlated(0.4).draw(n, rng), 0.01),
        ("falling", &|n, rng| Law::Drifting.draw(n, rng).into_iter().rev().collect(), 0.05),
        ("two levels", &|n, rng| Law::EvenLevels.draw(n, rng), 0.01),
        ("wandering", &wandering, 0.1),
    ];
    for (name, draw, most) in laws {
        let wrong = share(300, 5, |_, rng| {
            let mut stretch = |idle_s, n| {
                let bytes = draw(n, rng).into_iter().map(|rate| (rate.max(0.0) * 1e5) as u64).collect();
                Stretch { idle_s, bytes }
            };
            let stretches = vec![stretch(0.0, 240), stretch(0.5, 40), stretch(1.0, 40), stretch(2.0, 60)];
            fitted(stretches).burst.is_some()
        });
        println!("{name}: {:.1} % with a burst", 100.0 * wrong);
        assert!(wrong <= most, "{name}: {wrong}");
    }
}
