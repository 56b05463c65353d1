//! The meter's loop against fio on the same file: the meter compares them itself, in interleaved rounds.

use super::*;

use std::time::Duration;

use fullbore::pattern::Progress;
use fullbore_bench::document::{Cell, Sample};
use fullbore_bench::{Options, run};

use crate::harness::finding::{Finding, time};
use crate::harness::rounds::Series;

pub(super) const CASES: &[Case] = &[("meter", "the meter's loop against fio", compare)];

/// Seconds of one side of a pair.
const TURN: u64 = 3;

/// Fewest pairs, at any `--rounds`.
const PAIRS: usize = 8;

/// A load, and its bounds: requests per second and CPU time per request, fullbore ÷ fio.
struct Load {
    name: &'static str,
    grid: &'static str,
    rate: Bound,
    processor: Bound,
}

const LOADS: [Load; 2] = [
    Load {
        name: "direct random 4 KiB reads, depth 32",
        grid: "strategy = 'method=uring,cache=direct,request=4K,depth=32,workers=1,model=serial'\norder = 'random'",
        rate: Bound::AtLeast(0.97),
        processor: Bound::AtMost(1.10),
    },
    Load {
        name: "direct sequential 1 MiB reads, depth 8",
        grid: "strategy = 'method=uring,cache=direct,request=1M,depth=8,workers=1,model=serial'",
        rate: Bound::AtLeast(0.95),
        processor: Bound::None,
    },
];

fn compare(bench: &mut Bench) -> Attempt<()> {
    let grid = |load: &Load| {
        format!("[[experiment.grid]]\naction = 'read'\nsample_seconds = {TURN}.0\n{}\n", load.grid)
    };
    let grids = LOADS.each_ref().map(grid).concat();
    let common = &bench.options.common;
    let pairs = common.rounds.max(PAIRS) * LOADS.len();
    let options = Options {
        directories: vec![common.dir.clone()],
        size: Some(bench.options.size),
        // Preparing and starting take time, too.
        time: Duration::from_secs(60 + (2 * TURN + 1) * pairs as u64),
        // Never reached: every pair counts.
        precision: 0.0,
        seed: common.seed,
        sets: vec![(
            "meter".into(),
            format!("[[experiment]]\nname = 'm'\ntitle = 'M'\naxis = 'none'\n{grids}"),
        )],
        with_fio: true,
        ..Options::default()
    };
    let document = match run(&options, &Progress::default(), |_| ()) {
        Ok(measured) => measured.document,
        Err(error) => {
            bench.findings.skip("meter", &error.to_string());
            return Ok(());
        }
    };
    for (load, cells) in LOADS.iter().zip(document.cells.chunks(2)) {
        match cells.iter().find_map(|cell| cell.skipped.as_deref()) {
            Some(why) => bench.findings.skip(load.name, why),
            None => report(bench, load, cells),
        }
    }
    null_engine(bench, document.audit.null_request_s.map_or(f64::NAN, |request| request.value))
}

/// Compares the meter's own cost of a request, in seconds, with that of fio.
fn null_engine(bench: &mut Bench, request_s: f64) -> Attempt<()> {
    let options =
        "--name=peer --ioengine=null --rw=randread --bs=4k --size=1g --thread --runtime=3 --time_based";
    let mut words: Vec<&str> = options.split(' ').collect();
    words.push("--output-format=json");
    let account = bench.peer("fio", &words)?.output()?;
    // Warnings may precede the document.
    let start = account.find('{').ok_or("fio printed no result")?;
    let account: serde_json::Value = serde_json::from_str(&account[start..])?;
    let theirs = account["jobs"][0]["read"]["iops"].as_f64().ok_or("no iops in fio's result")?;
    let text = format!("fullbore {:.0}/s against fio {theirs:.0}/s", 1.0 / request_s);
    let what = "null engine, 4 KiB: fullbore ÷ fio, requests per second";
    bench.findings.add(Finding::new(what, text, (1.0 / request_s / theirs, ""), Bound::None));
    Ok(())
}

fn report(bench: &mut Bench, load: &Load, cells: &[Cell]) {
    let series = |cell: &Cell| {
        let label = cell.labels.peer.clone().unwrap_or_else(|| "fullbore".into());
        Series { label, runs: cell.samples.iter().filter(|sample| sample.usable()).cloned().collect() }
    };
    let [mine, fio] = cells else { return };
    let (mine, fio): (Series<Sample>, Series<Sample>) = (series(mine), series(fio));
    let what = |figure: &str| format!("{}: fullbore ÷ fio, {figure}", load.name);
    let rate = |sample: &Sample| sample.requests as f64 / sample.seconds;
    let text = |rate| format!("{rate:.0}/s");
    bench.findings.add(Finding::ratio(what("requests per second"), &mine, &fio, rate, text, load.rate));
    let processor = |sample: &Sample| sample.charged_s() / sample.requests as f64;
    bench.findings.add(Finding::ratio(
        what("CPU time per request"),
        &mine,
        &fio,
        processor,
        time,
        load.processor,
    ));
}
