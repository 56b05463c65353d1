//! Compares the file handles with std, the raw system calls, tokio and compio, in one process and one run.
//!
//! `cargo bench -p fullbore-bench --bench handles` runs every case: the contenders work in turns of some milliseconds, in
//! random order within each round. A line per contender has its median, ratio to std, allocations and system calls per
//! operation; a line per bound reports whether it was kept.
#![deny(unsafe_code)]

mod allocations;
mod calls;
mod case;
mod cases;
mod files;
#[path = "../harness/mod.rs"]
mod harness;
mod interleaving;

use std::process::ExitCode;

use clap::Parser;

use calls::Counter;
use case::{Case, Demand};
use files::BenchFiles;
use fullbore_bench::stats::Xoshiro256;
use harness::finding::{Bound, Finding, Findings, time};
use harness::{Attempt, exit, options};
use interleaving::{Iteration, Measured, measure};

/// Compares fullbore's file handles with std, the raw system calls, tokio::fs and compio: the cases of
/// dotnet/performance's FileStream, RandomAccess and File benchmarks, all contenders in one process.
#[derive(Parser)]
#[command(bin_name = "cargo bench -p fullbore-bench --bench handles --", args_override_self = true)]
#[command(after_help = options::EXIT_STATUS, mut_arg("rounds", |rounds| rounds.default_value("61")))]
struct Options {
    #[command(flatten)]
    common: options::CommonOptions,
    /// Do not count system calls (counting needs strace)
    #[arg(long)]
    no_calls: bool,
}

struct Bench {
    files: BenchFiles,
    rounds: usize,
    counter: Option<Counter>,
    random: Xoshiro256,
    findings: Findings,
}

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    let cases = cases::all();
    if words.first().is_some_and(|word| word == calls::WORD) {
        return exit("handles", calls::operate(&words[1..], &cases).map(|()| true));
    }
    let Options { common, no_calls } = Options::parse();
    let make = || Bench::make(&common, !no_calls);
    let rows: Vec<_> = cases
        .iter()
        .map(|case| {
            let compare = move |bench: &mut Bench| bench.compare(case);
            (case.name.as_str(), case.operation.as_str(), compare)
        })
        .collect();
    harness::run("handles", &common, &rows, make, |bench| &mut bench.findings)
}

impl Bench {
    fn make(options: &options::CommonOptions, calls: bool) -> Attempt<Self> {
        let files = BenchFiles::make(&options.dir)?;
        let (rounds, seed) = (options.rounds, options.seed);
        let mut context =
            vec![format!("fullbore's handles against their peers, {rounds} rounds, seed {seed}")];
        context.extend(harness::place(&files.source(files::LARGE)));
        let mut findings = Findings::new(context);
        let counter = calls
            .then(Counter::find)
            .and_then(|counter| counter.map_err(|why| findings.skip("counting system calls", &why)).ok());
        Ok(Self { files, rounds, counter, random: Xoshiro256::seeded(seed), findings })
    }

    fn compare(&mut self, case: &Case) -> Attempt<()> {
        let all = measure(case, &self.files, self.rounds, &mut self.random)?;
        let disturbed = all.iter().flat_map(|one| &one.series.runs).filter(|turn| turn.disturbed).count();
        if disturbed > 0 {
            let turns = all.len() * self.rounds;
            self.findings.note(format!("{disturbed} of {turns} turns were preempted"));
        }
        let calls: Vec<_> = all.iter().map(|one| self.calls(case, &one.series.label)).collect();
        table(&mut self.findings, case, &all, &calls);
        for demand in &case.demands {
            let finding = judge(demand, &case.name, &all, &calls);
            finding.into_iter().for_each(|finding| self.findings.add(finding));
        }
        Ok(())
    }

    fn calls(&self, case: &Case, label: &str) -> Option<f64> {
        let counter = self.counter.as_ref().filter(|_| case.bytes <= calls::MOST_BYTES)?;
        let count = counter.count(case, label, &self.files);
        count.map_err(|error| println!("  skipped system calls of {label}: {error}")).ok()
    }
}

fn seconds(turn: &Iteration) -> f64 {
    turn.seconds
}

fn table(findings: &mut Findings, case: &Case, all: &[Measured], calls: &[Option<f64>]) {
    let std = all.iter().find(|one| one.series.label == "std").or(all.first());
    for (one, calls) in all.iter().zip(calls) {
        let median = one.series.median(seconds);
        let ratio = std.map_or(f64::NAN, |std| median / std.series.median(seconds));
        let rate = match case.bytes {
            0 => String::new(),
            bytes => fullbore::size::rate(bytes as f64 / median),
        };
        let calls = calls.map_or_else(|| "–".to_owned(), |calls| format!("{calls:.2}"));
        findings.note(format!(
            "{:<16} {:>10} {rate:>11} ×{ratio:<7.3} {:>9.2} allocations {calls:>9} calls",
            one.series.label,
            time(median),
            one.allocations,
        ));
    }
}

/// Compares the measurements with a bound; `None` if a contender did not run, or calls were not counted.
fn judge(demand: &Demand, case: &str, all: &[Measured], calls: &[Option<f64>]) -> Option<Finding> {
    let find = |label: &str| all.iter().position(|one| one.series.label == label);
    let said = |one: &Measured| format!("{} {}", one.series.label, time(one.series.median(seconds)));
    let ratio = |what: &str, ours: &str, peer: &str, bound| {
        let (ours, peer) = (&all[find(ours)?].series, &all[find(peer)?].series);
        Some(Finding::ratio(format!("{case}, {what}"), ours, peer, seconds, time, bound))
    };
    match *demand {
        Demand::AtMost(ours, peer, bound) => ratio("time", ours, peer, Bound::AtMost(bound)),
        Demand::Faster(ours, peer, bound) => {
            ratio("speed", ours, peer, Bound::AtLeast(bound)).map(Finding::inverted)
        }
        Demand::AllocatesNothing(ours) => {
            let mine = &all[find(ours)?];
            let figure = (mine.allocations, "");
            Some(Finding::new(format!("{case}, allocations"), said(mine), figure, Bound::AtMost(0.0)))
        }
        Demand::Calls(ours, most) => {
            let mine = find(ours)?;
            let figure = (calls[mine]?, "");
            Some(Finding::new(format!("{case}, system calls"), said(&all[mine]), figure, Bound::AtMost(most)))
        }
    }
}
