//! SIGKILL at any moment of a copy, many times over: the destination is the old file or the new one, whole, and what is
//! left beside it is hidden.

use std::collections::BTreeSet;
use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::{TestDir, bytes, run, start, transform};

/// How long there are rounds.
const ROUNDS: Duration = Duration::from_secs(5);
/// Big enough to be met in the middle, small enough for many rounds.
const LENGTH: usize = 12 << 20;

#[test]
fn a_copy_that_is_killed_leaves_the_old_file_or_the_new_one() {
    if !fullbore_testkit::runs_all("copies that are killed") {
        return;
    }
    let dir = TestDir::new();
    let inputs = [bytes(LENGTH, 11), bytes(LENGTH + 4567, 12)];
    let paths = [dir.file("a", &inputs[0]), dir.file("b", &inputs[1])];
    let output = dir.file("out", &inputs[1]);
    let ways: Vec<Vec<&str>> = ["none", "data", "full"]
        .into_iter()
        .flat_map(|sync| {
            ["auto", "cci", "cci-mt", "cci-mm"].map(|strategy| vec!["--sync", sync, "--strategy", strategy])
        })
        .collect();
    // How long each way takes undisturbed, so that every moment of it is met.
    let longest: Vec<Duration> = ways
        .iter()
        .map(|way| {
            let begin = Instant::now();
            run(&mut transform("none", &paths[1], &output, way)).succeeds();
            begin.elapsed()
        })
        .collect();
    let (mut there, mut rounds, mut killed) = (1, 0usize, 0);
    let mut outcomes = BTreeSet::new();
    let begin = Instant::now();
    while begin.elapsed() < ROUNDS || rounds < ways.len() {
        let way = rounds % ways.len();
        let coming = 1 - there;
        let running = start(&mut transform("none", &paths[coming], &output, &ways[way]));
        // A sequence that falls evenly everywhere (the golden ratio's multiples).
        sleep(longest[way].mul_f64((rounds as f64 * 0.618_034).fract() * 1.1));
        running.signal(Signal::KILL);
        let ended = running.end();
        rounds += 1;
        killed += u32::from(ended.code() == 137);
        let found = fs::read(&output).unwrap();
        if found == inputs[coming] {
            there = coming;
        } else {
            assert!(found == inputs[there], "{:?}, round {rounds}: neither old nor new", ways[way]);
            assert_eq!(ended.code(), 137, "{:?}, round {rounds}: {ended}", ways[way]);
        }
        outcomes.insert((ended.code(), there == coming));
        for name in dir.names() {
            if !["a", "b", "out"].contains(&name.as_str()) {
                assert!(name.starts_with(".out.fullbore-"), "{:?}: {name} was left behind", ways[way]);
                fs::remove_file(dir.at(&name)).unwrap();
            }
        }
    }
    println!("{killed} of {rounds} runs were killed before their end");
    assert!(outcomes.contains(&(137, false)), "no run was met in the middle");
    assert!(killed >= 10, "{killed} of {rounds}");
}
