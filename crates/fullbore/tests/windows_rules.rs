//! Transformations by every named strategy, and copies, under rules of Windows that neither Linux nor Wine enforces.

use std::fs;

#[cfg(windows)]
use fullbore::Job;
use fullbore::engine::{Availability, METHODS};
use fullbore::error::{ErrorKind, Result};
use fullbore::fault::{Fault, Plan};
use fullbore::file::{Durability, File, Output, Placement};
use fullbore::operation::{self, Kernel};
use fullbore::strategy::NAMED;
use fullbore_testkit::ground::{bytes, everywhere, supported_or_skip};

mod planned;

/// Length of the files: many requests, not a multiple of the sector.
const LENGTH: usize = 3 * (1 << 20) + 777;
/// The named strategies, and every method that bypasses the page cache.
fn strategies() -> Vec<String> {
    let mut strategies: Vec<String> = NAMED.iter().map(|named| named.name.to_owned()).collect();
    for method in METHODS {
        let (name, capabilities) = (method.name, &method.capabilities);
        let depth = capabilities.depth.min(4);
        match capabilities.direct {
            Availability::Never => {}
            Availability::ByPolicy => strategies.push(format!("method={name},cache=direct,depth={depth}")),
            Availability::Always => strategies.push(format!("method={name},depth={depth}")),
        }
    }
    strategies.push("method=direct,request=64K,workers=2".to_owned());
    strategies
}

/// Shifts the bytes of a file into an output, by a strategy; false if the strategy is unavailable.
fn transform(strategy: &str, source: &File, target: Output) -> Result<bool> {
    let operation = operation::parse("shift:1", Kernel::Simd).unwrap();
    planned::transform(&*operation, strategy, source, target, Durability::None)
}

fn shifted(content: &[u8]) -> Vec<u8> {
    content.iter().map(|byte| byte.wrapping_add(1)).collect()
}

/// A device with sectors of 4096 bytes, under a system that refuses to truncate a mapped file.
fn strict() -> Plan {
    Plan::new(1).with(Fault::Sectors { size: 4096 }).with(Fault::Mapped)
}

#[test]
fn every_strategy_obeys_the_rules() {
    everywhere(|directory| {
        let content = bytes(LENGTH, 1);
        let (input, path) = (directory.join("in"), directory.join("out"));
        fs::write(&input, &content).unwrap();
        let (mut ran, mut direct) = (0, 0);
        for strategy in strategies() {
            // A new file, a replaced one, and those that are overwritten: shorter and longer.
            for (old, placement) in [
                (None, Placement::Replace),
                (Some(100), Placement::Replace),
                (Some(100_000), Placement::Overwrite),
                (Some(LENGTH + 10_000), Placement::Overwrite),
            ] {
                if let Some(old) = old {
                    fs::write(&path, vec![7; old]).unwrap();
                }
                let (reading, writing) = (strict(), strict());
                let source = File::open(&input).unwrap().with_faults(&reading);
                let target =
                    Output::create_with(&path, placement, Some(&source)).unwrap().with_faults(&writing);
                let name = format!("{strategy}, {placement:?} {old:?}");
                if !transform(&strategy, &source, target).unwrap_or_else(|error| panic!("{name}: {error}")) {
                    println!("skipped: {name} in {}", directory.display());
                    let _ = fs::remove_file(&path);
                    break;
                }
                assert!(fs::read(&path).unwrap() == shifted(&content), "{name}");
                let refused = reading.counts().refused + writing.counts().refused;
                assert_eq!(refused, 0, "{name}: {:?} {:?}", reading.events(), writing.events());
                ran += 1;
                direct += reading.counts().direct + writing.counts().direct;
                fs::remove_file(&path).unwrap();
            }
        }
        assert!(ran >= 30, "only {ran} runs in {}", directory.display());
        println!("{ran} runs with {direct} direct transfers in {}", directory.display());
        let alignment = fullbore::probe::direct_alignment(File::open(&input).unwrap());
        let alignment = supported_or_skip(directory, true, "direct transfers", alignment);
        assert!(alignment.is_none() || direct > 100, "{direct} direct transfers");
    });
}

/// A file that a run changes in place gets its old length back if the run fails, also by a mapping.
#[test]
fn a_failed_run_over_a_shorter_file_restores_its_length() {
    everywhere(|directory| {
        let content = bytes(LENGTH, 2);
        let (input, path) = (directory.join("in"), directory.join("out"));
        fs::write(&input, &content).unwrap();
        for strategy in ["cci-mm", "cci-mtmm", "method=mmap,workers=2,request=64K"] {
            fs::write(&path, vec![7; 5000]).unwrap();
            let writing = strict();
            let reading = Plan::new(1).with(Fault::IoErrorAt { offset: LENGTH as u64 / 2 });
            let source = File::open(&input).unwrap().with_faults(&reading);
            let target = Output::create_with(&path, Placement::Overwrite, Some(&source)).unwrap();
            let result = transform(strategy, &source, target.with_faults(&writing));
            assert_eq!(result.unwrap_err().kind(), ErrorKind::Io, "{strategy}");
            assert_eq!(writing.counts().refused, 0, "{strategy}: truncated before it was unmapped");
            assert_eq!(fs::metadata(&path).unwrap().len(), 5000, "{strategy}");
        }
    });
}

#[test]
fn a_locked_input_or_a_held_output_is_explained_and_leaves_the_old_output() {
    let locked = |offset| Fault::Locked { offset, len: 1 };
    everywhere(|directory| {
        let (input, path) = (directory.join("in"), directory.join("out"));
        fs::write(&input, bytes(LENGTH, 3)).unwrap();
        fs::write(&path, b"old").unwrap();
        // The fault, its file, and words of the error.
        for (fault, place, words) in [
            (locked(0), &input, "has locked these bytes"),
            (locked(LENGTH as u64 / 2), &input, "has locked these bytes"),
            (Fault::Held, &path, "open without sharing"),
        ] {
            let mut stopped = 0;
            for strategy in strategies() {
                let name = format!("{strategy}, {fault:?}");
                let (plan, quiet) = (Plan::new(1).with(fault), Plan::new(1));
                let [reading, writing] = if place == &input { [&plan, &quiet] } else { [&quiet, &plan] };
                let source = File::open(&input).unwrap().with_faults(reading);
                let target = Output::create_with(&path, Placement::Replace, Some(&source)).unwrap();
                match transform(&strategy, &source, target.with_faults(writing)) {
                    Ok(false) => continue,
                    // Locks do not bind mapped bytes.
                    Ok(true) => {
                        assert!(fault != Fault::Held && plan.counts().refused == 0, "{name}");
                        fs::write(&path, b"old").unwrap();
                    }
                    Err(error) => {
                        stopped += 1;
                        assert_eq!((error.kind(), error.path()), (ErrorKind::Locked, &**place), "{name}");
                        assert!(error.to_string().contains(words), "{name}: {error}");
                        assert_eq!(fs::read(&path).unwrap(), b"old", "{name}");
                    }
                }
                assert_eq!(fs::read_dir(directory).unwrap().count(), 2, "{name}");
            }
            assert!(stopped >= 5, "{fault:?}: only {stopped} runs were stopped");
        }
    });
}

/// Wine implements share modes, so the holder is real.
#[cfg(windows)]
#[test]
fn a_copy_over_a_held_file_loses_nothing() {
    use std::os::windows::fs::OpenOptionsExt as _;
    use std::path::PathBuf;

    use fullbore::pattern::{CopyEvent, CopyOptions};

    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().to_str().unwrap().replace('\\', "/");
    let [source, target] = ["source", "target"].map(|name| PathBuf::from(format!("{place}/{name}")));
    for len in [10, LENGTH] {
        fs::write(&source, bytes(len, 5)).unwrap();
        fs::write(&target, b"old").unwrap();
        let run = || {
            let reported = std::sync::Mutex::new(Vec::new());
            let report = |event: CopyEvent| reported.lock().unwrap().push(event.to_string());
            let stats = Job::new().copy_with([(&source, &target)], &CopyOptions::default(), report);
            (stats.is_ok_and(|stats| stats.failed == 0), reported.into_inner().unwrap())
        };
        for share in [0, 1] {
            let holder = fs::OpenOptions::new().read(true).share_mode(share).open(&target).unwrap();
            let (whole, reported) = run();
            assert!(!whole && reported.iter().any(|text| text.contains("without sharing")), "{reported:?}");
            drop(holder);
            assert_eq!(fs::read(&target).unwrap(), b"old");
            assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
        }
        let (whole, reported) = run();
        assert!(whole, "{len}: {reported:?}");
        assert!(fs::read(&target).unwrap() == bytes(len, 5));
    }
}
