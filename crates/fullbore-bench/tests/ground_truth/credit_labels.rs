//! Ordinary cells on a disk with a credit that lasts longer than the search for limiters: no sample above the sustained rate
//! may be called sustained.

use super::*;

/// At the burst rate its credit lasts for a second and a half.
const DISK: Bucket = Bucket { requests: false, burst: 36e6, sustained: 12e6, credit: 36e6, refill: 8e6 };

/// Greatest ratio of a sustained sample to the sustained rate: a tenth is the margin of the regimes.
const MOST: f64 = 1.15;

const ORDINARY: &str = "
    [[experiment]]
    name = 'ordinary'
    title = 'Direct reads and writes'
    axis = 'request'
    [[experiment.grid]]
    action = 'read'
    strategy = ['method=uring,cache=direct,depth=8,workers=1,model=serial']
    request = ['64K', '512K']
    [[experiment.grid]]
    action = 'write'
    strategy = ['method=uring,cache=direct,depth=8,workers=1,model=serial']
    request = ['64K', '512K']
";

const SUSTAINED: &str = "
    [[experiment]]
    name = 'sustained'
    title = 'Sustained'
    axis = 'none'
    figures = ['course']
    [[experiment.grid]]
    action = 'sustained'
    direction = ['read', 'write']
    strategy = ['method=uring,cache=direct,request=128K,depth=32,workers=1,model=serial']
";

#[test]
fn no_sample_above_the_sustained_rate_is_called_sustained() {
    let test = "credit_labels::no_sample_above_the_sustained_rate_is_called_sustained";
    prove(
        MeterOptions { test, seconds: 60, precision: 0.02 },
        &[false, true],
        |sustained| if *sustained { "with `sustained`" } else { "ordinary cells" }.into(),
        |_| Latent::new(test, 1, &DISK.text(), 64 << 20),
        |sustained| format!("{ORDINARY}{}", if *sustained { SUSTAINED } else { "" }),
        judge,
    );
}

/// Judges a run; `sustained`: it has continuous transfers, too.
fn judge(&sustained: &bool, document: &Document, judge: &mut Judge) {
    let mut fast = 0;
    for cell in document.cells.iter().filter(|cell| cell.experiment == "ordinary") {
        judge.holds(&format!("{}: a figure", cell.id), cell.summary.is_some());
        for sample in cell.samples.iter().filter(|sample| sample.usable()) {
            let above = sample.rate() > MOST * DISK.sustained;
            fast += u32::from(above);
            let what = format!("{}: {:.3e} is {:?}", cell.id, sample.rate(), sample.regime);
            judge.holds(&what, !above || sample.regime != Some(Regime::Sustained));
            if sustained {
                judge.holds(&format!("{what}: known"), sample.regime != Some(Regime::Unknown));
            }
        }
        println!("{}: {:?}", cell.id, cell.summary.as_ref().map(|found| (found.rate.value, found.regime)));
    }
    document.findings.limits.iter().for_each(|limit| println!("{limit:?}"));
    document.findings.credit.iter().for_each(|found| println!("{}: {}", found.operation, found.text()));
    println!("{fast} samples above the sustained rate");
}
