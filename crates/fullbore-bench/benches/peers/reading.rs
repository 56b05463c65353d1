//! Reading a file in the page cache against `dd` at its best block size.

use super::command::CommandLine;
use super::directory::peer;
use super::finding::Bound;
use super::rounds::{Contender, fastest, interleave};
use super::runs::{rate_ratio, table};
use super::{Attempt, Bench, states};

/// Block sizes of dd.
const BLOCKS: &[&str] = &["64k", "128k", "256k", "512k", "1M", "4M"];

/// Strategies of fullbore, and the share of dd's best throughput that they must reach.
const OURS: &[(&str, Bound)] =
    &[("workers=1", Bound::AtLeast(0.95)), ("workers=2", Bound::Above(1.0)), ("auto", Bound::Above(1.0))];

pub(crate) fn compare(bench: &mut Bench) -> Attempt<()> {
    let Some(dd) = peer("dd") else {
        bench.findings.skip("reading", "dd is not installed");
        return Ok(());
    };
    let input = bench.place.input.clone();
    let prepare = || states::warm(&input);
    let ours = OURS.iter().map(|(strategy, _)| {
        let line = CommandLine::new(&bench.binary, ["transform", "none"]).word(&input);
        (strategy.to_string(), line.word("/dev/null").word("--strategy").word(*strategy))
    });
    let theirs = BLOCKS.iter().map(|block| {
        let line = CommandLine::new(&dd, ["of=/dev/null", "status=none"]);
        (format!("dd bs={block}"), line.word(format!("bs={block}")).word(format!("if={}", input.display())))
    });
    let contenders =
        ours.chain(theirs).map(|(label, line)| Contender::new(label, line).prepare(prepare)).collect();
    let excuse = |who: &str, why: &str| println!("  {who}: {why}");
    let series = interleave(contenders, bench.options.rounds, &mut bench.random, excuse)?;
    table(&mut bench.findings, &series, bench.place.size);
    let best = fastest(series.iter().filter(|one| one.label.starts_with("dd"))).ok_or("dd does not run")?;
    for (strategy, bound) in OURS {
        let mine =
            series.iter().find(|one| one.label == *strategy).ok_or(format!("{strategy} does not run"))?;
        bench.findings.add(rate_ratio(
            format!("reading with {strategy} ÷ dd's best, throughput"),
            mine,
            best,
            *bound,
        ));
    }
    Ok(())
}
