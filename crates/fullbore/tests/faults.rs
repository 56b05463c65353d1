//! Transforms under every fault: the bytes or the error are right.

use std::fs;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use fullbore::Job;
use fullbore::buf::Direction;
use fullbore::error::Result;
use fullbore::fault::Fault;
use fullbore::fault::Plan;
use fullbore::file::{Durability, File, Output, Placement};
use fullbore::operation::{self, Kernel, Part, Search};
use fullbore::pattern::{CopyOptions, Progress, copy_file};
use fullbore::strategy::NAMED;
use fullbore::strategy::{Planner, StrategySpec};
use fullbore_testkit::ground::build_directory;
use fullbore_testkit::ground::{bytes, everywhere};

#[path = "../../fullbore-io/tests/engines/cases.rs"]
mod cases;
mod planned;

use cases::{LENGTH, faults_of};

/// Runs `none` by a strategy from a file under one plan to an output under another; false if the strategy is unavailable.
fn transform(strategy: &str, input: (&Path, &Plan), output: (&Path, &Plan)) -> Result<bool> {
    let source = File::open(input.0)?.with_faults(input.1);
    let target = Output::create_with(output.0, Placement::Replace, Some(&source))?.with_faults(output.1);
    let operation = operation::parse("none", Kernel::Simd).unwrap();
    planned::transform(&*operation, strategy, &source, target, Durability::Full)
}

/// The source cannot be read again: its hash is compared.
#[test]
fn one_bit_that_the_device_changed_is_found_in_the_copy_of_a_pipe() {
    let directory = tempfile::tempdir_in(build_directory()).unwrap();
    let path = directory.path().join("target");
    let content = bytes((9 << 20) + 5, 3);
    let options = CopyOptions { verify: true, ..CopyOptions::default() };
    for rotten in [None, Some(0), Some((8 << 20) + 4097)] {
        let (exit, entry) = fullbore::sys::pipe().unwrap();
        let input = File::from_fd(exit, "pipe").unwrap();
        let plan = rotten.map_or(Plan::new(1), |offset| Plan::new(1).with(Fault::BitRot { offset }));
        let output = Output::create(&path).unwrap().with_faults(&plan);
        let result = std::thread::scope(|scope| {
            scope.spawn(|| fs::File::from(entry).write_all(&content).unwrap());
            let spec = StrategySpec::default();
            copy_file(&input, output, (&options, Planner::new(&spec)), &Progress::default())
        });
        let Some(offset) = rotten else {
            assert_eq!(result.unwrap().verified, content.len() as u64);
            assert!(fs::read(&path).unwrap() == content);
            fs::remove_file(&path).unwrap();
            continue;
        };
        let error = result.unwrap_err();
        assert_eq!((error.operation(), error.offset()), ("verify", Some(offset / (4 << 20) * (4 << 20))));
        assert!(!path.exists(), "the copy is discarded");
    }
}

#[test]
fn transforms_are_correct_or_keep_the_old_file() {
    everywhere(|directory| {
        let content = bytes(LENGTH, 6);
        let (input, output) = (directory.join("in"), directory.join("out"));
        fs::write(&input, &content).unwrap();
        let mut ran = 0;
        for strategy in NAMED.iter().map(|named| named.name) {
            for (seed, (fault, outcome, _)) in faults_of(Direction::Write).into_iter().enumerate() {
                fs::write(&output, b"old").unwrap();
                let quiet = Plan::new(seed as u64);
                let plan = Plan::new(seed as u64).with(fault);
                match transform(strategy, (&input, &quiet), (&output, &plan)) {
                    Ok(false) => break,
                    result => {
                        ran += 1;
                        let failed = result.is_err();
                        // The number of the strategy's calls decides if the fault occurs.
                        let found = fs::read(&output).unwrap();
                        if failed {
                            outcome.judge(&format!("{strategy} {fault:?}"), &plan, |_| true, result);
                        }
                        let right = if failed { b"old".as_slice() } else { &content };
                        assert!(found == right, "{strategy} {fault:?}: failed: {failed}");
                        assert_eq!(fs::read_dir(directory).unwrap().count(), 2, "{strategy} {fault:?}");
                    }
                }
            }
        }
        assert!(ran >= 30, "only {ran} runs in {}", directory.display());
    });
}

// Directories of Windows have no pipes.
#[cfg(unix)]
#[test]
fn pipes_are_transformed_correctly_under_every_fault() {
    let directory = tempfile::tempdir().unwrap();
    let (input, output) = (directory.path().join("in"), directory.path().join("out"));
    fullbore_testkit::ground::fifo(&input);
    fullbore_testkit::ground::fifo(&output);
    let content = bytes(LENGTH, 7);
    // Pipes have no buffers to limit and no requests to count.
    let cases = faults_of(Direction::Write).into_iter();
    for (fault, outcome, struck) in
        cases.filter(|(fault, ..)| !matches!(fault, Fault::Buffers { .. } | Fault::IoErrorOn { .. }))
    {
        for faulty_output in [false, true] {
            if matches!(fault, Fault::NoSpace { .. }) && !faulty_output {
                continue;
            }
            let (quiet, plan) = (Plan::new(1), Plan::new(2).with(fault));
            let (reading, writing) = if faulty_output { (&quiet, &plan) } else { (&plan, &quiet) };
            let (result, found) = std::thread::scope(|scope| {
                // Fails once the transform stops reading.
                scope.spawn(|| fs::write(&input, &content));
                let found = scope.spawn(|| fs::read(&output).unwrap());
                let result = transform("request=16K,workers=2", (&input, reading), (&output, writing));
                (result, found.join().unwrap())
            });
            let whole = found == content;
            assert!(content.starts_with(&found), "{fault:?}: wrong bytes");
            let name = format!("{fault:?}, output: {faulty_output}");
            outcome.judge(&name, &plan, struck, result.map(|ran| ran && whole));
        }
    }
}

/// The bytes after the last result that is needed may be unreadable.
#[test]
fn an_error_after_the_last_result_that_is_needed_is_none() {
    struct Lengths;
    impl Search for Lengths {
        type Found = usize;
        fn search(&self, part: &Part<'_>) -> usize {
            part.own().len()
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    fs::write(&path, b"seven 7\n".repeat(4 << 20)).unwrap();
    let plan = Plan::new(1).with(Fault::IoErrorAt { offset: 16 << 20 });
    let file = File::open(&path).unwrap().with_faults(&plan);
    let wait = |_| {
        let start = Instant::now();
        while plan.counts().io_errors == 0 && start.elapsed() < Duration::from_secs(60) {
            std::thread::yield_now();
        }
        Ok(ControlFlow::Break(()))
    };
    let job = Job::new().strategy("method=buffered,request=1M,stripe=1M,workers=2").unwrap();
    job.search(&Lengths, &file, wait).unwrap();
    assert_eq!(plan.counts().io_errors, 1);
}
