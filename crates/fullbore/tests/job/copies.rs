//! Copies by a job.

use super::*;

#[test]
fn copies_accept_trees_and_return_the_first_error() {
    let (directory, path, text) = directory();
    let (source, target) = (directory.path().join("tree"), directory.path().join("copy"));
    fs::create_dir_all(source.join("inner")).unwrap();
    fs::copy(&path, source.join("inner/file")).unwrap();
    let stats = fullbore::copy(&source, &target).unwrap();
    assert_eq!((stats.files, stats.bytes()), (1, text.len() as u64));
    assert!(fs::read(target.join("inner/file")).unwrap() == text);
    let error = fullbore::copy(directory.path().join("missing"), &target).unwrap_err();
    assert!(error.to_string().contains("missing"), "{error}");
    // A copy that the rules exclude names its path, too.
    let error = fullbore::copy(&path, &path).unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::SameFile, &*path));
    let error = fullbore::copy(&source, source.join("inner/again")).unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Invalid, &*source));
}

#[test]
fn a_copy_with_options_reports_its_events() {
    let (directory, path, _) = directory();
    let target = directory.path().join("copy");
    let names: Mutex<Vec<PathBuf>> = Mutex::default();
    let options = CopyOptions { report_names: true, ..CopyOptions::default() };
    let stats = Job::new()
        .copy_with([(&path, &target)], &options, |event| {
            if let CopyEvent::Copied { target, .. } = event {
                names.lock().unwrap().push(target);
            }
        })
        .unwrap();
    assert_eq!((stats.files, names.into_inner().unwrap()), (1, vec![target]));
}

#[test]
fn a_verified_copy_reports_the_workers_that_run() {
    let (directory, path, text) = directory();
    let target = directory.path().join("copy");
    let options = CopyOptions { verify: true, report_plans: true, ..CopyOptions::default() };
    let workers = |job: Job| {
        let workers = Mutex::new(Vec::new());
        let report = |event: CopyEvent| {
            if let CopyEvent::Planned { plan, .. } = event {
                workers.lock().unwrap().push(plan.strategy.workers);
            }
        };
        job.copy_with([(&path, &target)], &options, report).unwrap();
        assert!(fs::read(&target).unwrap() == text);
        fs::remove_file(&target).unwrap();
        workers.into_inner().unwrap()
    };
    assert!(workers(Job::new())[0] >= 4, "they wait for the device");
    assert_eq!(workers(Job::new().workers(3)), [3]);
    // Two stripes of 4 MiB and a page for each, on whole huge pages.
    assert_eq!(workers(Job::new().memory_limit(21 << 20)), [2]);
}

/// A name that waits for the copy of another name makes no backup that its second turn repeats.
#[test]
fn postponed_names_are_backed_up_once() {
    use fullbore::pattern::{Backup, BackupControl, Reflink};
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    for name in ["source/a", "source/b", "target/b"] {
        fs::create_dir_all(at(name)).unwrap();
    }
    fs::write(at("source/a/x"), vec![1; 4 << 20]).unwrap();
    fs::hard_link(at("source/a/x"), at("source/b/y")).unwrap();
    fs::write(at("target/b/y"), "old").unwrap();
    let mut options = CopyOptions { recursive: true, report_plans: true, ..CopyOptions::default() };
    options.preserve.links = true;
    options.reflink = Reflink::Never;
    options.backup = Some(Backup { control: BackupControl::Numbered, suffix: "~".into() });
    // While one name is being copied, the other worker reaches the other name.
    let wait = |event| {
        let begin = std::time::Instant::now();
        if let CopyEvent::Planned { .. } = event {
            while !at("target/b/y.~1~").exists() && begin.elapsed().as_millis() < 500 {
                std::thread::yield_now();
            }
        }
    };
    let pairs = [(at("source/."), at("target/."))];
    let stats = Job::new().workers(2).copy_with(pairs, &options, wait).unwrap();
    assert_eq!((stats.failed, stats.files, stats.hard_links), (0, 1, 1));
    assert_eq!(fs::read(at("target/b/y.~1~")).unwrap(), b"old");
    assert!(!at("target/b/y.~2~").exists());
}

#[test]
fn blocks_are_not_shared_where_holes_are_made_or_filled() {
    let (directory, path, _) = directory();
    let target = directory.path().join("copy");
    for sparse in [Sparse::Never, Sparse::Always] {
        let options = CopyOptions { reflink: Reflink::Always, sparse, ..CopyOptions::default() };
        let stats = Job::new().copy_with([(&path, &target)], &options, |_| ()).unwrap();
        assert_eq!((stats.files, stats.failed), (0, 1));
        assert!(!target.exists(), "{sparse:?}");
        // Neither part nor journal remains.
        let large = directory.path().join("large");
        fs::write(&large, vec![1; 4 << 20]).unwrap();
        let options = CopyOptions { resume: true, ..options };
        let stats = Job::new().copy_with([(&large, &target)], &options, |_| ()).unwrap();
        assert_eq!((stats.files, stats.failed), (0, 1));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2, "{sparse:?}");
    }
}

/// Targets inside one another are written in the order of their sources.
#[test]
fn a_copy_into_the_copy_before_it_comes_after_it() {
    let (directory, path, text) = directory();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir_all(at("tree/sub")).unwrap();
    for number in 0..100 {
        fs::write(at(&format!("tree/{number}")), "one").unwrap();
    }
    let tree = CopyOptions { recursive: true, ..CopyOptions::default() };
    let pairs = [(at("tree"), at("copy")), (path, at("copy/sub/file"))];
    let stats = Job::new().copy_with(pairs, &tree, |_| ()).unwrap();
    assert_eq!((stats.files, stats.failed), (101, 0));
    assert!(fs::read(at("copy/sub/file")).unwrap() == text);
}

/// Small files of a tree get the strategy that is set, too.
#[test]
fn a_strategy_applies_to_small_files_of_trees() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("tree")).unwrap();
    fs::write(at("tree/file"), vec![1; 100_000]).unwrap();
    let options = CopyOptions { recursive: true, report_plans: true, ..CopyOptions::default() };
    let plans = Mutex::new(Vec::new());
    let report = |event: CopyEvent| {
        if let CopyEvent::Planned { plan, .. } = event {
            plans.lock().unwrap().push(plan.strategy.to_string());
        }
    };
    let job = Job::new().strategy("method=buffered,request=64K,workers=1").unwrap();
    job.copy_with([(at("tree"), at("copy"))], &options, report).unwrap();
    let plans = plans.into_inner().unwrap();
    assert!(plans.len() == 1 && plans[0].contains("request=64K"), "{plans:?}");
}

/// No tree gets its name after the cancellation, not even while the postponed names are linked.
#[test]
fn a_copy_that_is_cancelled_at_its_end_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    for name in ["source/a", "source/b"] {
        fs::create_dir_all(at(name)).unwrap();
    }
    fs::write(at("source/a/x"), vec![1; 4 << 20]).unwrap();
    fs::hard_link(at("source/a/x"), at("source/b/y")).unwrap();
    let mut options = CopyOptions { recursive: true, report_plans: true, ..CopyOptions::default() };
    (options.report_names, options.reflink, options.preserve.links) = (true, Reflink::Never, true);
    let progress = Arc::new(Progress::default());
    let report = |event: CopyEvent| match event {
        // Meanwhile the other worker reaches the other name.
        CopyEvent::Planned { .. } => std::thread::sleep(std::time::Duration::from_millis(300)),
        CopyEvent::Copied { source, stats: None, .. } if source.is_file() => progress.cancel(),
        _ => {}
    };
    let job = Job::new().workers(2).progress(progress.clone());
    let cancelled = job.copy_with([(at("source"), at("target"))], &options, report);
    assert_eq!(cancelled.unwrap_err().kind(), ErrorKind::Cancelled);
    assert!(!at("target").exists());
}

/// A complete part that could not take its name is continued.
#[test]
fn a_part_that_gets_no_name_is_continued() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::write(at("source"), vec![1; 8 << 20]).unwrap();
    let options =
        CopyOptions { resume: true, report_plans: true, reflink: Reflink::Never, ..CopyOptions::default() };
    let take = |event: CopyEvent| {
        if let CopyEvent::Planned { .. } = event {
            fs::write(at("target"), "another program's").unwrap();
        }
    };
    let failed = Job::new().copy_with([(at("source"), at("target"))], &options, take).unwrap();
    assert_eq!((failed.failed, fs::read(at("target")).unwrap()), (1, b"another program's".to_vec()));
    fs::remove_file(at("target")).unwrap();
    let stats = Job::new().copy_with([(at("source"), at("target"))], &options, |_| ()).unwrap();
    assert_eq!((stats.failed, stats.resumed), (0, 8 << 20));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
}

/// A target with the length and time of its source lacks the other attributes.
#[cfg(unix)]
#[test]
fn attributes_are_copied_to_complete_targets() {
    use fullbore::pattern::{CopyKind, Preserve};
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let mut options = CopyOptions { resume: true, preserve: Preserve::ALL, ..CopyOptions::default() };
    fs::write(at("source"), "bytes").unwrap();
    Job::new().copy_with([(at("source"), at("target"))], &options, |_| ()).unwrap();
    fs::set_permissions(at("source"), fs::Permissions::from_mode(0o640)).unwrap();
    options.kind = CopyKind::Attributes;
    let stats = Job::new().copy_with([(at("source"), at("target"))], &options, |_| ()).unwrap();
    assert_eq!((stats.failed, stats.skipped), (0, 0));
    assert_eq!(fs::metadata(at("target")).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn targets_that_stay_count_as_progress() {
    let (directory, path, text) = directory();
    let options = CopyOptions { existing: fullbore::pattern::Existing::Skip, ..CopyOptions::default() };
    for round in 1..=2 {
        let progress = Arc::new(Progress::default());
        let job = Job::new().progress(progress.clone());
        job.copy_with([(&path, directory.path().join("copy"))], &options, |_| ()).unwrap();
        assert_eq!(progress.bytes_done(), text.len() as u64, "{round}");
    }
}

/// A target that is a link to another target is written in the order of the sources.
#[cfg(unix)]
#[test]
fn a_copy_through_a_link_to_another_target_comes_in_its_turn() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("into")).unwrap();
    fs::write(at("a"), vec![b'a'; 1 << 20]).unwrap();
    fs::write(at("b"), "b").unwrap();
    std::os::unix::fs::symlink("a", at("into/b")).unwrap();
    for _ in 0..20 {
        fs::write(at("into/a"), "old").unwrap();
        let pairs = [(at("a"), at("into/a")), (at("b"), at("into/b"))];
        let stats = Job::new().workers(2).copy_with(pairs, &CopyOptions::default(), |_| ()).unwrap();
        assert_eq!((stats.failed, fs::read(at("into/a")).unwrap()), (0, b"b".to_vec()));
        assert!(at("into/b").is_symlink());
    }
}
