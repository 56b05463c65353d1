//! `fullbore predict`: throughput of unmeasured requests from a results document.

use crate::bench::measure_until;
use crate::support::*;

const CELLS: &str = "
    [[experiment]]
    name = 'own'
    title = 'Own'
    question = 'How fast?'
    axis = 'request'
    [[experiment.grid]]
    action = 'read'
    strategy = ['method=buffered,workers=1,model=serial']
    request = ['4K', '16K', '256K', '1M']
    cache = 'warm'
";

#[test]
fn unmeasured_sizes_are_predicted_from_measured_ones() {
    let dir = TestDir::new();
    dir.file("own.toml", CELLS);
    measure_until(
        &dir,
        "fullbore-results-1",
        &[10, 30, 90],
        |seconds| {
            let options = "--size 16M --precision 20 --no-save --output fullbore-results-1";
            format!("bench run own.toml --time {seconds} {options}")
        },
        |document| {
            let changed = "predict read request=64K cache=warm workers=4 --cpus 4";
            document.findings.predictions.len() >= 2 && (cfg!(windows) || dir.run(changed).code() == 0)
        },
    );

    let within = dir.run("predict read request=64K cache=warm").succeeds().text();
    assert_contains(&within, &["/s to ", "limited by"]);
    assert!(!within.contains("extrapolated"), "{within}");
    let beyond = dir.run("predict read request=4M,cache=warm --results fullbore-results-1").succeeds().text();
    assert!(beyond.contains(", extrapolated"), "{beyond}");
    // Windows counts CPU time in ticks, which short samples do not reach.
    if cfg!(unix) {
        let changed = dir.run("predict read request=64K cache=warm workers=4 --cpus 4").succeeds().text();
        assert!(changed.contains(", extrapolated"), "{changed}");
    }
    let found = dir.run("predict read request=64K cache=warm --json").succeeds().json();
    let rate = |of: &str| found["rate"][of].as_f64().unwrap();
    assert!(rate("low") < rate("value") && rate("value") < rate("high"), "{found}");
    assert_eq!(found["extrapolated"], false);

    // In the document a cell has a prediction from the other three, unless those leave its rate open.
    let document: Value = serde_json::from_slice(&dir.read("fullbore-results-1/results.json")).unwrap();
    assert!((2..=4).contains(&document["findings"]["predictions"].as_array().unwrap().len()));

    dir.run("predict read request=64K cache=cold").fails(2, &["no cells", "fullbore bench run unbuffered"]);
    dir.run("predict read request=64K cache=warm depth=8").fails(2, &["fullbore bench run"]);
    dir.run("predict read cache=warm").fails(2, &["request=SIZE"]);
    dir.run("predict read request=64K speed=9").fails(2, &["speed", "method, request"]);
    dir.run("predict read request=64K --device iops=none").fails(2, &["iops=NUMBER"]);
    dir.run("predict read request=64K cache=warm --device iops=9").fails(2, &["cache=warm", "device"]);
    dir.run("predict read request=64K --device iops=9").fails(2, &["no cells"]);
    dir.run("predict read request=64K method=buffered depth=8").fails(2, &["depth=8", "buffered is 1"]);
    dir.run("predict read request=64K --results missing.json").fails(2, &["missing.json"]);
}
