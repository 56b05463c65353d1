//! `auto` against every other strategy: overwriting, a new file and reading, from the page cache and the device.

use std::path::Path;

use super::command::CommandLine;
use super::finding::Bound;
use super::rounds::{Contender, fastest, interleave};
use super::runs::{table, wall_ratio};
use super::{Attempt, Bench, states};

/// Of the best strategy's wall time.
const BOUND: Bound = Bound::AtMost(1.10);

/// The strategies that `auto` is compared with.
pub(crate) const STRATEGIES: &[&str] = &[
    "cci",
    "cci-stdio",
    "cci-mm",
    "cci-mt",
    "cci-tp",
    "cci-ov",
    "cci-ex",
    "cci-mtmm",
    "cci-mmtp",
    "method=uring,cache=direct,depth=8,request=1M",
    "method=direct,request=1M",
    "read=mmap,write=buffered,workers=2",
    "workers=1",
    "workers=2,request=1M",
];

/// The work of the strategies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Job {
    Overwrite,
    NewFile,
    Read,
}

impl Job {
    fn name(self) -> &'static str {
        match self {
            Self::Overwrite => "shift:10 over an existing file",
            Self::NewFile => "shift:10 to a new file",
            Self::Read => "reading",
        }
    }
}

/// Compares for one job, its input in the page cache or not.
pub(crate) fn compare(bench: &mut Bench, job: Job, cold: bool) -> Attempt<()> {
    let what = format!("{}, {}", job.name(), if cold { "cold" } else { "warm" });
    let input = bench.place.input.clone();
    let output = bench.place.path("strategies");
    if job == Job::NewFile {
        states::memory()?;
    }
    let prepare = || {
        match job {
            Job::Overwrite => states::whole(&output, &input)?,
            Job::NewFile => states::absent(&output)?,
            Job::Read => {}
        }
        if cold { states::cold(&input) } else { states::warm(&input) }
    };
    let clear = || {
        if job == Job::NewFile {
            states::remove(&output);
        }
    };
    let contenders = ["auto"]
        .iter()
        .chain(STRATEGIES)
        .map(|strategy| {
            let line = line(bench, job, &input, &output).word("--strategy").word(*strategy);
            Contender::new(*strategy, line).prepare(prepare).clear(clear)
        })
        .collect();
    let mut excuses = Vec::new();
    let excuse = |who: &str, why: &str| excuses.push((who.to_owned(), why.to_owned()));
    let series = interleave(contenders, bench.options.rounds, &mut bench.random, excuse);
    states::remove(&output);
    for (who, why) in excuses {
        bench.findings.skip(&who, &why);
    }
    let series = series?;
    table(&mut bench.findings, &series, bench.place.size);
    let auto = series.iter().find(|one| one.label == "auto").ok_or("auto does not run")?;
    let best = fastest(series.iter().filter(|one| one.label != "auto")).ok_or("no other strategy runs")?;
    bench.findings.add(wall_ratio(format!("{what}: auto ÷ the best, wall time"), auto, best, BOUND));
    Ok(())
}

fn line(bench: &Bench, job: Job, input: &Path, output: &Path) -> CommandLine {
    let ours = |operation| CommandLine::new(&bench.binary, ["transform", operation]).word(input);
    match job {
        Job::Overwrite => ours("shift:10").word(output).word("--overwrite"),
        Job::NewFile => ours("shift:10").word(output),
        Job::Read => ours("none").word("/dev/null"),
    }
}
