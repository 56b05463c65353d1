//! Several disks: they add up, a stripe is as fast as its slowest disk allows, and a shared limit is found with the number
//! of disks that reaches it.

use super::*;

/// A set of disks with known properties.
struct Setting {
    name: &'static str,
    limits: &'static [Limits],
    shared: Shared,
    /// Shared limit in bytes per second.
    roof: u64,
    /// Number of disks that reaches the limit; `None`: all.
    full_with: u64,
    /// Length of the file on each disk, in bytes: enough for a sample.
    file: u64,
    also: &'static [&'static str],
}

/// Small requests, and writes.
const OTHERS: &str = "
    [[experiment.grid]]
    action = 'devices'
    strategy = ['method=uring,cache=direct,depth=8,workers=1']
    request = ['4K']
    targets = [2]
    [[experiment.grid]]
    action = 'devices'
    direction = 'write'
    strategy = ['method=uring,cache=direct,depth=8,workers=1']
    request = ['64K']
    targets = [2]
";

/// Each of two disks alone.
const ALONE: &str = "
    [[experiment.grid]]
    action = 'devices'
    mode = 'alone'
    strategy = ['method=uring,cache=direct,depth=8,workers=1']
    request = ['64K']
    targets = [1, 2]
";

/// Large requests, deep enough for every disk to be busy all the time.
const STRIPED: &str = "
    [[experiment.grid]]
    action = 'devices'
    mode = 'striped'
    chunk = '64K'
    strategy = ['method=uring,cache=direct,depth=32,workers=1']
    request = ['256K']
    targets = ['{directories}']
";

const FREE: Setting = Setting {
    name: "",
    limits: &[],
    shared: Shared::Nothing,
    roof: u64::MAX,
    full_with: 2,
    file: 64 << 20,
    also: &[STRIPED],
};

const SETTINGS: &[Setting] = &[
    Setting { name: "two alike", limits: &[(16_000_000, 1000); 2], file: 96 << 20, also: &[OTHERS], ..FREE },
    Setting {
        name: "two unlike",
        limits: &[(10_000_000, 1000), (20_000_000, 1500)],
        file: 112 << 20,
        also: &[ALONE, STRIPED],
        ..FREE
    },
    Setting { name: "four", limits: &[(10_000_000, 1000); 4], full_with: 4, ..FREE },
    Setting {
        name: "four on a bus",
        limits: &[(10_000_000, 1000); 4],
        shared: Shared::Bus((25_000_000, UNLIMITED)),
        roof: 25_000_000,
        full_with: 3,
        ..FREE
    },
    Setting {
        name: "four directories of one disk",
        limits: &[(12_000_000, 2000); 4],
        shared: Shared::Disk,
        roof: 12_000_000,
        full_with: 1,
        file: 72 << 20,
        also: &[],
    },
];

fn experiments(setting: &Setting) -> String {
    let counts: Vec<String> = (1..=setting.limits.len()).map(|count| count.to_string()).collect();
    format!(
        "
        [[experiment]]
        name = 'devices'
        title = 'Disks added one by one'
        axis = 'targets'
        [[experiment.grid]]
        action = 'devices'
        strategy = ['method=uring,cache=direct,depth=8,workers=1']
        request = ['64K']
        targets = [{}]
        {}
        ",
        counts.join(", "),
        setting.also.concat(),
    )
    .replace("action = 'devices'", "action = 'devices'\nramp_seconds = 0.4\nsample_seconds = 6.0")
}

#[test]
fn disks_add_up_to_their_shared_limit() {
    let test = "several_disks::disks_add_up_to_their_shared_limit";
    prove(
        MeterOptions { test, seconds: 115, precision: 0.02 },
        SETTINGS,
        |setting| setting.name.into(),
        |setting| Lab::new(setting.limits, setting.shared, setting.file),
        experiments,
        judge,
    );
}

/// The limit of a cell's disks together, in bytes per second.
fn truth(setting: &Setting, cell: &Cell) -> f64 {
    let labels = &cell.labels;
    let request = labels.request_bytes.unwrap();
    let each = |&(bps, iops): &Limits| (iops * request.min(64 << 10)).min(bps);
    let variant = labels.variant.as_deref().unwrap();
    let used = &setting.limits[..labels.targets.unwrap() as usize];
    let sum = match variant.strip_prefix("disk ").and_then(|rest| rest.strip_suffix(" alone")) {
        Some(disk) => each(&setting.limits[disk.parse::<usize>().unwrap() - 1]),
        None if variant == "striped" => used.iter().map(each).min().unwrap() * used.len() as u64,
        None => used.iter().map(each).sum(),
    };
    sum.min(setting.roof) as f64
}

fn judge(setting: &Setting, document: &Document, judge: &mut Judge) {
    for cell in &document.cells {
        judge.near(&cell.labels.describe(), rate(cell), truth(setting, cell));
    }
    let together = |cell: &Cell| {
        let labels = &cell.labels;
        labels.variant.as_deref() == Some("together")
            && labels.request_bytes == Some(64 << 10)
            && labels.operation == "read"
    };
    let all =
        cell(document, |cell| together(cell) && cell.labels.targets == Some(setting.limits.len() as u32));
    // Each disk's share of the total.
    if setting.roof == u64::MAX {
        let rates: Vec<f64> = (0..setting.limits.len())
            .map(|disk| {
                let rates: Vec<f64> = all.samples.iter().map(|sample| sample.streams[disk]).collect();
                median(&rates).unwrap()
            })
            .collect();
        let total: f64 = rates.iter().sum();
        let truth: u64 = setting.limits.iter().map(|(bps, _)| bps).sum();
        for (rate, (bps, _)) in rates.into_iter().zip(setting.limits) {
            // The first to finish uses the rest of its throttle slice and appears faster.
            let (share, truth) = (rate / total, *bps as f64 / truth as f64);
            judge.holds("each disk has its share", (share / truth - 1.0).abs() < 0.06);
        }
    }
    let found = &document.findings.saturation;
    let found = found.iter().find(|found| found.steps.iter().any(|step| step.cell == all.id)).unwrap();
    judge.holds(
        &format!("full with {}, found {}", setting.full_with, found.at),
        found.at == setting.full_with,
    );
    judge.holds("saturation is found", found.still_rising == (setting.roof == u64::MAX));
    for step in &found.steps {
        let free: u64 = setting.limits[..step.targets as usize].iter().map(|(bps, _)| bps).sum();
        let scaling = free.min(setting.roof) as f64 / free as f64;
        judge.near(&format!("scaling to {}", step.targets), step.efficiency.unwrap(), scaling);
    }
}
