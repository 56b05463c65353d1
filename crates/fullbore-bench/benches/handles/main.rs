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
mod interleaving;
#[path = "../judging/mod.rs"]
mod judging;
mod options;

use std::process::ExitCode;

use calls::Counter;
use case::{Case, Demand};
use files::BenchFiles;
use fullbore_bench::stats::Xoshiro256;
use interleaving::Series;
use judging::finding::{Bound, Finding, Findings};
use judging::{Attempt, exit, quiet};
use options::Options;

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    let cases = cases::all();
    if words.first().is_some_and(|word| word == calls::WORD) {
        return exit("handles", calls::operate(&words[1..], &cases).map(|()| true));
    }
    let outcome = match options::parse(words, &cases) {
        Ok(options::Request::Run(options)) => run(&options, &cases),
        Ok(options::Request::Say(text)) => {
            println!("{text}");
            Ok(true)
        }
        Err(error) => Err(error),
    };
    exit("handles", outcome)
}

/// Runs the selected cases; true if every bound was kept.
fn run(options: &Options, cases: &[Case]) -> Attempt<bool> {
    let chosen: Vec<&Case> = cases.iter().filter(|case| options.wants(cases, &case.name)).collect();
    if chosen.is_empty() {
        return Err("--only matches no case; --list prints them".into());
    }
    let files = BenchFiles::make(&options.dir)?;
    let rounds = options.rounds;
    let mut context =
        vec![format!("fullbore's handles against their peers, {rounds} rounds, seed {}", options.seed)];
    context.extend(judging::place(&files.source(files::LARGE)));
    let mut findings = Findings::new(context, options.markdown.clone());
    findings.introduce();
    let counter = match options.calls.then(Counter::find) {
        None => None,
        Some(Ok(counter)) => Some(counter),
        Some(Err(why)) => {
            findings.skip("counting system calls", &why);
            None
        }
    };
    let mut random = Xoshiro256::seeded(options.seed);
    for case in chosen {
        findings.begin(&case.name, &case.operation);
        let quiet = quiet::Watch::start();
        let excuse = |who: &str, why: &str| println!("  skipped {who}: {why}");
        match interleaving::interleave(case, &files, rounds, &mut random, excuse) {
            Ok(series) => {
                let disturbed: usize = series.iter().map(|one| one.disturbed).sum();
                if disturbed > 0 {
                    let turns = series.len() * rounds;
                    findings.note(format!("{disturbed} of {turns} turns were preempted"));
                }
                let calls = count(case, &series, &files, counter.as_ref());
                table(&mut findings, case, &series, &calls);
                judge(&mut findings, case, &series, &calls);
            }
            Err(error) => findings.record_error(&case.name, &*error),
        }
        if let Some(objection) = quiet.ok().and_then(|watch| watch.objection()) {
            findings.note(format!("NOISE {objection}"));
        }
    }
    findings.conclude()?;
    Ok(findings.all_kept())
}

/// System calls per operation of each contender, if counted.
fn count(case: &Case, series: &[Series], files: &BenchFiles, counter: Option<&Counter>) -> Vec<Option<f64>> {
    let one = |label: &str| match counter {
        Some(counter) if case.bytes <= calls::MOST_BYTES => counter
            .count(case, label, files)
            .map_err(|error| println!("  skipped system calls of {label}: {error}"))
            .ok(),
        _ => None,
    };
    series.iter().map(|series| one(series.label)).collect()
}

/// Prints a line per contender.
fn table(findings: &mut Findings, case: &Case, series: &[Series], calls: &[Option<f64>]) {
    let std = series.iter().find(|one| one.label == "std").or(series.first());
    for (one, calls) in series.iter().zip(calls) {
        let median = one.median();
        let ratio = std.map_or(f64::NAN, |std| median / std.median());
        let rate = match case.bytes {
            0 => String::new(),
            bytes => fullbore::size::rate(bytes as f64 / median),
        };
        let calls = calls.map_or_else(|| "–".to_owned(), |calls| format!("{calls:.2}"));
        findings.note(format!(
            "{:<16} {:>10} {rate:>11} ×{ratio:<7.3} {:>9.2} allocations {calls:>9} calls",
            one.label,
            time(median),
            one.allocations,
        ));
    }
}

/// Seconds in the unit that suits them.
fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-6 => format!("{:.1} ns", s * 1e9),
        s if s < 1e-3 => format!("{:.2} µs", s * 1e6),
        s => format!("{:.2} ms", s * 1e3),
    }
}

/// Compares the measurements with the bounds of the case.
fn judge(findings: &mut Findings, case: &Case, series: &[Series], calls: &[Option<f64>]) {
    let find = |label: &str| series.iter().position(|one| one.label == label);
    for demand in &case.demands {
        let (what, ours, peer, figure, paired, bound) = match *demand {
            Demand::AtMost(ours, peer, bound) | Demand::Faster(ours, peer, bound) => {
                let (Some(mine), Some(theirs)) = (find(ours), find(peer)) else { continue };
                let (mine, theirs) = (&series[mine], &series[theirs]);
                let (ratio, paired) = (mine.median() / theirs.median(), mine.paired(theirs));
                match demand {
                    Demand::AtMost(..) => {
                        ("time", Some(mine), Some(theirs), ratio, Some(paired), Bound::AtMost(bound))
                    }
                    _ => (
                        "speed",
                        Some(mine),
                        Some(theirs),
                        1.0 / ratio,
                        Some(1.0 / paired),
                        Bound::AtLeast(bound),
                    ),
                }
            }
            Demand::AllocatesNothing(ours) => {
                let Some(mine) = find(ours).map(|mine| &series[mine]) else { continue };
                ("allocations", Some(mine), None, mine.allocations, None, Bound::AtMost(0.0))
            }
            Demand::Calls(ours, most) => {
                let Some((mine, calls)) = find(ours).and_then(|mine| Some((&series[mine], calls[mine]?)))
                else {
                    continue;
                };
                ("system calls", Some(mine), None, calls, None, Bound::AtMost(most))
            }
        };
        let said = |one: Option<&Series>| {
            one.map_or_else(String::new, |one| format!("{} {}", one.label, time(one.median())))
        };
        findings.add(Finding {
            what: format!("{}, {what}", case.name),
            ours: said(ours),
            peer: said(peer),
            figure,
            unit: "",
            paired,
            bound,
        });
    }
}
