//! `auto` against every other strategy: overwriting, a new file and reading, from the page cache and the device.

use super::harness::commands::{Bench, Case};
use super::harness::data::Data;
use super::harness::finding::Bound;
use super::harness::race::{Figure, Race};
use super::harness::{Attempt, states};

pub(super) const STRATEGIES: &[&str] = &[
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

const TITLE: &str = "auto against every other strategy";

pub(super) const CASES: &[Case] = &[
    ("strategies-warm-overwrite", TITLE, |bench| compare(bench, Job::Overwrite, false)),
    ("strategies-warm-new-file", TITLE, |bench| compare(bench, Job::NewFile, false)),
    ("strategies-warm-reading", TITLE, |bench| compare(bench, Job::Read, false)),
    ("strategies-cold-overwrite", TITLE, |bench| compare(bench, Job::Overwrite, true)),
    ("strategies-cold-new-file", TITLE, |bench| compare(bench, Job::NewFile, true)),
    ("strategies-cold-reading", TITLE, |bench| compare(bench, Job::Read, true)),
];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Job {
    Overwrite,
    NewFile,
    Read,
}

impl Job {
    /// Its name, and the arguments of `fullbore transform`.
    fn command(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::Overwrite => {
                ("shift:10 over an existing file", &["shift:10", "input", "strategies", "--overwrite"])
            }
            Self::NewFile => ("shift:10 to a new file", &["shift:10", "input", "strategies"]),
            Self::Read => ("reading", &["none", "input", "/dev/null"]),
        }
    }
}

fn compare(bench: &mut Bench, job: Job, cold: bool) -> Attempt<()> {
    let (name, words) = job.command();
    let what = format!("{name}, {}: auto ÷ the best, wall time", if cold { "cold" } else { "warm" });
    let (input, output) = (bench.place.of(Data::Input), bench.place.path("strategies"));
    let prepare = || {
        match job {
            Job::Overwrite => states::whole(&output, &input)?,
            Job::NewFile => states::memory().and_then(|()| states::absent(&output))?,
            Job::Read => {}
        }
        states::cold_or_warm(&input, cold)
    };
    let clear = || {
        if job == Job::NewFile {
            states::remove(&output);
        }
    };
    let mut race = Race::new(&[Data::Input], bench.place.size);
    for strategy in ["auto"].iter().chain(STRATEGIES) {
        let ours = bench.ours("transform", &[words, &["--strategy", strategy]].concat());
        race = race.shaped(strategy, ours, |one| one.prepare(prepare).clear(clear));
    }
    let race = race.demand(&what, Figure::Fastest, "auto", STRATEGIES, Bound::AtMost(1.10));
    let outcome = race.run(bench);
    states::remove(&output);
    outcome
}
