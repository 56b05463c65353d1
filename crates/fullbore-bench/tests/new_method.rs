//! A method in the registry is measured, listed, reported and advised on without any other change.

mod measuring;

use std::sync::Once;

use fullbore::engine::{self, Availability, Capabilities, Method};
use fullbore_bench::advice::advice;
use fullbore_bench::analysis::findings;
use fullbore_bench::document::{CacheState, Cell, Labels, Proof, Sample, SummaryOptions, series};
use fullbore_bench::report;
use measuring::{document, experiment, options, until};

/// A method as its file would define it; its engine is that of `buffered`.
const fn method(name: &'static str, capabilities: Capabilities) -> Method {
    Method {
        name,
        summary: "pread and pwrite, under another name",
        capabilities,
        open: |config| (engine::method("buffered").expect("buffered is registered").open)(config),
    }
}

static MIRROR: Method = method("mirror", Capabilities::SYNCHRONOUS);
static PAST: Method =
    method("past", Capabilities { direct: Availability::Always, ..Capabilities::SYNCHRONOUS });
static MAP: Method = method("map", Capabilities { mapped: true, ..Capabilities::SYNCHRONOUS });
static VOID: Method = method("void", Capabilities { storage: false, ..Capabilities::SYNCHRONOUS });

/// Registers the methods once for all tests.
fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| [&MIRROR, &PAST, &MAP, &VOID].into_iter().for_each(engine::register));
}

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
    register();
    assert_eq!(engine::method("mirror"), Some(&MIRROR));
    assert_eq!(engine::methods().filter(|method| **method == MIRROR).count(), 1);

    let directory = tempfile::tempdir().unwrap();
    let measure = |seconds| document(&options(directory.path(), experiment(GRID), 16, seconds));
    let mut document = until([5, 20, 60], measure, |document| {
        document.cells.iter().all(|cell| cell.skipped.is_some() || cell.summary.is_some())
    });
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
        document.findings = findings(&document.cells, &document.experiments);
        let advised = advice(&document.cells, &document.findings);
        let compared = advised.iter().find(|one| one.text.contains(faster) && one.text.contains(slower));
        let compared = compared.unwrap_or_else(|| panic!("{advised:?}"));
        assert!((compared.worth - 2.0).abs() < 0.1, "{compared:?}");
        for form in [report::html(&document), report::markdown(&document)] {
            assert!(form.contains("mirror"), "the report does not name the method");
        }
    }
}

#[test]
fn series_panels_and_advice_follow_the_capabilities_of_a_registered_method() {
    register();
    let directory = tempfile::tempdir().unwrap();
    let grid = GRID.replace("strategy = [", "strategy = ['method=past,workers=1,model=serial', ");
    let grid = grid.replace("    cache = 'warm'\n", "");
    let mut document = document(&options(directory.path(), experiment(&grid), 16, 5));
    let named = |name: &str, rate: f64| {
        let mut cell = Cell { id: name.into(), ..document.cells[2].clone() };
        cell.labels.method = name.into();
        cell.labels.cache = (!matches!(name, "direct" | "past")).then_some(CacheState::Warm);
        set_rate(&mut cell, rate);
        cell
    };
    document.cells =
        [("void", 9e9), ("map", 4e9), ("mirror", 1e9), ("buffered", 2e9), ("direct", 2e8), ("past", 4e8)]
            .map(|(name, rate)| named(name, rate))
            .to_vec();

    let bypasses: Vec<bool> = document.cells.iter().map(|cell| cell.labels.bypasses_cache()).collect();
    assert_eq!(bypasses, [false, false, false, false, true, true]);
    let lines = series(&document.cells, &document.experiments[0]);
    for (line, cell) in lines.iter().zip(&document.cells) {
        assert_eq!(line.name.split(", ").next(), Some(cell.id.as_str()));
    }

    document.findings = findings(&document.cells, &document.experiments);
    let advised = advice(&document.cells, &document.findings);
    assert!(advised.iter().all(|one| !one.cells.contains(&"void".to_owned())), "{advised:?}");
    let about = |first: &str, second: &str| {
        let both =
            |cells: &[String]| [first, second].iter().all(|name| cells.iter().any(|cell| cell == name));
        let found = advised.iter().find(|one| both(&one.cells));
        found.unwrap_or_else(|| panic!("{first}, {second}: {advised:?}"))
    };
    assert!((about("past", "direct").worth - 2.0).abs() < 0.1);
    assert!((about("map", "buffered").worth - 2.0).abs() < 0.1);
    // More bars than one chart has: panels divide reads of the device from cached ones.
    let larger = |exponent: u32| {
        let bytes = (256 << 10) << exponent;
        document.cells.iter().map(move |cell| {
            let labels = Labels { request_bytes: Some(bytes), ..cell.labels.clone() };
            Cell { id: format!("{}/{bytes}", cell.id), labels, ..cell.clone() }
        })
    };
    document.cells = (0..3).flat_map(larger).collect();
    let charts = report::charts(&document);
    let with = |name: &str| charts.iter().position(|(_, svg)| svg.contains(&format!(">{name}")));
    assert!(with("past").is_some() && with("map").is_some(), "{charts:?}");
    assert_ne!(with("past"), with("map"), "{charts:?}");
}
