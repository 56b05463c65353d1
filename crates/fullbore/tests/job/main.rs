//! The first programs of a new user, and their edge cases.

mod copies;
mod inputs;
mod waits;

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use fullbore::error::ErrorKind;
use fullbore::file::{File, Output};
use fullbore::operation::{Encoding, Part, Search, Split};
use fullbore::pattern::{
    Comparison, CopyEvent, CopyOptions, Executor, OrderedSender, Progress, Reflink, Sparse, Worker,
};
use fullbore::strategy::{Plan, StrategySpec};
use fullbore::{Job, fold_fn, op};
use fullbore_testkit::ground::write_file;
use tempfile::TempDir;

/// Returns 2.6 MB, 1.5 MB of it lines: enough for stripes and several workers.
fn text() -> Vec<u8> {
    (0..400_000u32).flat_map(|n| format!("{}\n", n % 977).into_bytes()).chain(vec![b'x'; 1 << 20]).collect()
}

fn directory() -> (TempDir, PathBuf, Vec<u8>) {
    let directory = tempfile::tempdir().unwrap();
    let (path, text) = (directory.path().join("text"), text());
    fs::write(&path, &text).unwrap();
    (directory, path, text)
}

/// Returns the job, and the list in which it records something of each of its plans.
fn recording<T: Send + 'static>(
    job: Job,
    of: impl Fn(&Path, &Plan) -> T + Send + Sync + 'static,
) -> (Job, Arc<Mutex<Vec<T>>>) {
    let list = Arc::new(Mutex::new(Vec::new()));
    let recorded = list.clone();
    (job.on_plan(move |path, plan| recorded.lock().unwrap().push(of(path, plan))), list)
}

#[test]
fn typed_operations_equal_the_parsed_ones() {
    use fullbore::operation::{Kernel, Transform, parse};
    let pairs: [(Box<dyn Transform>, &str); 7] = [
        (Box::new(op::shift(-3)), "shift:-3"),
        (Box::new(op::caesar(29)), "caesar:29"),
        (Box::new(op::rot13()), "rot13"),
        (Box::new(op::upper()), "upper"),
        (Box::new(op::lower()), "lower"),
        (Box::new(op::swab()), "swab"),
        (Box::new(op::xor(&[0x5a, 0xff])), "xor:5aff"),
    ];
    let source: Vec<u8> = (0..=255).chain(0..=254).collect();
    for (typed, text) in pairs {
        let parsed = parse(text, Kernel::Simd).unwrap();
        let (mut mine, mut other) = (vec![0; source.len()], vec![0; source.len()]);
        typed.apply(0, &source, &mut mine);
        parsed.apply(0, &source, &mut other);
        assert_eq!((typed.to_string(), mine), (text.to_owned(), other), "{text}");
    }
    let digest = fullbore::fold(&op::xxh3(), &b""[..]).unwrap().digest();
    assert_eq!(digest.to_string(), "2d06800538d394c2");
    let count = op::count(Encoding::Utf8);
    assert_eq!(count.counts(&fullbore::fold(&count, "a b\nc".as_bytes()).unwrap()).words, 3);
}

#[test]
fn a_transform_is_whole_or_absent() {
    let (directory, path, text) = directory();
    let output = write_file(directory.path(), "output", "before");
    let progress = Arc::new(Progress::default());
    progress.cancel();
    let cancelled = Job::new().progress(progress).transform(&op::shift(10), &path, &output);
    assert_eq!(cancelled.unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!(fs::read(&output).unwrap(), b"before");
    let same = Job::new().transform(&op::shift(10), &path, &path).unwrap_err();
    assert_eq!(same.kind(), ErrorKind::SameFile);
    let stats = Job::new().workers(2).transform(&op::shift(10), &path, &output).unwrap();
    assert_eq!(stats.bytes, text.len() as u64);
    let shifted: Vec<u8> = text.iter().map(|byte| byte.wrapping_add(10)).collect();
    assert!(fs::read(&output).unwrap() == shifted);
    fullbore::transform(&op::upper(), &b"in memory"[..], &output).unwrap();
    assert_eq!(fs::read(&output).unwrap(), b"IN MEMORY");
    let names: Vec<_> =
        fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn comparisons_find_the_first_difference() {
    let (directory, path, mut text) = directory();
    assert_eq!(fullbore::compare(&path, &text[..]).unwrap(), Comparison::Equal);
    // The access method applies to the file, though not to the bytes.
    let job = Job::new().strategy("read=vectored,workers=1").unwrap();
    let (job, are_vectored) = recording(job, |_, plan| plan.strategy.to_string().contains("vectored"));
    assert_eq!(job.compare(&path, &text[..]).unwrap().0, Comparison::Equal);
    assert_eq!(*are_vectored.lock().unwrap(), [true, false]);
    text[2_000_000] ^= 1;
    let other = write_file(directory.path(), "other", &text);
    let (found, _) = Job::new().memory_limit(8 << 20).compare(&path, &other).unwrap();
    let Comparison::Differ { at, .. } = found else { panic!("{found:?}") };
    assert_eq!(at.offset, 2_000_000);
}

#[test]
fn searches_emit_in_order_until_stopped() {
    struct Sevens;
    impl Search for Sevens {
        type Found = Vec<u64>;
        fn search(&self, part: &Part<'_>) -> Vec<u64> {
            let at = part.offset + part.own.start as u64;
            memchr::memchr_iter(b'7', part.own()).map(|place| at + place as u64).collect()
        }
    }
    let (_directory, path, text) = directory();
    let expected: Vec<u64> = memchr::memchr_iter(b'7', &text).map(|place| place as u64).collect();
    let mut found = Vec::new();
    fullbore::search(&Sevens, &path, |part| {
        found.extend(part);
        Ok(ControlFlow::Continue(()))
    })
    .unwrap();
    assert!(found == expected);
    let mut calls = 0;
    let stop = |_| {
        calls += 1;
        Ok(ControlFlow::Break(()))
    };
    let stats = Job::new().search(&Sevens, &path, stop).unwrap();
    assert_eq!(calls, 1);
    assert!(stats.bytes > 0 && stats.reads.requests > 0, "{stats:?}");
    let progress = Arc::new(Progress::default());
    progress.cancel();
    let cancelled = Job::new().progress(progress).search(&Sevens, &text[..], |_| unreachable!());
    assert_eq!(cancelled.unwrap_err().kind(), ErrorKind::Cancelled);
}

#[test]
fn a_fold_over_records_fails_at_one_that_exceeds_a_quarter_of_the_memory() {
    let (_directory, path, text) = directory();
    let lines = fold_fn(
        || 0u64,
        |lines, bytes| *lines += memchr::memchr_iter(b'\n', bytes).count() as u64,
        |left, right| *left += right,
    );
    let lines = lines.split(Split::Delimiter(b'\n'));
    let expected = memchr::memchr_iter(b'\n', &text).count() as u64;
    // The last record has 1 MiB.
    for (limit, workers) in [(8 << 20, 1), (8 << 20, 2), (2 << 20, 1), (2 << 20, 2)] {
        let result = Job::new().memory_limit(limit).workers(workers).fold(&lines, &path);
        match result {
            Ok((found, _)) => assert!(limit == 8 << 20 && found == expected, "{limit} {workers}"),
            Err(error) => assert_eq!((error.kind(), limit), (ErrorKind::Memory, 2 << 20), "{error}"),
        }
    }
}

/// The result does not depend on the worker that reads the second half of the record.
#[test]
fn a_long_record_across_stripes_is_an_error_with_any_number_of_workers() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("records");
    let record = [vec![b'r'; 400 << 10], vec![b'\n']].concat();
    fs::write(&path, [b"s\n".repeat(412 << 10), record, b"s\n".repeat(1 << 20)].concat()).unwrap();
    let longest = |most: &mut usize, bytes: &[u8]| *most = bytes.len().max(*most);
    let merge = |one: &mut usize, two: usize| *one = two.max(*one);
    let records = fold_fn(|| 0, longest, merge).split(Split::Delimiter(b'\n'));
    for workers in [1, 2, 4] {
        for _ in 0..5 {
            let job = Job::new().strategy("method=buffered,request=64K,stripe=1M").unwrap().workers(workers);
            let error = job.memory_limit(1 << 20).fold(&records, &path).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Memory, "{workers}");
        }
    }
}

/// A quarter of the memory, for blocks of any size; only the records themselves count, not what follows them in the block.
#[test]
fn a_record_as_long_as_permitted_is_searched() {
    const LIMIT: usize = 256 << 10;
    struct Records;
    impl Search for Records {
        type Found = usize;
        fn search(&self, part: &Part<'_>) -> usize {
            part.own().iter().filter(|&&byte| byte == b'\n').count()
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("records");
    for (len, permitted) in [(LIMIT - 2000, true), (LIMIT + 1, false)] {
        let records = [40_000, len, 300_000 - 40_000].map(|len| [vec![b'r'; len - 1], vec![b'\n']].concat());
        fs::write(&path, [records.concat(), b"s\n".repeat(1 << 20)].concat()).unwrap();
        for request in ["4K", "16K", "64K", "256K"] {
            let strategy = format!("method=buffered,workers=1,request={request}");
            let mut count = 0;
            let found = Job::new().memory_limit(4 * LIMIT as u64).strategy(&strategy).unwrap().search(
                &Records,
                &path,
                |more| {
                    count += more;
                    Ok(ControlFlow::Continue(()))
                },
            );
            match permitted {
                true => {
                    found.unwrap();
                    assert_eq!(count, 3 + (1 << 20), "{request}");
                }
                false => assert_eq!(found.unwrap_err().kind(), ErrorKind::Memory, "{request}"),
            }
        }
    }
}

#[test]
fn an_executor_may_be_used_while_it_emits() {
    let (_directory, path, text) = directory();
    let lines = op::count_lines();
    let expected = fullbore::fold(&lines, &text[..]).unwrap();
    let job = Job::new().workers(2);
    let executor = job.executor();
    let file = fullbore::file::File::open(&path).unwrap();
    struct Lengths;
    impl Search for Lengths {
        type Found = usize;
        fn search(&self, part: &Part<'_>) -> usize {
            part.own().len()
        }
    }
    let mut counts = Vec::new();
    let emit = |_| {
        counts.push(executor.fold(&lines, &file, &mut Worker::default())?.0);
        Ok(ControlFlow::Continue(()))
    };
    executor.search(&Lengths, &file, &mut Worker::default(), emit).unwrap();
    assert!(!counts.is_empty() && counts.iter().all(|&count| count == expected));
}

#[test]
fn settings_override_the_fields_of_a_strategy_in_any_order() {
    use fullbore::engine::CachePolicy;
    let text = "request=64K,workers=3,budget=8M,cache=keep";
    let set = |job: Job| job.workers(2).memory_limit(4 << 20).cache(CachePolicy::DontCache);
    let before = set(Job::new()).strategy(text).unwrap();
    let after = set(Job::new().strategy(text).unwrap());
    assert_eq!(before.spec(), after.spec());
    let wanted: StrategySpec = "request=64K,workers=2,budget=4M,cache=drop".parse().unwrap();
    assert_eq!(*before.spec(), wanted);
    let again = before.strategy("depth=2").unwrap();
    assert_eq!(*again.spec(), "depth=2,workers=2,budget=4M,cache=drop".parse().unwrap());
}

#[test]
fn every_pattern_reports_its_plans_before_it_runs() {
    let (directory, path, text) = directory();
    let (output, small) = (directory.path().join("output"), directory.path().join("small"));
    fs::write(&small, "a few bytes").unwrap();
    let job = Job::new().strategy("read=buffered,request=64K").unwrap();
    let (job, plans) = recording(job, |path, plan| {
        (path.to_owned(), format!("{} {}", plan.strategy.read.name, plan.strategy.request))
    });
    let planned = |wanted: &[&PathBuf]| {
        let found = std::mem::take(&mut *plans.lock().unwrap());
        let wanted: Vec<_> = wanted.iter().map(|&path| (path.clone(), "buffered 65536".to_owned())).collect();
        assert_eq!(found, wanted);
    };
    job.fold(&op::count_lines(), &path).unwrap();
    planned(&[&path]);
    job.fold(&op::count_lines(), &small).unwrap();
    planned(&[&small]);
    let _ = job.compare(&path, &small).unwrap();
    planned(&[&path, &small]);
    job.transform(&op::upper(), &path, &output).unwrap();
    planned(&[&path]);
    fs::remove_file(&output).unwrap();
    job.copy(&path, &output).unwrap();
    planned(&[&path]);
    assert!(fs::read(&output).unwrap() == text);
}

#[test]
fn generated_bytes_have_the_length_asked_for() {
    use fullbore::operation::generate::Random;
    let (directory, _, _) = directory();
    let path = directory.path().join("generated");
    let make = |job: Job| {
        let output = Output::create(&path).unwrap();
        assert_eq!(job.generate(&Random::new(7), 3_000_001, output).unwrap().bytes, 3_000_001);
        fs::read(&path).unwrap()
    };
    let bytes = make(Job::new());
    assert_eq!(bytes.len(), 3_000_001);
    assert!(make(Job::new().strategy("workers=3,stripe=64K").unwrap()) == bytes);
}

#[test]
fn both_sides_of_a_comparison_are_read_alike() {
    let (directory, path, text) = directory();
    let short = write_file(directory.path(), "short", &text[..100_000]);
    let (job, plans) = recording(Job::new(), |_, plan| {
        let strategy = &plan.strategy;
        format!("{} {} {}", strategy.workers, strategy.request, strategy.stripe)
    });
    for (left, right) in [(&path, &short), (&short, &path)] {
        assert!(matches!(job.compare(left, right).unwrap().0, Comparison::End(_)));
        let plans = std::mem::take(&mut *plans.lock().unwrap());
        assert!(plans.len() == 2 && plans[0] == plans[1] && plans[0].starts_with("1 "), "{plans:?}");
    }
}

/// Appends to a file when it first sees bytes, and changes none.
#[derive(Debug)]
struct Appends(std::path::PathBuf, std::sync::Once);

impl std::fmt::Display for Appends {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("appends")
    }
}

impl fullbore::operation::Transform for Appends {
    fn split(&self) -> fullbore::operation::Split {
        fullbore::operation::Split::Any
    }

    fn apply(&self, offset: u64, source: &[u8], target: &mut [u8]) {
        target.copy_from_slice(source);
        self.apply_in_place(offset, target);
    }

    fn apply_in_place(&self, _: u64, _: &mut [u8]) {
        let append = || {
            let mut file = fs::OpenOptions::new().append(true).open(&self.0).unwrap();
            std::io::Write::write_all(&mut file, b"appended").unwrap();
        };
        self.1.call_once(append);
    }
}

#[test]
fn bytes_appended_during_a_transform_in_place_stay() {
    let (_directory, path, text) = directory();
    let appends = Appends(path.clone(), std::sync::Once::new());
    let output = Output::in_place(&path).unwrap();
    let error = Job::new().transform_to(&appends, &path, output).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Changed);
    assert!(fs::read(&path).unwrap() == [text.as_slice(), b"appended"].concat());
}

#[test]
fn handles_and_settings_are_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Job>();
    shared::<fullbore::Error>();
    shared::<File>();
    shared::<Progress>();
    shared::<fullbore::asynchronous::AsyncFile>();
    shared::<fullbore::asynchronous::Driver>();
    shared::<fullbore::file::Mmap>();
    shared::<fullbore::strategy::Plan>();
}

#[test]
fn absurd_numbers_of_workers_and_weights_are_limited() {
    let (_held, path, text) = directory();
    for workers in [0, 1 << 28, usize::MAX] {
        let job = Job::new().workers(workers);
        assert!(
            (1..=256).contains(&job.spec().to_string().rsplit('=').next().unwrap().parse::<usize>().unwrap())
        );
        let (lines, _) = job.fold(&op::count_lines(), &path).unwrap();
        assert_eq!(lines, text.iter().filter(|&&byte| byte == b'\n').count() as u64);
    }
    let mut sum = 0;
    let add = |item: u64| {
        sum += item;
        Ok(ControlFlow::Continue(()))
    };
    let job = Job::new();
    job.map_ordered(0..100, |item, sender, _, _| sender.send(item, usize::MAX).map(drop), add).unwrap();
    assert_eq!(sum, 99 * 100 / 2);
}

/// A part is held whole; the number of parts held follows from the memory.
#[test]
fn large_units_reduce_workers_and_depth() {
    let (_held, path, text) = directory();
    let unit = 512 << 10;
    let split = Split::Aligned(unit.try_into().unwrap());
    let sum =
        fold_fn(|| 0u64, |sum, bytes| *sum += bytes.len() as u64, |sum, more| *sum += more).split(split);
    let job = Job::new().strategy("read=uring,read-cache=keep,depth=8,request=64K,workers=4").unwrap();
    let (job, seen) = recording(job.memory_limit(2 << 20), |_, plan| plan.strategy.clone());
    match job.fold(&sum, &path) {
        Ok((found, _)) => assert_eq!(found, text.len() as u64),
        Err(error) => return println!("skipped: {error}"),
    }
    let seen = seen.lock().unwrap();
    let [strategy] = &seen[..] else { panic!("{seen:?}") };
    assert_eq!(strategy.request, unit);
    assert!(strategy.workers * strategy.depth * unit <= 2 << 20, "{strategy}");
}

/// The parts of a file that is cached in part are tried in leases, which hold whole units.
#[test]
fn a_file_that_is_cached_in_part_is_read_in_units_of_any_length() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    fs::File::create(&path).unwrap().set_len(80 << 20).unwrap();
    let _ = File::open(&path).unwrap().drop_cache();
    File::open(&path).unwrap().read_exact_at(&mut vec![0; 20 << 20], 0).unwrap();
    for unit in [301, 1001, 3 << 20] {
        let split = Split::Aligned(unit.try_into().unwrap());
        let whole = fold_fn(|| 0, |sum, bytes| *sum += bytes.len() / unit * unit, |sum, more| *sum += more);
        let (found, _) = Job::new().workers(2).fold(&whole.split(split), &path).unwrap();
        assert_eq!(found, (80 << 20) / unit * unit, "{unit}");
    }
}
