//! Compares the program with its peers (`dd`, `cp`, fio) and its own strategies, and reports which bounds are kept.
//!
//! `cargo bench -p fullbore-bench --bench peers` builds the release binary itself and runs every comparison.
//! Each comparison runs its commands once unmeasured, then in rounds, in random order within each round.
#![forbid(unsafe_code)]

mod data_directory;
mod every_strategy;
#[path = "../judging/mod.rs"]
mod judging;
mod memory;
mod meter;
mod new_file;
mod options;
mod overwrite;
mod reading;
mod start_up;

use std::path::Path;
use std::process::ExitCode;

use data_directory::DataDirectory;
use every_strategy::{Job, compare as strategies};
use finding::Findings;
use fullbore_bench::stats::Xoshiro256;
use judging::{Attempt, account, binary, command, directory, exit, finding, quiet, rounds, runs, states};
use options::Options;

/// The context of every comparison.
struct Bench {
    options: Options,
    place: DataDirectory,
    /// The program under test.
    binary: std::path::PathBuf,
    random: Xoshiro256,
    findings: Findings,
}

/// A comparison: its name for `--only`, its title, and its function.
type Comparison = (&'static str, &'static str, fn(&mut Bench) -> Attempt<()>);

const COMPARISONS: &[Comparison] = &[
    ("start-up", "duration of a run with nothing to do", start_up::compare),
    ("memory", "peak memory of a run", memory::compare),
    ("overwrite", "transform over an existing file against dd", overwrite::compare),
    ("new-file", "transform to a new file against cp", new_file::compare),
    ("reading", "reading a cached file against dd at its best", reading::compare),
    ("meter", "the meter's loop against fio", meter::compare),
    ("strategies-warm-overwrite", "auto against every other strategy", |bench| {
        strategies(bench, Job::Overwrite, false)
    }),
    ("strategies-warm-new-file", "auto against every other strategy", |bench| {
        strategies(bench, Job::NewFile, false)
    }),
    ("strategies-warm-reading", "auto against every other strategy", |bench| {
        strategies(bench, Job::Read, false)
    }),
    ("strategies-cold-overwrite", "auto against every other strategy", |bench| {
        strategies(bench, Job::Overwrite, true)
    }),
    ("strategies-cold-new-file", "auto against every other strategy", |bench| {
        strategies(bench, Job::NewFile, true)
    }),
    ("strategies-cold-reading", "auto against every other strategy", |bench| {
        strategies(bench, Job::Read, true)
    }),
];

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    if words.first().is_some_and(|word| word == account::WORD) {
        return account::run(&words[1..]);
    }
    let outcome = match options::parse(words) {
        Ok(options::Request::Run(options)) => run(options),
        Ok(options::Request::Say(text)) => {
            println!("{text}");
            Ok(true)
        }
        Err(error) => Err(error),
    };
    exit("peers", outcome)
}

/// Runs the selected comparisons; true if every bound was kept.
fn run(options: Options) -> Attempt<bool> {
    let chosen: Vec<&Comparison> = COMPARISONS.iter().filter(|(name, ..)| options.wants(name)).collect();
    if chosen.is_empty() {
        let names: Vec<_> = COMPARISONS.iter().map(|(name, ..)| *name).collect();
        return Err(format!("--only matches none of {}", names.join(", ")).into());
    }
    let binary = binary::find(options.binary.as_deref())?;
    let place = DataDirectory::make(&options.dir, options.size, &binary)?;
    let seed = options.seed;
    let findings = Findings::new(context(&place, &binary, &options), options.markdown.clone());
    let mut bench = Bench { options, place, binary, random: Xoshiro256::seeded(seed), findings };
    bench.findings.introduce();
    for (name, title, compare) in chosen {
        bench.findings.begin(name, title);
        let quiet = quiet::Watch::start();
        if let Err(error) = compare(&mut bench) {
            bench.findings.record_error(name, &*error);
        }
        if let Some(objection) = quiet.ok().and_then(|watch| watch.objection()) {
            bench.findings.note(format!("NOISE {objection}"));
        }
    }
    bench.findings.conclude()?;
    Ok(bench.findings.all_kept())
}

/// The programs compared, and their environment.
fn context(place: &DataDirectory, binary: &Path, options: &Options) -> Vec<String> {
    let version = command::CommandLine::new(binary, ["--version"]).output().unwrap_or_default();
    let mut context = vec![
        format!("{} against its peers, {} rounds, seed {}", version.trim(), options.rounds, options.seed),
        format!("file: {}; saved profiles are ignored", fullbore::size::human(place.size)),
    ];
    context.extend(judging::place(&place.input));
    context
}
