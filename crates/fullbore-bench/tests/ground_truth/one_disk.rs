//! One disk: rates, half-power points, bandwidth and the cost of a request; and a disk that becomes slower during the run.

use super::*;

use fullbore_bench::stats::Law;

use super::lab::measures_here;

/// Half-power requests of 16K, 8K, 64K and 8K.
const LIMITS: [Limits; 4] = [(24_000_000, 1000), (12_000_000, 1000), (16_000_000, 150), (20_000_000, 2000)];

/// The smallest power of two that reaches half of the bandwidth, in bytes.
fn half_power((bps, iops): Limits) -> u64 {
    bps.div_ceil(2 * iops).next_power_of_two()
}

/// The experiment: sizes on both sides of the half-power request, eight in flight, so that the device and not the loop
/// device's latency decides. The throttle works in tenths of a second, so the rate of a sample is wrong by up to that
/// much: samples are long in comparison.
fn experiment(half: u64) -> String {
    format!(
        "
        [[experiment]]
        name = 'read'
        title = 'Direct reads by request size'
        axis = 'request'
        [[experiment.grid]]
        action = 'read'
        strategy = ['method=uring,cache=direct,depth=8,workers=1,model=serial']
        request = ['{}', '{}', '{}', '{}']
        ramp_seconds = 0.4
        sample_seconds = 5.0
        ",
        half / 2,
        half,
        4 * half,
        16 * half
    )
}

#[test]
fn rates_half_power_points_and_request_costs_are_those_of_the_device() {
    let test = "one_disk::rates_half_power_points_and_request_costs_are_those_of_the_device";
    prove(
        MeterOptions { test, seconds: 105, precision: 0.02 },
        &LIMITS,
        |(bps, iops)| format!("{bps} B/s, {iops}/s"),
        |limits| Lab::new(&[*limits], Shared::Nothing, 128 << 20),
        |limits| experiment(half_power(*limits)),
        judge,
    );
}

fn judge(&(bps, iops): &Limits, document: &Document, judge: &mut Judge) {
    for cell in &document.cells {
        let request = cell.labels.request_bytes.unwrap();
        judge.near(&format!("rate of {request}"), rate(cell), (iops * request).min(bps) as f64);
    }
    let findings = &document.findings;
    let found = findings.half_power_request[0].half_power;
    judge.near("bandwidth", found.peak, bps as f64);
    judge.holds("the half-power request", found.at == half_power((bps, iops)));
    let time = findings.request_times[0].time;
    judge.holds("the model is the larger of two times", time.law == Law::Larger);
    judge.near("cost of a request", time.per_request.value, 1.0 / iops as f64);
    judge.near("requests a second", 1.0 / time.per_request.value, iops as f64);
    judge.near("cost of a byte", time.per_byte.value, 1.0 / bps as f64);
    judge.near("fitted half-power request", time.half_power.value, bps as f64 / (2 * iops) as f64);
}

const CLIFF: [Limits; 2] = [(20_000_000, 2000), (8_000_000, 2000)];

#[test]
fn slowing_disk_has_a_change_point() {
    let test = "one_disk::slowing_disk_has_a_change_point";
    if measures_here() || !fullbore_testkit::runs_all("a disk that becomes slower") {
        return;
    }
    let lab = Lab::new(&CLIFF[..1], Shared::Nothing, 128 << 20);
    let Some(lab) = fullbore_testkit::or_skip("a disk of known limits", lab) else { return };
    let experiments = experiment(64 << 10)
        .replace("request = [", "request = ['64K'] # ")
        .replace("5.0", "1.0")
        .replace("0.4", "0.1");
    // Never precise enough, so it runs until its time is up.
    let child = lab.as_ref().start(MeterOptions { test, seconds: 36, precision: 1e-9 }, &experiments);
    let clock = Instant::now();
    std::thread::sleep(Duration::from_secs(17));
    lab.limit(0, CLIFF[1]);
    let changed = clock.elapsed().as_secs_f64();
    let document = lab.as_ref().finish(child);

    let [cell] = document.cells.as_slice() else { panic!("one cell") };
    let samples: Vec<_> = cell.samples.iter().filter(|sample| sample.usable()).collect();
    let rates: Vec<f64> = samples.iter().map(|sample| sample.rate()).collect();
    for sample in &samples {
        println!("{:.1} s: {} bytes in {:.2} s", sample.start_s, sample.bytes, sample.seconds);
    }
    let at = cut(&rates);
    let found = samples[at].start_s;
    println!("the limit changed after {changed:.1} s; found after {found:.1} s");
    assert!((changed - 4.0..changed + 4.0).contains(&found), "{changed} {found}");
    for (rates, (bps, _)) in [&rates[..at], &rates[at..]].into_iter().zip(CLIFF) {
        let level = median(rates).unwrap() / bps as f64;
        println!("{level:.3} of the truth");
        assert!((0.9..1.1).contains(&level), "{level}");
    }
    let summary = cell.summary.as_ref().unwrap();
    println!("{:?}", summary.flags);
    let changes = summary.changes.as_ref().unwrap();
    let points: Vec<_> = changes.points.iter().filter(|point| point.matters()).collect();
    let [point] = points.as_slice() else { panic!("one change point: {changes:?}") };
    assert!(point.at.abs_diff(at) <= 1 && !changes.drifts, "{at} {changes:?}");
    let truth = CLIFF[1].0 as f64 / CLIFF[0].0 as f64 - 1.0;
    assert!((point.relative_change - truth).abs() < 0.06, "{point:?}");
    assert!(
        summary.flags.iter().any(|flag| flag.to_string().starts_with("changed: the rate fell")),
        "{:?}",
        summary.flags
    );
}

/// The best split of a series: the parts keep closest to their means; returns the first index of the second part.
fn cut(rates: &[f64]) -> usize {
    let spread = |part: &[f64]| {
        let mean = part.iter().sum::<f64>() / part.len() as f64;
        part.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>()
    };
    let cost = |at: &usize| spread(&rates[..*at]) + spread(&rates[*at..]);
    (1..rates.len()).min_by(|one, other| cost(one).total_cmp(&cost(other))).expect("two samples or more")
}
