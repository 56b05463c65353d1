//! Properties of a process: the duration of a run with nothing to do, and peak memory by strategy.

use super::*;
use fullbore::strategy::NAMED;

pub(super) const CASES: &[Case] = &[
    ("process-start", "duration of a run with nothing to do", start_up),
    ("process-memory", "peak memory of a run by strategy", memory),
];

/// Bound of the duration in milliseconds.
const START_UP: Bound = Bound::Below(5.0);
/// Runs take milliseconds: many are cheap, and their median is steady.
const RUNS: usize = 200;

fn start_up(bench: &mut Bench) -> Attempt<()> {
    const VERSION: &str = "fullbore --version";
    const ONE_BYTE: &str = "fullbore transform none of one byte";
    let output = bench.place.path("byte-out");
    std::fs::write(bench.place.path("byte"), b"x")?;
    let transform = bench.ours("transform", &["none", "byte", "byte-out"]);
    let what = |label: &str| format!("{label}, median wall time of {RUNS} runs");
    Race { rounds: Some(RUNS), ..Race::new(&[], 0) }
        .shaped(VERSION, Ok(CommandLine::new(&bench.place.binary, ["--version"])), |one| one)
        .shaped(ONE_BYTE, transform, |one| one.clear(|| states::remove(&output)))
        .within(&what(VERSION), VERSION, START_UP)
        .within(&what(ONE_BYTE), ONE_BYTE, START_UP)
        .run(bench)
}

const STRATEGIES: &[&str] = &[
    "method=uring,cache=direct,depth=8,request=1M",
    "method=direct,request=1M",
    "read=mmap,write=buffered,workers=2",
    "workers=1",
    "workers=2,request=1M",
];

/// Strategies that map the whole file: their memory is the file.
const WHOLE: &[&str] = &["cci-mm", "cci-mtmm", "cci-mmtp"];

const GREEDY: &[&str] = &[
    "method=uring,depth=1024,request=1M,workers=2",
    "method=mmap,workers=2,window=16M",
    "method=buffered,workers=64,request=4M",
    "method=vectored,depth=64,request=1M",
];

fn memory(bench: &mut Bench) -> Attempt<()> {
    bench.place.need(Data::Input)?;
    let (input, output) = (bench.place.of(Data::Input), bench.place.path("memory"));
    states::warm(&input)?;
    let named = NAMED.iter().map(|named| &named.name);
    for strategy in ["auto"].iter().chain(named).chain(STRATEGIES).chain(GREEDY) {
        for piped in [false, true] {
            // A mapping needs a file.
            if piped && strategy.contains("mm") {
                continue;
            }
            let what = format!("peak memory, {strategy}{}", if piped { ", from a pipe" } else { "" });
            let source = if piped { "-" } else { "input" };
            let ours = bench.ours("transform", &["shift:10", "--strategy", strategy, source, "memory"]);
            let ours = ours.map(|line| CommandLine { piped: piped.then(|| input.clone()), ..line });
            let bound = if WHOLE.contains(strategy) { Bound::None } else { MEMORY };
            bench.peak_memory(&what, ours, &output, bound, |findings, what, why| {
                findings.skip(what, &why.to_string());
            });
        }
    }
    Ok(())
}
