//! Compares the tools (`wc`, `grep`, `cmp`, `copy`, `sum`, `dedupe`) with their peers, and reports which bounds are kept.
//!
//! `cargo bench -p fullbore-bench --bench tools` builds the release binary itself, makes its data and runs every case:
//! whole commands, once unmeasured and then in rounds, in random order within each round. A figure is the median of the
//! rounds' own ratios. The output of the commands is compared too: a tool with another result is not measured.
#![forbid(unsafe_code)]

mod cases;
mod data;
#[path = "../judging/mod.rs"]
mod judging;
mod options;
mod race;
mod text;
mod tree;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use cases::Case;
use command::CommandLine;
use data::DataSet;
use finding::Findings;
use fullbore_bench::stats::Xoshiro256;
use judging::{
    Attempt, BenchError, account, binary, command, directory, exit, finding, quiet, rounds, runs, states,
};
use options::Options;
use race::CommandOrReason;

/// The locale of every command, if a case does not choose another.
const LOCALE: &str = "C.UTF-8";

/// Programs that fullbore is compared with.
const PEERS: &[&str] = &["wc", "cat", "rg", "grep", "cmp", "cp", "b3sum", "sha256sum", "fclones"];

/// The context of every case.
struct Bench {
    options: Options,
    place: DataSet,
    /// The program under test.
    binary: PathBuf,
    /// Its subcommands under test.
    tools: Vec<&'static str>,
    random: Xoshiro256,
    findings: Findings,
}

impl Bench {
    /// One of fullbore's tools with arguments, or the reason why it is missing. Its output goes to a file.
    fn ours(&self, tool: &'static str, words: &[&str]) -> CommandOrReason {
        if !self.tools.contains(&tool) {
            return Err(format!("fullbore has no subcommand {tool}"));
        }
        let line =
            CommandLine::new(&self.binary, [tool]).all_words(words).locale(LOCALE).within(self.place.root());
        Ok(line.answer(&self.place.path("answers/ours")))
    }

    /// A peer with arguments, or the reason why it is missing. Its output goes to a file.
    fn peer(&self, name: &str, words: &[&str]) -> CommandOrReason {
        let program = directory::peer_in(&self.options.peers, name)
            .ok_or_else(|| format!("no {name} in PATH or --peers"))?;
        let line = CommandLine::new(&program, words).locale(LOCALE).within(self.place.root());
        Ok(line.answer(&self.place.path(&format!("answers/{name}"))))
    }
}

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    if words.first().is_some_and(|word| word == account::WORD) {
        return account::run(&words[1..]);
    }
    let cases = cases::all();
    let outcome = match options::parse(words, &cases) {
        Ok(options::Request::Run(options)) => run(*options, &cases),
        Ok(options::Request::Say(text)) => {
            println!("{text}");
            Ok(true)
        }
        Err(error) => Err(error),
    };
    exit("tools", outcome)
}

/// Runs the selected cases; true if every bound was kept.
fn run(mut options: Options, cases: &[Case]) -> Attempt<bool> {
    let chosen: Vec<&Case> = cases.iter().filter(|case| options.wants(cases, case.name)).collect();
    if chosen.is_empty() {
        return Err("--only matches no case; --list prints them".into());
    }
    options.dir = options.dir.canonicalize().map_err(|error| format!("--dir: {error}"))?;
    let binary = binary::find(options.binary.as_deref())?;
    let place = DataSet::make(&options)?;
    let findings = Findings::new(context(&place, &binary, &options), options.markdown.clone());
    let random = Xoshiro256::seeded(options.seed);
    let tools = cases::TOOLS.iter().copied().filter(|tool| exists(&binary, tool)).collect();
    let mut bench = Bench { options, place, binary, tools, random, findings };
    bench.findings.introduce();
    for case in chosen {
        bench.findings.begin(case.name, case.title);
        let quiet = quiet::Watch::start();
        if let Err(error) = (case.run)(&mut bench) {
            bench.findings.record_error(case.title, &*error);
        }
        if let Some(objection) = quiet.ok().and_then(|watch| watch.objection()) {
            bench.findings.note(format!("NOISE {objection}"));
        }
    }
    bench.findings.table();
    bench.findings.conclude()?;
    Ok(bench.findings.all_kept())
}

/// True if the program has a subcommand.
fn exists(binary: &Path, tool: &str) -> bool {
    CommandLine::new(binary, [tool, "--help"]).run().is_ok()
}

/// The programs compared, and their environment.
fn context(place: &DataSet, binary: &Path, options: &Options) -> Vec<String> {
    let version = |program: &Path| {
        let said = CommandLine::new(program, ["--version"]).output().unwrap_or_default();
        said.lines().next().unwrap_or("unknown version").to_owned()
    };
    let text = match &options.text {
        Some(text) => format!("text: {}, {}", text.display(), fullbore::size::human(options.size)),
        None => format!("text: generated words, {}", fullbore::size::human(options.size)),
    };
    let mut context = vec![
        format!("{} against its peers, {} rounds, seed {}", version(binary), options.rounds, options.seed),
        format!("{text}; {} files in the largest tree; saved profiles are ignored", options.files),
    ];
    for name in PEERS {
        context.push(match directory::peer_in(&options.peers, name) {
            Some(program) => format!("{name}: {}", version(&program)),
            None => format!("{name}: not here"),
        });
    }
    context.extend(judging::place(&place.path("answers")));
    context
}
