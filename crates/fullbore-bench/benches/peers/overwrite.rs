//! Transforming over an existing file, all in the page cache, against `dd conv=notrunc`.

use super::command::CommandLine;
use super::directory::peer;
use super::finding::Bound;
use super::rounds::{Contender, interleave};
use super::runs::{table, wall_ratio};
use super::{Attempt, Bench, states};

/// Bound as a share of dd's wall time.
const BOUND: Bound = Bound::AtMost(0.90);

pub(crate) fn compare(bench: &mut Bench) -> Attempt<()> {
    let Some(dd) = peer("dd") else {
        bench.findings.skip("overwrite", "dd is not installed");
        return Ok(());
    };
    let (input, output) = (bench.place.input.clone(), bench.place.path("existing"));
    let prepare = || states::warm(&input).and_then(|()| states::whole(&output, &input));
    let ours = CommandLine::new(&bench.binary, ["transform", "shift:10"])
        .word(&input)
        .word(&output)
        .word("--overwrite");
    let line = CommandLine::new(&dd, ["bs=256k", "conv=notrunc", "status=none"])
        .word(format!("if={}", input.display()))
        .word(format!("of={}", output.display()));
    let contenders = vec![
        Contender::new("auto", ours).prepare(prepare),
        Contender::new("dd bs=256k conv=notrunc", line).prepare(prepare),
    ];
    let excuse = |who: &str, why: &str| println!("  {who}: {why}");
    let series = interleave(contenders, bench.options.rounds, &mut bench.random, excuse);
    states::remove(&output);
    let series = series?;
    table(&mut bench.findings, &series, bench.place.size);
    let [ours, dd] = &series[..] else { return Err("one of the two does not run".into()) };
    bench.findings.add(wall_ratio("transform shift:10 --overwrite ÷ dd, wall time", ours, dd, BOUND));
    Ok(())
}
