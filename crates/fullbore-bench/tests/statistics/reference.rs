//! Figures of another implementation: SciPy 1.17.1 and NumPy, computed once by the lines quoted (`st` is `scipy.stats`).

use fullbore_bench::stats::{
    Bootstrap, WarmUp, compare_rates, effective_samples, fit_cost_samples, half_power, lag_one, mann_kendall,
    median_absolute_deviation, warm_up,
};

const RATES: [f64; 15] =
    [512.3, 498.7, 505.1, 523.9, 489.2, 501.4, 510.8, 495.6, 530.2, 507.7, 499.9, 515.5, 503.3, 492.1, 508.6];

fn close(found: f64, expected: f64, share: f64) {
    assert!((found - expected).abs() <= share * expected.abs(), "{found} for {expected}");
}

fn fine() -> Bootstrap {
    Bootstrap { resamples: 40_000, ..Bootstrap::default() }
}

#[test]
fn interval_of_a_median() {
    // tail = st.norm.cdf(st.t.ppf(.025, 14) * (15 / 14) ** .5)
    // st.bootstrap((x,), np.median, n_resamples=200000, confidence_level=1 - 2 * tail, method='percentile')
    // gives (498.7, 512.3), and so does method='BCa' at 95%.
    let interval = fine().median(&RATES).unwrap();
    assert_eq!((interval.value, interval.low, interval.high), (505.1, 498.7, 512.3));
    // st.median_abs_deviation(x)
    close(median_absolute_deviation(&RATES).unwrap(), 6.4, 1e-12);
}

#[test]
fn interval_of_a_ratio() {
    // tail as above for 13; st.bootstrap((x, y), lambda a, b, axis: np.median(a, axis=axis) / np.median(b, axis=axis),
    // n_resamples=200000, confidence_level=1 - 2 * tail, method='percentile', paired=False)
    let other = [410.2, 402.9, 415.5, 398.8, 405.1, 420.3, 407.7, 411.9, 396.4, 409.0, 403.6, 414.4, 408.8];
    let ratio = compare_rates(&RATES, &other, 0.03, &fine()).unwrap().ratio;
    close(ratio.value, 1.235_567_514_677_103_7, 1e-12);
    close(ratio.low, 1.214_527, 0.001);
    close(ratio.high, 1.262_348, 0.001);
}

#[test]
fn trend() {
    // st.theilslopes(u, range(12)).slope * 11 / np.median(u); st.kendalltau(range(12), u, method='exact')
    let rising = [10.2, 9.8, 11.5, 12.1, 11.9, 13.4, 12.8, 14.0, 13.7, 15.2, 14.9, 16.3];
    let drift = mann_kendall(&rising).unwrap();
    close(drift.relative_change, 0.451_835_696_110_505_34, 1e-12);
    close(drift.tau, 0.848_484_848_484_848_4, 1e-12);
    close(drift.p, 1.634_232_537_010_314_8e-5, 1e-9);
    let steady = mann_kendall(&RATES).unwrap();
    close(steady.relative_change, -0.006_929_320_926_548_936, 1e-9);
    close(steady.p, 0.922_570_090_495_189_7, 1e-12);
}

#[test]
fn correlation_of_neighbours() {
    // rk = st.rankdata(y) - (n + 1) / 2; r = 2 * np.sin(np.pi / 6 * (rk[:-1] * rk[1:]).sum() / (rk ** 2).sum());
    // r + (1 + 4 * r) / n, and n * (1 - r) / (1 + r) of it with r <= 0.9
    let wave = [1.0, 1.4, 1.9, 2.2, 2.0, 1.7, 1.2, 0.9, 0.8, 1.1, 1.6, 2.1, 2.3, 1.8, 1.5, 1.3];
    close(lag_one(&wave).unwrap(), 0.901_552_050_654_298_8, 1e-12);
    assert_eq!(effective_samples(&wave), 1);
    close(lag_one(&RATES).unwrap(), -0.506_286_164_027_118_8, 1e-12);
    assert_eq!(effective_samples(&RATES), 15);
}

#[test]
fn warm_up_by_the_standard_error() {
    // min(range(11), key=lambda k: np.var(w[k:]) / len(w[k:])); no values in the later half are far off.
    let ramp = [
        61.0, 75.2, 88.9, 95.1, 97.3, 99.8, 100.4, 98.9, 101.2, 100.1, 99.5, 100.9, 99.2, 100.6, 101.1, 99.9,
        100.3, 98.7, 100.8, 99.6,
    ];
    assert_eq!(warm_up(&ramp), Some(WarmUp { drop: 5, settled: true }));
}

#[test]
fn cost_line_of_samples() {
    // fit(y): X = [1, sizes]; W = diag(1 / y²); inv(X'WX) X'Wy of the medians;
    // 100000 times of np.median(rng.choice(d, 9)) of each size; quantiles at tail and 1 - tail, where
    // tail = st.norm.cdf(st.t.ppf(.025, 26) * (27 / 26) ** .5)
    let points = [
        (4096.0, vec![21.9, 21.1, 22.4, 20.8, 21.5, 21.2, 23.0, 21.7, 20.9]),
        (65536.0, vec![40.2, 41.0, 39.1, 40.6, 39.7, 42.3, 40.9, 38.8, 40.1]),
        (1_048_576.0, vec![331.0, 340.2, 329.5, 347.0, 333.9, 338.1, 330.8, 336.7, 335.2]),
    ];
    let line = fit_cost_samples(&points, &fine()).unwrap();
    close(line.per_request.value, 20.311_846_5, 1e-8);
    close(line.per_byte.value, 3.009_457_59e-4, 1e-8);
    close(line.per_request.low, 19.800_684_4, 0.002);
    close(line.per_request.high, 21.063_543_8, 0.002);
    close(line.per_byte.low, 2.959_787_17e-4, 0.002);
    close(line.per_byte.high, 3.059_943_95e-4, 0.002);
}

#[test]
fn half_power_crossing() {
    // 200000 times of np.median(rng.choice(v, 7)) of each size; plateau: medians within the root of both variances
    // of the largest (the last two); log2 interpolation of half of its mean; quantiles at tail and 1 - tail for 7.
    let curve = [
        (4096, vec![8.1, 8.3, 7.9, 8.0, 8.4, 8.2, 8.1]),
        (16384, vec![30.5, 31.2, 29.8, 30.9, 32.0, 30.1, 31.5]),
        (65536, vec![80.2, 82.5, 79.1, 81.7, 80.8, 83.0, 79.9]),
        (262_144, vec![99.0, 101.2, 100.3, 98.5, 102.2, 100.9, 99.7]),
        (1_048_576, vec![100.1, 99.2, 101.8, 100.7, 98.9, 102.5, 100.4]),
    ];
    let crossing = half_power(&curve, &fine()).unwrap().crossing.unwrap();
    close(crossing.value, 27_988.471_688, 1e-9);
    close(crossing.low, 27_029.0, 0.002);
    close(crossing.high, 28_903.0, 0.002);
}
