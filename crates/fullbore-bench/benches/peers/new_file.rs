//! Transforming to a new file, from the page cache, against `cp`.

use super::command::CommandLine;
use super::directory::peer;
use super::finding::Bound;
use super::rounds::{Contender, interleave};
use super::runs::{table, wall_ratio};
use super::{Attempt, Bench, states};

/// Bound as a share of cp's wall time.
const BOUND: Bound = Bound::AtMost(0.60);

pub(crate) fn compare(bench: &mut Bench) -> Attempt<()> {
    let Some(cp) = peer("cp") else {
        bench.findings.skip("new-file", "cp is not installed");
        return Ok(());
    };
    states::memory()?;
    let input = bench.place.input.clone();
    let (ours, theirs) = (bench.place.path("new"), bench.place.path("new-by-cp"));
    let prepare = |output| {
        let input = &input;
        move || states::warm(input).and_then(|()| states::absent(output))
    };
    let line = CommandLine::new(&bench.binary, ["transform", "shift:10"]).word(&input).word(&ours);
    let contenders = vec![
        Contender::new("auto", line).prepare(prepare(&ours)).clear(|| states::remove(&ours)),
        Contender::new("cp", CommandLine::new(&cp, [&input, &theirs]))
            .prepare(prepare(&theirs))
            .clear(|| states::remove(&theirs)),
    ];
    let excuse = |who: &str, why: &str| println!("  {who}: {why}");
    let series = interleave(contenders, bench.options.rounds, &mut bench.random, excuse)?;
    table(&mut bench.findings, &series, bench.place.size);
    let [ours, cp] = &series[..] else { return Err("one of the two does not run".into()) };
    bench.findings.add(wall_ratio("transform shift:10 to a new file ÷ cp, wall time", ours, cp, BOUND));
    Ok(())
}
