//! Disks whose limiter accounts in tenths of a second, measured without any setting of sample lengths: short samples
//! would measure what the limiter lets through at once.

use super::*;

/// Greatest relative error of a rate.
const TOLERANCE: f64 = 0.05;

/// Smallest share of the intervals that hold the true rate.
const COVERAGE: f64 = 0.93;

struct Setting {
    name: &'static str,
    limits: &'static [Limits],
}

const SETTINGS: &[Setting] = &[
    Setting { name: "one disk", limits: &[(37_000_000, 900)] },
    Setting { name: "three disks", limits: &[(37_000_000, 900); 3] },
    Setting { name: "slow disk", limits: &[(8_000_000, 250)] },
];

/// Sizes around the half-power request, and all disks together.
const EXPERIMENTS: &str = "
    [[experiment]]
    name = 'read'
    title = 'Direct reads by request size'
    axis = 'request'
    [[experiment.grid]]
    action = 'read'
    strategy = ['method=uring,cache=direct,depth=8,workers=1,model=serial']
    request = ['16K', '32K', '64K', '512K']

    [[experiment]]
    name = 'devices'
    title = 'Disks added one by one'
    axis = 'targets'
    [[experiment.grid]]
    action = 'devices'
    strategy = ['method=uring,cache=direct,depth=8,workers=1']
    request = ['64K']
    direction = ['read', 'write']
    targets = [{targets}]
    [[experiment.grid]]
    action = 'devices'
    strategy = ['method=uring,cache=direct,depth=8,workers=1']
    request = ['8K']
    direction = ['write']
    targets = [1]
";

#[test]
fn samples_of_default_length_have_the_sustained_rate() {
    let test = "default_lengths::samples_of_default_length_have_the_sustained_rate";
    // Of all attempts, so that an attempt repeated for another reason does not hide intervals that are too narrow.
    let coverage = Coverage::default();
    prove(
        MeterOptions { test, seconds: 120, precision: 0.025 },
        SETTINGS,
        |setting| setting.name.into(),
        |setting| Lab::new(setting.limits, Shared::Nothing, 96 << 20),
        |setting| {
            let targets: Vec<String> = (1..=setting.limits.len()).map(|disks| disks.to_string()).collect();
            EXPERIMENTS.replace("{targets}", &targets.join(", "))
        },
        |setting, document, judging| judge(setting, document, judging, &coverage),
    );
    let (held, measured) = (coverage.held.get(), coverage.measured.get());
    assert!(f64::from(held) >= COVERAGE * f64::from(measured), "{held} of {measured} intervals");
}

/// Intervals that hold the true rate, of those measured.
#[derive(Default)]
struct Coverage {
    held: std::cell::Cell<u32>,
    measured: std::cell::Cell<u32>,
}

/// The limit of a cell, in bytes per second.
fn truth(setting: &Setting, cell: &Cell) -> f64 {
    let request = cell.labels.request_bytes.unwrap();
    let used = &setting.limits[..cell.labels.targets.unwrap_or(1) as usize];
    used.iter().map(|&(bps, iops)| (iops * request).min(bps)).sum::<u64>() as f64
}

fn judge(setting: &Setting, document: &Document, judge: &mut Judge, coverage: &Coverage) {
    judge.tolerance = TOLERANCE;
    let (mut held, mut measured) = (0, 0);
    for cell in document.cells.iter().filter(|cell| cell.summary.is_some()) {
        let (truth, label) = (truth(setting, cell), cell.labels.describe());
        judge.near(&label, rate(cell), truth);
        let summary = cell.summary.as_ref().unwrap();
        judge.holds(&format!("{label}: sustained"), summary.regime == Some(Regime::Sustained));
        measured += 1;
        held += u32::from(summary.rate.contains(truth));
    }
    judge.holds("at most two cells are left out", measured + 2 >= document.cells.len() as u32);
    coverage.held.update(|all| all + held);
    coverage.measured.update(|all| all + measured);
    println!("{}: {held} of {measured} intervals hold the truth", setting.name);
    judge.holds("intervals hold the truth", f64::from(held) >= COVERAGE * f64::from(measured));
    let limits = &document.findings.limits;
    let limit = |operation: &str| {
        limits.iter().find(|limit| limit.operation == operation).cloned().unwrap_or_default()
    };
    let (bps, iops) = setting.limits[0];
    for limit in [limit("read"), limit("write")] {
        let [bytes, requests] = [limit.sustained, limit.requests_per_s].map(|found| found.unwrap_or(0.0));
        judge.near(&format!("{limit:?}: bytes per second"), bytes, bps as f64);
        judge.near(&format!("{limit:?}: requests per second"), requests, iops as f64);
        judge.holds(
            // A request of 1 MiB takes the slow disk longer than a tenth of a second.
            &format!("{limit:?}: a period of 0.1 s or of a request"),
            limit.period_s.is_some_and(|period| (0.08..0.15).contains(&period)),
        );
    }
    let half = &document.findings.half_power_request[0].half_power;
    judge.holds(
        &format!("half-power request {}", half.at),
        half.at == bps.div_ceil(2 * iops).next_power_of_two(),
    );
}
