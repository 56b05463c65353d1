//! A method in the registry is measured, listed, reported and advised on without any other change.

mod measuring;

use fullbore::engine::{self, Capabilities, Method};
use fullbore_bench::advice::advice;
use fullbore_bench::analysis::findings;
use fullbore_bench::document::{Cell, Proof, Sample, SummaryOptions};
use fullbore_bench::report;
use fullbore_bench::stats::Bootstrap;
use measuring::{document, experiment, options};

/// The method as its file would define it; its engine is that of `buffered`.
static MIRROR: Method = Method {
    name: "mirror",
    summary: "pread and pwrite, under another name",
    capabilities: Capabilities::SYNCHRONOUS,
    open: |config| (engine::method("buffered").expect("buffered is registered").open)(config),
};

const GRID: &str = "
    [[experiment.grid]]
    action = 'read'
    strategy = ['method=mirror,workers=1,model=serial', 'method=buffered,workers=1,model=serial']
    request = '256K'
    cache = 'warm'
";

/// Replaces the samples of a cell by some of this rate, in bytes per second, within 1%.
fn set_rate(cell: &mut Cell, rate: f64) {
    let sample = |round: u32| Sample {
        round,
        bytes: 100_000_000,
        seconds: 100_000_000.0 / rate * (1.0 + f64::from(round * 4 % 11) / 1000.0),
        requests: 400,
        system_s: 0.01,
        proof: Proof::Confirmed,
        ..Sample::default()
    };
    cell.samples = (0..11).map(sample).collect();
    cell.summarise(&SummaryOptions::default());
}

#[test]
fn a_registered_method_is_measured_reported_and_advised_on() {
    engine::register(&MIRROR);
    assert_eq!(engine::method("mirror"), Some(&MIRROR));
    assert_eq!(engine::methods().filter(|method| **method == MIRROR).count(), 1);

    let directory = tempfile::tempdir().unwrap();
    let mut document = document(&options(directory.path(), experiment(GRID), 16, 5));
    let [mirror, buffered] = document.cells.as_slice() else { panic!("{:?}", document.cells) };
    assert_eq!((mirror.labels.method.as_str(), buffered.labels.method.as_str()), ("mirror", "buffered"));
    for cell in [mirror, buffered] {
        assert!(cell.summary.is_some() && cell.skipped.is_none(), "{}: {:?}", cell.id, cell.skipped);
    }
    let listed = document.environment.engines.iter().find(|engine| engine.name == "mirror").unwrap();
    assert!(listed.available, "{listed:?}");

    for (rates, faster, slower) in
        [([400e6, 200e6], "mirror", "buffered"), ([200e6, 400e6], "buffered", "mirror")]
    {
        for (cell, rate) in document.cells.iter_mut().zip(rates) {
            set_rate(cell, rate);
        }
        document.findings = findings(&document.cells, &document.experiments, &Bootstrap::default());
        let advised = advice(&document.cells, &document.findings, &Bootstrap::default());
        let compared = advised.iter().find(|one| one.text.contains(faster) && one.text.contains(slower));
        let compared = compared.unwrap_or_else(|| panic!("{advised:?}"));
        assert!((compared.worth - 2.0).abs() < 0.1, "{compared:?}");
        for form in [report::html(&document), report::markdown(&document)] {
            assert!(form.contains("mirror"), "the report does not name the method");
        }
    }
}
