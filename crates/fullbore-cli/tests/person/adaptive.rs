//! Long runs: contenders are tried, results stay, and later runs learn.

use crate::support::*;
use std::collections::BTreeMap;
use std::time::SystemTime;

/// The length of the test files in bytes: long enough for a trial in the page cache.
const LEN: usize = 512 << 20;

/// Writes a file long enough for a trial, of lines, all in the page cache; returns the number of lines.
fn long_file(dir: &TestDir, len: usize) -> usize {
    const BLOCK: usize = 4 << 20;
    // Text, so that searches see lines.
    let text = |byte: u8| b"abcdefghijklmno\n"[usize::from(byte) % 16];
    let block: Vec<u8> = bytes(BLOCK, 7).into_iter().map(text).collect();
    let mut file = File::create(dir.at("input")).unwrap();
    (0..len / BLOCK).for_each(|_| file.write_all(&block).unwrap());
    len / BLOCK * block.iter().filter(|&&byte| byte == b'\n').count()
}

/// The first result of up to eight runs. The noise of the first samples decides if a trial is expected to pay: while other tests
/// take the processors, and where the clock of CPU time has long ticks, as that of Windows, a run may do without one.
fn of_runs<T>(mut run: impl FnMut() -> Option<T>) -> T {
    (0..8).find_map(|_| run()).expect("none of eight runs had a trial")
}

/// The trials of a run with `--json --explain`.
fn trials(summary: &Value) -> Vec<Value> {
    summary["run"]["plans"][0]["trials"].as_array().unwrap().clone()
}

#[test]
fn a_long_run_tries_contenders_and_explains_its_choice() {
    let dir = TestDir::new();
    let lines = long_file(&dir, LEN);
    let trials = of_runs(|| {
        let run = dir.run("wc -l --explain --json input").succeeds();
        // Or of each kind of parts, if the system has dropped a part of the file from the page cache.
        let tries = ["  tries: ", "  cached parts: tries "].iter().any(|line| run.stderr.contains(line));
        assert!(tries, "{}", run.stderr);
        assert!(run.text().contains(&lines.to_string()), "{}", run.text());
        let trials = trials(&run.json());
        assert_eq!(run.stderr.contains("  tried "), !trials.is_empty(), "{}", run.stderr);
        // A trial in which the first contender is clearly ahead measures no other.
        Some(trials)
            .filter(|trials| trials.first().is_some_and(|trial| trial["tried"].as_array().unwrap().len() > 1))
    });
    let tried = trials[0]["tried"].as_array().unwrap();
    assert!(tried.len() > 1 && tried.iter().all(|tried| tried["rate"].as_f64().unwrap() > 0.0), "{trials:?}");
    assert!(tried.iter().any(|tried| tried["strategy"] == trials[0]["chosen"]), "{trials:?}");
}

#[test]
fn specified_fields_stay_and_a_specified_strategy_is_not_changed() {
    let dir = TestDir::new();
    long_file(&dir, LEN);
    let tried = |strategy: &str| -> Vec<String> {
        let run = dir.run(&format!("wc -l --explain --json --strategy {strategy} input")).succeeds();
        let trials = trials(&run.json()).into_iter();
        trials
            .flat_map(|trial| trial["tried"].as_array().unwrap().clone())
            .map(|tried| tried["strategy"].as_str().unwrap().to_owned())
            .collect()
    };
    // A run that has a choice may do without trials, too.
    for strategy in ["method=buffered,request=512K", "workers=2"] {
        let run = dir.run(&format!("wc -l --explain --json --strategy {strategy} input")).succeeds().json();
        let plan = &run["run"]["plans"][0];
        let lists = ["contenders", "cached_parts"].map(|list| &plan[list]);
        assert!(plan["strategy"].is_string() && lists == [&Value::Null; 2], "{strategy}: {plan}");
    }
    let fixed = of_runs(|| Some(tried("auto,workers=1")).filter(|tried| tried.len() > 1));
    assert!(fixed.iter().all(|strategy| strategy.contains(",workers=1,")), "{fixed:?}");
}

/// Of a cached file, too, which `auto` would map.
#[test]
fn a_cache_policy_binds_every_contender() {
    let dir = TestDir::new();
    long_file(&dir, LEN);
    for policy in ["drop", "direct"] {
        let run = dir.run(&format!("wc -l --cache {policy} --explain --json input")).succeeds().json();
        let plan = &run["run"]["plans"][0];
        // A file system without the policy gets a note.
        let emulated = plan["notes"].to_string().contains("instead of");
        // Lists of cached and other parts, if the system has dropped a part of the file from the page cache.
        let lists = ["contenders", "cached_parts", "other_parts"].map(|list| plan[list].as_array());
        let strategies: Vec<&str> = lists
            .into_iter()
            .flatten()
            .flatten()
            .chain([&plan["strategy"]])
            .filter_map(Value::as_str)
            .collect();
        assert!(!strategies.is_empty(), "{plan}");
        for strategy in strategies {
            assert!(emulated || strategy.contains(&format!("cache={policy}")), "{strategy}");
        }
        let tried = trials(&run).into_iter().flat_map(|trial| trial["tried"].as_array().unwrap().clone());
        for tried in tried {
            assert!(emulated || tried["strategy"].as_str().unwrap().contains(policy), "{tried}");
        }
    }
}

/// Half cached files, of which one is just long enough for a trial, and one too short.
#[test]
fn every_tool_has_the_same_result_with_and_without_trials() {
    for len in [260 << 20, 40 << 20] {
        every_tool_has_the_same_result_of(len);
    }
}

fn every_tool_has_the_same_result_of(len: usize) {
    let dir = TestDir::new();
    long_file(&dir, len);
    fs::copy(dir.at("input"), dir.at("other")).unwrap();
    // Half of it is not in the page cache, on a file system that can drop it.
    fs::File::options().write(true).open(dir.at("input")).unwrap().sync_all().unwrap();
    let input = fullbore::file::File::open(dir.at("input")).unwrap();
    let halve = || {
        let _ = input.drop_cache();
        input.read_exact_at(&mut vec![0; len / 2], len as u64 / 2).unwrap();
        let share = fullbore::probe::residency(&input, 0..len as u64).ok().and_then(|found| found.share());
        share.is_some_and(|share| share < 0.7)
    };
    let halves = halve();
    for words in [
        "wc input",
        "grep -c abc input",
        "grep -n bad input",
        "sum input",
        "sum -a sha256 input",
        "cmp input other",
    ] {
        let fixed = dir.run(&format!("{words} --strategy method=buffered,workers=1,request=256K")).stdout;
        halve();
        assert!(dir.run(words).stdout == fixed, "{words}");
    }
    for words in ["copy input out", "transform shift:0 input out", "transform shift:0 --overwrite input out"]
    {
        halve();
        dir.run(words).succeeds();
        assert!(dir.read("out") == dir.read("other"), "{words}");
    }
    if !halves {
        println!("skipped: strategies of parts: no half of a file leaves the page cache");
    } else if len < 256 << 20 {
        halve();
        let explained = dir.run("wc --explain input").succeeds().stderr;
        assert!(explained.contains("cached parts: ") && explained.contains("other parts: "), "{explained}");
    }
}

#[test]
fn runs_learn_unless_they_are_told_not_to() {
    let dir = TestDir::new();
    long_file(&dir, LEN);
    let place = dir.at("config/fullbore/learned.json");
    dir.directories(["config"]);
    dir.run("wc -l --no-learn input").succeeds();
    let mut forbidden = dir.command("wc -l input");
    run(forbidden.env("FULLBORE_LEARN", "0")).succeeds();
    assert!(!place.exists());
    // A contender that was compared with no other teaches nothing.
    let trials = of_runs(|| {
        let mut trials = trials(&dir.run("wc -l --explain --json input").succeeds().json());
        trials.retain(|trial| trial["tried"].as_array().unwrap().len() > 1);
        (!trials.is_empty()).then_some(trials)
    });
    // A run whose rate changed tried its contenders again.
    let mut tried: BTreeMap<&str, u64> = BTreeMap::new();
    for contender in trials.iter().flat_map(|trial| trial["tried"].as_array().unwrap()) {
        *tried.entry(contender["strategy"].as_str().unwrap()).or_default() += 1;
    }
    let shown = dir.run("profile show --json").succeeds().json();
    let learned = shown["learned"].as_array().unwrap().iter();
    let counts: BTreeMap<&str, u64> = learned
        .map(|figure| (figure["strategy"].as_str().unwrap(), figure["count"].as_u64().unwrap()))
        .collect();
    assert!(!counts.is_empty() && counts == tried, "{shown}\n{trials:?}");
    // No path and no name is kept.
    let text = fs::read_to_string(&place).unwrap();
    assert!(!text.contains("input") && !text.contains(dir.path().to_str().unwrap()), "{text}");
    // Not twice in a second.
    let before = fs::read(&place).unwrap();
    let mut young = fs::metadata(&place).unwrap().modified().unwrap();
    dir.run("wc -l input").succeeds();
    if young.elapsed().unwrap() < Duration::from_secs(1) {
        assert_eq!(fs::read(&place).unwrap(), before);
    }
    young = SystemTime::now() - Duration::from_secs(10);
    fs::File::options().write(true).open(&place).unwrap().set_modified(young).unwrap();
    let run = dir.run("wc -l --explain input").succeeds();
    assert!(run.stderr.contains("because: learned: "), "{}", run.stderr);
    // A file too short for a trial is read as longer ones were.
    long_file(&dir, 64 << 20);
    let cached = |file: &fullbore::file::File| {
        fullbore::probe::residency(file, 0..64 << 20).ok().and_then(|found| found.share()) == Some(1.0)
    };
    if fullbore::file::File::open(dir.at("input")).is_ok_and(|file| cached(&file)) {
        let run = dir.run("wc -l --explain input").succeeds();
        assert!(run.stderr.contains("because: learned: "), "{}", run.stderr);
    }
    assert!(dir.run("profile show").succeeds().text().contains("learned for "));
    dir.run("profile forget").succeeds();
    assert!(!place.exists());
    dir.run("profile forget").fails(1, &["nothing to forget"]);
}
