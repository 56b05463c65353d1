//! Start-up: the duration of a run with nothing to do.

use super::command::CommandLine;
use super::finding::{Bound, Finding};
use super::rounds::{Contender, interleave};
use super::{Attempt, Bench, states};

/// Bound in milliseconds.
const BOUND: Bound = Bound::Below(5.0);
/// Runs take milliseconds: many are cheap, and their median is steady.
const RUNS: usize = 200;

pub(crate) fn compare(bench: &mut Bench) -> Attempt<()> {
    let (input, output) = (bench.place.path("byte"), bench.place.path("byte-out"));
    std::fs::write(&input, b"x")?;
    let transform = CommandLine::new(&bench.binary, ["transform", "none"]).word(&input).word(&output);
    let contenders = vec![
        Contender::new("fullbore --version", CommandLine::new(&bench.binary, ["--version"])),
        Contender::new("fullbore transform none of one byte", transform).clear(|| states::remove(&output)),
    ];
    let excuse = |who: &str, why: &str| println!("  {who}: {why}");
    let series = interleave(contenders, RUNS, &mut bench.random, excuse)?;
    if series.len() != 2 {
        return Err("the program does not run".into());
    }
    for one in series {
        bench.findings.add(Finding {
            what: format!("{}, median wall time of {RUNS} runs", one.label),
            ours: format!("processor {:.2} ms", one.processor() * 1e3),
            peer: String::new(),
            figure: one.wall() * 1e3,
            unit: " ms",
            paired: None,
            bound: BOUND,
        });
    }
    Ok(())
}
