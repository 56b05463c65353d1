//! Other commands are measured beside fullbore's: those that are installed, and only if their output is right.
// GNU programs as peers, and shell scripts in their place.
#![cfg(unix)]

mod measuring;

use std::path::{Path, PathBuf};
use std::process::Stdio;

use fullbore_bench::Options;
use fullbore_bench::document::{Cell, Document};
use fullbore_bench::experiment::built_in;
use fullbore_testkit::ground::write_file;
use fullbore_testkit::processes::{alone, copy_program};
use measuring::{document, experiment, on_disk, options, sampled, until, was_measured};

/// Set in a process that measures with substituted tools.
const STAGED: &str = "FULLBORE_TEST_STAGED";

fn program() -> Option<PathBuf> {
    let this = std::env::current_exe().unwrap();
    let built = this.parent()?.parent()?.join("fullbore");
    built.is_file().then_some(built)
}

fn measure(directory: &Path, grids: &str) -> Document {
    document(&Options { program: program(), ..options(directory, experiment(grids), 16, 20) })
}

fn measured(cell: &Cell) -> bool {
    was_measured(cell, |why| ["not installed", "is unknown", "GNU"].iter().any(|part| why.contains(part)))
}

#[test]
fn peer_commands_are_measured() {
    let directory = on_disk();
    let utilities = built_in("utilities").unwrap().text;
    let options = |seconds| options(directory.path(), utilities, 16, seconds);
    let measure = |seconds| document(&Options { program: program(), ..options(seconds) });
    let document = until([30, 90, 180], measure, |document| sampled(document, 1));
    assert_eq!(document.cells.len(), 38);
    let measured: Vec<&Cell> = document.cells.iter().filter(|cell| measured(cell)).collect();
    for cell in &measured {
        for sample in &cell.samples {
            let twice = if cell.labels.operation == "compare" { 2 } else { 1 };
            assert_eq!(sample.bytes, twice * (16 << 20), "{}", cell.id);
            assert!(sample.seconds > 0.0 && sample.user_s + sample.system_s > 0.0, "{}: {sample:?}", cell.id);
        }
        // The kernel may reclaim pages of the cache at any time.
        let contradicted = cell.samples.iter().filter(|sample| !sample.usable()).count();
        assert!(2 * contradicted <= cell.samples.len(), "{}: {:?}", cell.id, cell.samples);
        let Some(peer) = &cell.labels.peer else { continue };
        let beside = document.findings.peers.iter().find(|ratio| ratio.peer_cell == cell.id);
        match program() {
            Some(_) => assert!(beside.is_some_and(|ratio| ratio.peer == *peer), "{}", cell.id),
            None => assert!(beside.is_none()),
        }
    }
    assert!(measured.iter().any(|cell| cell.labels.peer.is_some()), "no tool at all");
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0, "nothing is left");
}

#[test]
fn a_tool_that_answers_wrongly_or_fails_is_left_out() {
    if std::env::var_os(STAGED).is_some() {
        return staged();
    }
    let stage = on_disk();
    for (name, script) in [("wc", "#!/bin/sh\necho 42\n"), ("cmp", "#!/bin/sh\necho no >&2\nexit 3\n")] {
        let source = write_file(&stage, &format!("{name}.sh"), script);
        copy_program(source, &stage.path().join(name));
    }
    let path = format!("{}:{}", stage.path().display(), std::env::var("PATH").unwrap_or_default());
    let output = alone("a_tool_that_answers_wrongly_or_fails_is_left_out")
        .env("PATH", path)
        .env(STAGED, "1")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Runs in a process with substitutes for `wc` and `cmp` in its `PATH`.
fn staged() {
    let directory = on_disk();
    let document = measure(
        directory.path(),
        "
        [[experiment.grid]]
        action = 'command'
        task = 'count lines'
        tool = 'wc'
        cache = 'warm'
        [[experiment.grid]]
        action = 'command'
        task = 'compare'
        tool = 'cmp'
        cache = 'warm'
        ",
    );
    let reasons: Vec<&str> =
        document.cells.iter().map(|cell| cell.skipped.as_deref().unwrap_or("")).collect();
    assert!(reasons[0].contains("wrong result"), "{reasons:?}");
    assert!(reasons[1].contains("exit status: 3: no"), "{reasons:?}");
}
