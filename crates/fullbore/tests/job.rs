//! The first programs of a new user, and their edge cases.

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use fullbore::error::ErrorKind;
use fullbore::operation::{Encoding, Part, Search};
use fullbore::pattern::{Comparison, Progress};
use fullbore::{Job, fold_fn, op};
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

#[test]
fn folds_take_every_kind_of_input() {
    let (_directory, path, text) = directory();
    let lines = fold_fn(
        || 0u64,
        |n, bytes| *n += bytes.iter().filter(|&&byte| byte == b'\n').count() as u64,
        |left, right| *left += right,
    );
    let expected = text.iter().filter(|&&byte| byte == b'\n').count() as u64;
    assert_eq!(fullbore::fold(&lines, &path).unwrap(), expected);
    assert_eq!(fullbore::fold(&lines, path.to_str().unwrap()).unwrap(), expected);
    assert_eq!(fullbore::fold(&lines, fullbore::file::File::open(&path).unwrap()).unwrap(), expected);
    assert_eq!(fullbore::fold(&lines, fs::File::open(&path).unwrap()).unwrap(), expected);
    assert_eq!(fullbore::fold(&lines, &text[..]).unwrap(), expected);
    assert_eq!(fullbore::fold(&lines, text.clone()).unwrap(), expected);
    for strategy in ["method=mmap", "method=uring,depth=8", "cci-mt,workers=3", "method=direct"] {
        match Job::new().strategy(strategy).unwrap().workers(2).fold(&lines, &path) {
            Ok((found, stats)) => {
                assert_eq!((found, stats.bytes), (expected, text.len() as u64), "{strategy}")
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::Unsupported, "{strategy}: {error}"),
        }
    }
}

#[test]
fn a_partly_read_file_continues_at_its_position_and_a_pipe_is_read_to_its_end() {
    let (_directory, path, text) = directory();
    let mut file = fs::File::open(&path).unwrap();
    file.seek(SeekFrom::Start(100)).unwrap();
    let rest = text[100..].iter().filter(|&&byte| byte == b'\n').count() as u64;
    assert_eq!(fullbore::fold(&op::count_lines(), file).unwrap(), rest);
    let (reader, mut writer) = std::io::pipe().unwrap();
    let sent = text.clone();
    let thread = std::thread::spawn(move || writer.write_all(&sent).unwrap());
    let pipe = fs::File::from(std::os::fd::OwnedFd::from(reader));
    let digest = fullbore::fold(&op::sha256(), pipe).unwrap().digest();
    thread.join().unwrap();
    assert_eq!(digest, fullbore::fold(&op::sha256(), &text[..]).unwrap().digest());
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
    let count = op::count(Encoding::Utf8);
    assert_eq!(count.counts(&fullbore::fold(&count, "a b\nc".as_bytes()).unwrap()).words, 3);
}

#[test]
fn a_transform_is_whole_or_absent() {
    let (directory, path, text) = directory();
    let output = directory.path().join("output");
    fs::write(&output, "before").unwrap();
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
    text[2_000_000] ^= 1;
    let other = directory.path().join("other");
    fs::write(&other, &text).unwrap();
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
    fullbore::search(&Sevens, &path, |_| {
        calls += 1;
        Ok(ControlFlow::Break(()))
    })
    .unwrap();
    assert_eq!(calls, 1);
}

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
}

#[test]
fn an_invalid_strategy_is_an_error_that_names_the_field() {
    let error = Job::new().strategy("method=teleport").unwrap_err();
    assert!(error.to_string().contains("teleport"), "{error}");
}
