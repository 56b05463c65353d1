//! The law of comparison: for any strategy, cut and number of workers the result equals that of a plain loop.

use std::io::Write;
use std::ops::ControlFlow;
use std::thread::JoinHandle;

use proptest::prelude::*;

use super::pair::Pair;
use super::*;
use crate::pattern::progress::Progress;
use crate::strategy::{Model, Strategy};
use fullbore_io::engine::{CachePolicy, METHODS, method, probe};
use fullbore_io::error::{ErrorKind, Result};
use fullbore_io::file::File;
use fullbore_io::sys::{self, Handle};
use fullbore_testkit::ground::build_directory;

fn cut(data: [&[u8]; 2], skip: [u64; 2], limit: Option<u64>) -> [&[u8]; 2] {
    let one = |side: usize| {
        let rest = &data[side][data[side].len().min(skip[side] as usize)..];
        &rest[..rest.len().min(limit.map_or(usize::MAX, |limit| limit as usize))]
    };
    [one(0), one(1)]
}

fn end([left, right]: [&[u8]; 2], lines: u64) -> Option<End> {
    let common = left.len().min(right.len());
    let side = if left.len() < right.len() { Which::Left } else { Which::Right };
    let fresh = common > 0 && [left, right][side as usize][common - 1] == b'\n';
    (left.len() != right.len()).then_some(End { side, offset: common as u64, lines, fresh })
}

fn plainly([left, right]: [&[u8]; 2]) -> Comparison {
    let mut lines = 0;
    for (offset, (&left, &right)) in (0..).zip(left.iter().zip(right)) {
        if left != right {
            return Comparison::Differ { at: Difference { offset, left, right }, lines };
        }
        lines += u64::from(left == b'\n');
    }
    end([left, right], lines).map_or(Comparison::Equal, Comparison::End)
}

fn all_plainly([left, right]: [&[u8]; 2]) -> Vec<Difference> {
    let both = (0u64..).zip(left.iter().zip(right));
    both.filter(|(_, (left, right))| left != right)
        .map(|(offset, (&left, &right))| Difference { offset, left, right })
        .collect()
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum By {
    File,
    Pipe,
}

/// A byte string as a file, and its writer if it is a pipe.
struct Source(File, Option<JoinHandle<()>>);

impl Source {
    fn of(by: By, data: &[u8]) -> Self {
        match by {
            By::File => {
                let file = sys::memory_file("compared").unwrap();
                let file = File::from_fd(file, "compared").unwrap();
                file.write_all_at(data, 0).unwrap();
                Self(file, None)
            }
            By::Pipe => {
                let (reader, mut writer) = std::io::pipe().unwrap();
                let data = data.to_vec();
                let writes = std::thread::spawn(move || {
                    for part in data.chunks(data.len().div_ceil(3).max(1)) {
                        // The reader may have closed the pipe.
                        let _ = writer.write_all(part);
                    }
                });
                Self(File::from_fd(Handle::from(reader), "piped").unwrap(), Some(writes))
            }
        }
    }

    fn close(self) {
        let Self(file, writes) = self;
        drop(file);
        if let Some(writes) = writes {
            writes.join().unwrap();
        }
    }
}

fn strategy(request: usize, stripe: u64, workers: usize, depth: usize, name: &str) -> Strategy {
    let read = method(name).unwrap();
    Strategy { read, request, stripe, workers, depth, model: Model::Pool, ..Strategy::plain() }
}

/// Compares by both functions and checks the results against the plain loop.
fn check(
    data: [&[u8]; 2],
    skip: [u64; 2],
    limit: Option<u64>,
    by: [By; 2],
    strategies: [&Strategy; 2],
) -> std::result::Result<(), String> {
    let cut = cut(data, skip, limit);
    let context = || {
        let [left, right] = strategies;
        format!("{:?} {:?}, skip {skip:?}, limit {limit:?}, {by:?}, {left}, {right}", data[0], data[1])
    };
    // Two sources, so that the shortcut for a file compared with itself does not apply.
    let with_pair = |test: &mut dyn FnMut(&Pair<'_>)| {
        let sources = [Source::of(by[0], data[0]), Source::of(by[1], data[1])];
        let [left, right] = [0, 1].map(|place| Side {
            file: &sources[place].0,
            choice: strategies[place].into(),
            skip: skip[place],
        });
        let mut pair = Pair::inspect(&left, &right, limit).unwrap();
        pair.page = 0;
        test(&pair);
        pair.unchanged().unwrap();
        sources.into_iter().for_each(Source::close);
    };
    let (progress, options) = (Progress::default(), CompareOptions { limit, lines: true });
    let (mut first, mut seen, mut found) = (None, None, Vec::new());
    with_pair(&mut |pair| first = Some(pair.compare(&options, &progress).unwrap().1));
    if first != Some(plainly(cut)) {
        return Err(format!("{first:?} is not {:?}: {}", plainly(cut), context()));
    }
    with_pair(&mut |pair| {
        seen = Some(pair.differences(&progress, between, appended(&mut found)).unwrap().1);
    });
    let expected = all_plainly(cut);
    let wanted = Differences { differ: !expected.is_empty(), end: end(cut, 0) };
    if seen != Some(wanted) || found != expected {
        return Err(format!("{seen:?} {found:?} is not {wanted:?} {expected:?}: {}", context()));
    }
    Ok(())
}

fn appended(all: &mut Vec<Difference>) -> impl FnMut(Vec<Difference>) -> Result<ControlFlow<()>> {
    |some| {
        all.extend(some);
        Ok(ControlFlow::Continue(()))
    }
}

fn between(offset: u64, left: &[u8], right: &[u8]) -> Vec<Difference> {
    Difference::between(offset, left, right).collect()
}

/// Every byte string of at most `most` bytes over two letters, one of them the end of a line.
fn strings(most: u32) -> Vec<Vec<u8>> {
    let letter = |bits: u32, place| if bits >> place & 1 == 0 { b'a' } else { b'\n' };
    let of = |len| (0..1u32 << len).map(move |bits| (0..len).map(|place| letter(bits, place)).collect());
    (0..=most).flat_map(of).collect()
}

#[test]
fn every_small_pair_of_files_is_compared_as_by_a_plain_loop() {
    let all = strings(3);
    assert_eq!(all.len(), 15);
    for (place, left) in all.iter().enumerate() {
        for (other, right) in all.iter().enumerate() {
            let turn = 15 * place + other;
            let strategy = strategy(1 + turn % 3, 1 + (turn / 3 % 2) as u64, 1 + turn % 2, 1, "buffered");
            for skip in [[0, 0], [1, 0], [place as u64 % 3, 1]] {
                for limit in [None, Some(0), Some(1), Some(2)] {
                    check([left, right], skip, limit, [By::File; 2], [&strategy; 2]).unwrap();
                }
            }
        }
    }
}

#[test]
fn every_small_pair_with_pipes_is_compared_as_by_a_plain_loop() {
    let strategy = strategy(2, 2, 2, 1, "buffered");
    for left in strings(2) {
        for right in strings(2) {
            for by in [[By::File, By::Pipe], [By::Pipe, By::File], [By::Pipe; 2]] {
                for (skip, limit) in [([0, 0], None), ([1, 0], None), ([0, 1], Some(1))] {
                    check([&left, &right], skip, limit, by, [&strategy; 2]).unwrap();
                }
            }
        }
    }
}

/// Found by the property below.
#[test]
fn equal_files_of_one_read_by_mapping_and_by_dropping_are_equal() {
    let dropping = Strategy { read_cache: CachePolicy::DontCache, ..strategy(82, 1535, 4, 7, "buffered") };
    check([b"xxxxxx"; 2], [0, 0], None, [By::File; 2], [&dropping, &strategy(650, 1535, 4, 3, "mmap")])
        .unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_cut_by_any_workers_finds_what_a_plain_loop_finds(
        mut left in proptest::collection::vec(prop_oneof![4 => Just(b'x'), 1 => Just(b'\n')], 0..3000),
        (places, shorter, longer) in (proptest::collection::vec(any::<prop::sample::Index>(), 0..4), 0usize..9, 0usize..9),
        skip in [0u64..40, 0u64..40], limit in proptest::option::of(0u64..3000),
        (request, stripe, workers) in (1usize..700, 1u64..3000, 1usize..9),
        (depths, others) in ([1usize..9, 1usize..9], 1usize..700),
        by in prop_oneof![6 => Just([By::File; 2]), 1 => Just([By::File, By::Pipe]), 1 => Just([By::Pipe; 2])],
        (names, on_the_way) in ([prop::sample::select(vec!["buffered", "mmap", "vectored"]), prop::sample::select(vec!["buffered", "mmap", "vectored"])], any::<bool>()),
    ) {
        let mut right = left.clone();
        for place in places {
            if !right.is_empty() {
                let place = place.index(right.len());
                right[place] ^= 1;
            }
        }
        // Often both begin with the same bytes after the skipped ones.
        let prefix = vec![b'-'; skip[0].abs_diff(skip[1]) as usize];
        if skip[0] > skip[1] { left.splice(0..0, prefix) } else { right.splice(0..0, prefix) };
        left.truncate(left.len().saturating_sub(shorter));
        right.truncate(right.len().saturating_sub(longer));
        let mut strategies = [
            strategy(request, stripe, workers, depths[0], names[0]),
            strategy(others, stripe, workers, depths[1], names[1]),
        ];
        if on_the_way && names[0] == "buffered" {
            // Lines are counted during the comparison if the cache policy is not `keep`.
            strategies[0].read_cache = CachePolicy::DontCache;
        }
        let [one, two] = &strategies;
        check([&left, &right], skip, limit, by, [one, two]).map_err(TestCaseError::fail)?;
    }
}

#[test]
fn every_method_that_reads_finds_the_difference() {
    let directory = tempfile::tempdir_in(build_directory()).unwrap();
    let data: Vec<u8> = (0..3_000_000u32).map(|place| (place % 251) as u8).collect();
    let mut other = data.clone();
    other[2_345_678] ^= 1;
    let (left, right) = (directory.path().join("left"), directory.path().join("right"));
    std::fs::write(&left, &data).unwrap();
    std::fs::write(&right, &other).unwrap();
    let (left, right) = (File::open(left).unwrap(), File::open(right).unwrap());
    let lines = data[..2_345_678].iter().filter(|&&byte| byte == b'\n').count() as u64;
    let at = Difference { offset: 2_345_678 - 3, left: data[2_345_678], right: other[2_345_678] };
    let methods =
        METHODS.iter().filter(|method| method.capabilities.transfers && method.capabilities.storage);
    let mut tried = 0;
    for method in methods {
        for cache in [CachePolicy::Keep, CachePolicy::Direct] {
            if let Err(reason) = probe(method, &left, None, false, cache) {
                println!("skipped: {}: {reason}", method.name);
                continue;
            }
            tried += 1;
            let strategy = Strategy { read_cache: cache, ..strategy(64 << 10, 256 << 10, 2, 4, method.name) };
            let side = |file| Side { skip: 3, ..Side::new(file, &strategy) };
            let options = CompareOptions { lines: true, ..CompareOptions::default() };
            let (stats, found) =
                compare(&side(&left), &side(&right), &options, &Progress::default()).unwrap();
            assert_eq!(found, Comparison::Differ { at, lines }, "{}", method.name);
            assert!(stats.reads.requests > 0);
        }
    }
    assert!(tried >= 3, "{tried}");
}

#[test]
fn a_terabyte_of_holes_is_compared_at_once() {
    let directory = tempfile::tempdir_in(build_directory()).unwrap();
    let sparse = |name: &str, last: &[u8]| {
        let file = File::create_new(directory.path().join(name)).unwrap();
        file.set_len(1 << 40).unwrap();
        file.write_all_at(b"line\n", 1 << 30).unwrap();
        file.write_all_at(last, (1 << 40) - 5).unwrap();
        file
    };
    let files = [sparse("one", b"ends\n"), sparse("two", b"ends\n"), sparse("three", b"endz\n")];
    if files[0].seek_data(0).unwrap() == Some(0) {
        println!("skipped: this file system has no holes");
        return;
    }
    for cache in [CachePolicy::Keep, CachePolicy::DontCache] {
        let strategy = Strategy { read_cache: cache, ..strategy(256 << 10, 1 << 20, 2, 1, "buffered") };
        let side = |place: usize| Side::new(&files[place], &strategy);
        let options = CompareOptions { lines: true, ..CompareOptions::default() };
        let progress = Progress::default();
        let (stats, found) = compare(&side(0), &side(1), &options, &progress).unwrap();
        assert_eq!((stats.bytes, progress.bytes_done(), found), (1 << 40, 1 << 40, Comparison::Equal));
        let at = Difference { offset: (1 << 40) - 2, left: b's', right: b'z' };
        let (_, found) = compare(&side(0), &side(2), &options, &Progress::default()).unwrap();
        assert_eq!(found, Comparison::Differ { at, lines: 1 });
        let mut all = Vec::new();
        let progress = Progress::default();
        let _ = differences(&side(0), &side(2), None, &progress, between, appended(&mut all)).unwrap();
        assert_eq!(all, [at]);
    }
}

#[test]
fn a_difference_is_found_while_a_pipe_stays_open() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(b"abc").unwrap();
    let pipe = File::from_fd(Handle::from(reader), "pipe").unwrap();
    let Source(file, _) = Source::of(By::File, b"abd");
    let strategy = Strategy::plain();
    let sides = [Side::new(&pipe, &strategy), Side::new(&file, &strategy)];
    // If the pipe is on the right, a thread reads it; the comparison must not wait for that thread.
    for (left, right) in [(0, 1), (1, 0)] {
        writer.write_all(b"abc").unwrap();
        let (_, found) =
            compare(&sides[left], &sides[right], &CompareOptions::default(), &Progress::default()).unwrap();
        assert!(matches!(found, Comparison::Differ { at, .. } if at.offset == 2), "{found:?}");
    }
}

#[test]
fn a_limit_leaves_the_rest_of_a_pipe_to_others() {
    for side in [0, 1] {
        let sources = [Source::of(By::Pipe, b"same rest"), Source::of(By::File, b"same")];
        let strategy = Strategy::plain();
        let sides = [Side::new(&sources[side].0, &strategy), Side::new(&sources[1 - side].0, &strategy)];
        let options = CompareOptions { limit: Some(4), lines: false };
        let (_, found) = compare(&sides[0], &sides[1], &options, &Progress::default()).unwrap();
        assert_eq!(found, Comparison::Equal);
        let mut rest = [0; 5];
        let mut held = 0;
        while held < 5 {
            held += sources[0].0.read_next(&mut rest[held..]).unwrap();
        }
        assert_eq!(&rest, b" rest");
        sources.into_iter().for_each(Source::close);
    }
}

#[test]
fn a_file_that_changes_meanwhile_is_an_error() {
    let data = vec![b'x'; 64 << 10];
    for shorter in [true, false] {
        let (Source(left, _), Source(right, _)) = (Source::of(By::File, &data), Source::of(By::File, &data));
        let strategy = strategy(4096, 4096, 2, 1, "buffered");
        let pair = Pair::inspect(&Side::new(&left, &strategy), &Side::new(&right, &strategy), None).unwrap();
        if shorter {
            right.set_len(5000).unwrap();
        } else {
            right.write_all_at(&data, data.len() as u64).unwrap();
        }
        let found =
            pair.compare(&CompareOptions::default(), &Progress::default()).and_then(|_| pair.unchanged());
        assert_eq!(found.unwrap_err().kind(), ErrorKind::Changed, "shorter: {shorter}");
    }
}

#[test]
fn break_ends_the_comparison() {
    let (left, right) = (vec![b'a'; 1 << 20], vec![b'b'; 1 << 20]);
    for by in [By::File, By::Pipe] {
        let sources = [Source::of(by, &left), Source::of(By::File, &right)];
        let strategy = strategy(4096, 4096, 4, 1, "buffered");
        let mut calls = 0;
        let [left, right] = [0, 1].map(|side: usize| Side::new(&sources[side].0, &strategy));
        let third = |()| {
            calls += 1;
            Ok(if calls == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        };
        let (_, seen) = differences(&left, &right, None, &Progress::default(), |_, _, _| (), third).unwrap();
        assert_eq!((calls, seen), (3, Differences { differ: true, end: None }));
        sources.into_iter().for_each(Source::close);
    }
}
