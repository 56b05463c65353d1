//! The model: fitted to some sizes, depths and numbers of disks, it predicts others, of disks with known limits.

use super::*;

use fullbore_bench::model::{Model, Query};

struct Setting {
    limits: &'static [Limits],
    shared: Shared,
    /// Shared limit in bytes per second.
    roof: u64,
}

const SETTINGS: &[Setting] = &[
    Setting { limits: &[(16_000_000, 1000); 1], shared: Shared::Nothing, roof: u64::MAX },
    Setting { limits: &[(12_000_000, 600); 2], shared: Shared::Nothing, roof: u64::MAX },
    Setting {
        limits: &[(10_000_000, 1000); 4],
        shared: Shared::Bus((25_000_000, UNLIMITED)),
        roof: 25_000_000,
    },
];

/// Sizes in KiB and depths of the measured cells.
const MEASURED: ([u64; 3], [u32; 2]) = ([4, 32, 256], [4, 16]);
/// Sizes in KiB and depths of the predicted ones.
const PREDICTED: ([u64; 4], [u32; 2]) = ([8, 16, 64, 128], [6, 12]);

fn experiments(setting: &Setting) -> String {
    let all = setting.limits.len();
    let grid = |sizes: &[u64], targets: &[usize]| {
        let sizes: Vec<String> = sizes.iter().map(|size| format!("'{size}K'")).collect();
        format!(
            "
            [[experiment.grid]]
            action = 'devices'
            strategy = ['method=uring,cache=direct,workers=1']
            request = [{}]
            depth = {:?}
            targets = {targets:?}
            ramp_seconds = 0.4
            sample_seconds = 3.0
            ",
            sizes.join(", "),
            MEASURED.1,
        )
    };
    let mut grids = grid(&MEASURED.0, &[1]);
    if all > 1 {
        // The last number of disks is predicted, unless it shows their bus.
        let counts: Vec<usize> = (2..=all).filter(|count| *count != 3).collect();
        grids += &grid(&MEASURED.0[1..], &counts);
    }
    format!("[[experiment]]\nname = 'devices'\ntitle = 'Model'\naxis = 'targets'\n{grids}")
}

#[test]
fn unmeasured_requests_of_known_disks_are_predicted() {
    let test = "model::unmeasured_requests_of_known_disks_are_predicted";
    prove(
        MeterOptions { test, seconds: 115, precision: 0.02 },
        SETTINGS,
        |setting| format!("{} disks", setting.limits.len()),
        |setting| Lab::new(setting.limits, setting.shared, 64 << 20),
        experiments,
        judge,
    );
}

fn judge(setting: &Setting, document: &Document, judge: &mut Judge) {
    let all = setting.limits.len() as u32;
    let measured: Vec<&Cell> = document.cells.iter().filter(|cell| cell.summary.is_some()).collect();
    let model = Model::fit(measured, document.environment.logical_cpus);
    let (mut near, mut count) = (0, 0);
    for (size, depth) in PREDICTED.0.into_iter().flat_map(|size| PREDICTED.1.map(|depth| (size, depth))) {
        for disks in 1..=all {
            let words = [format!("request={size}K"), format!("depth={depth}"), "cache=direct".into()];
            let query = Query { disks: Some(disks), ..Query::parse("read", &words).unwrap() };
            let (bps, iops) = setting.limits[0];
            let truth = (((iops * size) << 10).min(bps) * u64::from(disks)).min(setting.roof) as f64;
            let found = model.predict(&query).unwrap();
            let ratio = found.rate.value / truth;
            println!("{size} KiB, depth {depth}, {disks} disks: {ratio:.3} of the truth, {found:?}");
            near += usize::from((ratio - 1.0).abs() <= 0.1);
            count += 1;
        }
    }
    println!("{all} disks: {near} of {count} predictions within 10% of the truth");
    judge.holds("95% of the predictions are within 10% of the truth", near * 100 >= count * 95);
}
