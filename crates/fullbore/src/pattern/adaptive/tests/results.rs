//! Files and pipes read by random contenders that change at random parts: the results are those of one strategy.

use proptest::prelude::*;

use super::{contender, expected};
use crate::op;
use crate::operation::{Fold, Part, Search, Split, Transform};
use crate::pattern::{
    CompareOptions, Comparison, Progress, Side, compare, fold, fold_bytes, search, search_bytes, transform,
};
use crate::strategy::{Adaptive, Contenders, Model, RunStrategy, Selections, Strategy, StrategySpec};
use fullbore_io::engine::{CachePolicy, deep_method, method};
use fullbore_io::error::ErrorKind;
use fullbore_io::file::{Durability, File, Output};
use fullbore_io::lock::Mutex;
use fullbore_io::sys;

fn longest_line(bytes: &[u8]) -> usize {
    bytes.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::len).max().unwrap_or(0)
}

/// Lines that contain "ab".
struct Lines;

impl Search for Lines {
    type Found = Vec<(u64, Vec<u8>)>;

    fn search(&self, part: &Part<'_>) -> Self::Found {
        let mut at = part.offset;
        let lines = part.own().split_inclusive(|&byte| byte == b'\n').map(|line| {
            let start = at;
            at += line.len() as u64;
            (start, line.to_vec())
        });
        lines.filter(|(_, line)| line.windows(2).any(|pair| pair == b"ab")).collect()
    }
}

/// Adds the offset to each byte: wrong if a part goes to another place.
#[derive(Debug)]
struct AddOffset(Split);

impl std::fmt::Display for AddOffset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("add-offset")
    }
}

impl AddOffset {
    const BY_TWELVE: Self = Self(Split::Aligned(std::num::NonZero::new(12).unwrap()));

    fn of(bytes: &[u8]) -> Vec<u8> {
        let mut sums = vec![0; bytes.len()];
        Self::BY_TWELVE.apply(0, bytes, &mut sums);
        sums
    }
}

impl Transform for AddOffset {
    fn split(&self) -> Split {
        self.0
    }

    fn apply(&self, offset: u64, source: &[u8], target: &mut [u8]) {
        assert!(offset.is_multiple_of(12), "{offset}");
        for (index, (from, to)) in source.iter().zip(target).enumerate() {
            *to = from.wrapping_add(((offset + index as u64) % 251) as u8);
        }
    }

    fn apply_in_place(&self, offset: u64, data: &mut [u8]) {
        let source = data.to_vec();
        self.apply(offset, &source, data);
    }
}

/// Adds all bytes before it to each byte: wrong unless one worker goes from front to back.
struct RunningSum(Mutex<(u64, u8)>);

impl RunningSum {
    fn of(bytes: &[u8]) -> Vec<u8> {
        let mut sum = 0u8;
        bytes
            .iter()
            .map(|byte| {
                sum = sum.wrapping_add(*byte);
                sum
            })
            .collect()
    }
}

impl std::fmt::Display for RunningSum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("running-sum")
    }
}

impl Transform for RunningSum {
    fn split(&self) -> Split {
        Split::Sequential
    }

    fn apply(&self, offset: u64, source: &[u8], target: &mut [u8]) {
        target.copy_from_slice(source);
        self.apply_in_place(offset, target);
    }

    fn apply_in_place(&self, offset: u64, data: &mut [u8]) {
        let mut state = self.0.lock();
        assert_eq!(offset, state.0, "out of order");
        for byte in data.iter_mut() {
            state.1 = state.1.wrapping_add(*byte);
            *byte = state.1;
        }
        state.0 += data.len() as u64;
    }
}

#[test]
fn an_operation_that_cannot_be_cut_has_one_worker_under_every_model() {
    let directory = tempfile::tempdir().unwrap();
    let (path, target) = (directory.path().join("input"), directory.path().join("output"));
    let bytes: Vec<u8> = (0..300_001u32).map(|at| (at.wrapping_mul(at) >> 3) as u8).collect();
    std::fs::write(&path, &bytes).unwrap();
    let input = File::open(&path).unwrap();
    for model in [Model::Striped, Model::Pool] {
        for method in ["buffered", deep_method().name, "mmap"] {
            let strategy = Strategy { model, request: 4096, stripe: 8192, depth: 4, ..contender(method, 4) };
            let (sum, output) = (RunningSum(Mutex::default()), Output::replace(&target).unwrap());
            transform(&sum, &input, output, &strategy, Durability::None, &Progress::default()).unwrap();
            assert!(std::fs::read(&target).unwrap() == RunningSum::of(&bytes), "{strategy}");
        }
    }
}

#[test]
fn a_rule_for_folds_is_refused() {
    let (directory, path) = fullbore_testkit::ground::temporary_file("a\nb\n");
    let (input, output) =
        (File::open(&path).unwrap(), Output::replace(directory.path().join("output")).unwrap());
    let (by_lines, plain) = (AddOffset(Split::Delimiter(b'\n')), Strategy::plain());
    let refused = transform(&by_lines, &input, output, &plain, Durability::None, &Progress::default());
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Unsupported);
    assert!(!directory.path().join("output").exists());
}

/// The offsets of the blocks of lines, in the order in which they are folded.
#[derive(Default)]
struct Offsets(Mutex<Vec<u64>>);

impl Fold for Offsets {
    type State = ();

    fn split(&self) -> Split {
        Split::Delimiter(b'\n')
    }

    fn identity(&self) {}

    fn block(&self, (): &mut (), offset: u64, _bytes: &[u8]) {
        self.0.lock().push(offset);
    }

    fn merge(&self, (): &mut (), (): ()) {}
}

/// Parts in another order would hold the records that their ends cut.
#[test]
fn a_trial_of_a_fold_over_records_uses_the_parts_in_the_order_of_the_file() {
    let (_directory, path) = fullbore_testkit::ground::temporary_file(b"some line\n".repeat(100_000));
    let contender = |request| expected(Strategy { request, ..contender("buffered", 1) });
    let cached = [8192, 4096].map(contender).to_vec();
    let contenders = Contenders { cached, uncached: Vec::new() };
    let (spec, selections, first) = (StrategySpec::default(), Selections::default(), Strategy::plain());
    let adaptive =
        Adaptive { contenders: &contenders, spec: &spec, selections: &selections, shuffle: Some(1) };
    let choice = RunStrategy { adaptive: Some(adaptive), ..(&first).into() };
    let offsets = Offsets::default();
    fold(&offsets, &File::open(&path).unwrap(), choice, &Progress::default()).unwrap();
    let offsets = offsets.0.into_inner();
    // The first line is carried until the end.
    let (last, before) = offsets.split_last().unwrap();
    assert!(*last == 0 && before.len() > 100 && before.is_sorted(), "{offsets:?}");
}

/// A contender that every file system takes.
fn any_contender() -> impl proptest::strategy::Strategy<Value = Strategy> {
    let methods = prop::sample::select(vec!["buffered", "uncached", "mmap", "stdio", "uring", "direct"]);
    use proptest::strategy::Strategy as _;
    (methods, 1usize..4, 1usize..9, 9u32..18, any::<bool>()).prop_map(
        |(name, workers, depth, bits, direct)| {
            let read = method(name).unwrap();
            let direct = name == "direct" || name == "uring" && direct;
            Strategy {
                request: (1 << bits) + if bits % 3 == 0 { 512 } else { 0 },
                depth: depth.min(read.capabilities.depth),
                window: Some(1 << 18),
                stripe: 1 << 17,
                read_cache: match direct {
                    true => CachePolicy::Direct,
                    false if name == "uncached" => CachePolicy::DontCache,
                    false => CachePolicy::Keep,
                },
                ..contender(name, workers)
            }
        },
    )
}

/// Folds, searches and transforms inputs of these bytes, which `open` passes to a run, and checks the results.
fn check_runs(bytes: &[u8], choice: RunStrategy<'_>, open: impl Fn(&dyn Fn(&File))) {
    let progress = Progress::default();
    open(&|input| {
        let (stats, lines) = fold(&op::count_lines(), input, choice, &progress).unwrap();
        let expected = bytes.iter().filter(|&&byte| byte == b'\n').count();
        assert_eq!((stats.bytes, lines), (bytes.len() as u64, expected as u64));
    });
    open(&|input| {
        let sha = op::sha256();
        let (_, state) = fold(&sha, input, choice, &progress).unwrap();
        assert_eq!(state.digest(), fold_bytes(&sha, bytes).digest());
    });
    open(&|input| {
        let (mut found, mut expected) = (Vec::new(), Vec::new());
        let go_on = std::ops::ControlFlow::Continue(());
        search(&Lines, input, choice, &progress, |lines| {
            found.extend(lines);
            Ok(go_on)
        })
        .unwrap();
        search_bytes(&Lines, bytes, |lines| {
            expected.extend(lines);
            Ok(go_on)
        })
        .unwrap();
        assert_eq!(found, expected);
    });
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("output");
    let transformed = |operation: &dyn Transform, input: &File| {
        let output = Output::replace(&target).unwrap();
        transform(operation, input, output, choice, Durability::None, &progress).unwrap();
        std::fs::read(&target).unwrap()
    };
    open(&|input| assert!(transformed(&AddOffset::BY_TWELVE, input) == AddOffset::of(bytes)));
    open(&|input| assert!(transformed(&RunningSum(Mutex::default()), input) == RunningSum::of(bytes)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The results do not depend on the contenders, on the parts they get, or on the state of the page cache.
    #[test]
    fn a_strategy_that_changes_at_random_parts_changes_no_result(
        cached in prop::collection::vec(any_contender(), 1..4),
        uncached in prop::collection::vec(any_contender(), 1..4),
        shuffle in any::<u64>(),
        len in 300_000u64..1_200_000,
        seed in any::<u64>(),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("input");
        let mut bytes = vec![0; len as usize];
        let mut state = seed | 1;
        for byte in &mut bytes {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *byte = b"abcdefgh ijk\n"[(state >> 33) as usize % 13];
        }
        std::fs::write(&path, &bytes).unwrap();
        let input = File::open(&path).unwrap();
        let written = std::fs::File::options().write(true).open(&path).unwrap();
        // Drops half of the file from the page cache, where the file system has one, so that both kinds of contenders run.
        let halve = || {
            written.sync_data().unwrap();
            let _ = sys::advise(&written, len / 4, Some(len / 2), sys::Advice::DontNeed);
        };
        halve();
        let unsupported = |strategy: &Strategy| fullbore_io::engine::probe(strategy.read, &input, None, false, strategy.read_cache).is_err();
        let works = |list: Vec<Strategy>| -> Vec<Strategy> {
            list.into_iter().map(|strategy| if unsupported(&strategy) { contender("buffered", 2) } else { strategy }).collect()
        };
        let list = |strategies| works(strategies).into_iter().map(expected).collect();
        let contenders = Contenders { cached: list(cached), uncached: list(uncached) };
        let (spec, selections, first) = (StrategySpec::default(), Selections::default(), Strategy::plain());
        let adaptive = Adaptive { contenders: &contenders, spec: &spec, selections: &selections, shuffle: Some(shuffle) };
        let choice = RunStrategy { adaptive: Some(adaptive), ..(&first).into() };
        let progress = Progress::default();
        check_runs(&bytes, choice, |run| {
            halve();
            run(&input);
        });

        let longest = op::fold_fn(|| 0usize, |longest, records| *longest = (*longest).max(longest_line(records)), |left, right| *left = (*left).max(right));
        let longest = longest.split(Split::Delimiter(b'\n'));
        prop_assert_eq!(fold(&longest, &input, choice, &progress).unwrap().1,
            longest_line(&bytes));

        // The other file differs at two places, or not at all.
        let other = directory.path().join("other");
        let mut changed = bytes.clone();
        let places = [seed % (2 * len), (seed >> 8) % (2 * len)].into_iter().filter(|&place| place < len);
        places.clone().for_each(|place| changed[place as usize] ^= 1);
        std::fs::write(&other, &changed).unwrap();
        let (first, other) = (places.filter(|&place| bytes[place as usize] != changed[place as usize]).min(), File::open(&other).unwrap());
        halve();
        let (_, found) = compare(&Side::new(&input, choice), &Side::new(&other, choice), &CompareOptions::default(), &progress).unwrap();
        match (first, found) {
            (None, found) => prop_assert_eq!(found, Comparison::Equal),
            (Some(first), Comparison::Differ { at, .. }) => prop_assert_eq!(at.offset, first),
            (first, found) => prop_assert!(false, "{:?}, not {:?}", found, first),
        }

        // In place, over the source of the output.
        transform(&AddOffset::BY_TWELVE, &input, Output::in_place(&path).unwrap(), choice, Durability::None, &progress).unwrap();
        prop_assert!(std::fs::read(&path).unwrap() == AddOffset::of(&bytes));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The results do not depend on the request sizes and the numbers of workers that read a pipe.
    #[test]
    fn a_pipe_whose_readers_change_gives_the_same_result(
        shapes in prop::collection::vec((9u32..18, 1usize..5), 2..5),
        len in 300_000usize..1_200_000,
    ) {
        let bytes: Vec<u8> = (0..len).map(|at| b"abcdefgh ijk\n"[at * at / 7 % 13]).collect();
        let buffered = |(bits, workers): (u32, usize)| expected(Strategy { request: 1usize << bits, ..contender("buffered", workers) });
        let contenders = Contenders { cached: shapes.into_iter().map(buffered).collect(), uncached: Vec::new() };
        let (spec, selections, first) = (StrategySpec::default(), Selections::default(), Strategy::plain());
        let adaptive = Adaptive { contenders: &contenders, spec: &spec, selections: &selections, shuffle: None };
        let choice = RunStrategy { adaptive: Some(adaptive), ..(&first).into() };
        check_runs(&bytes, choice, |run| {
            let (reader, mut writer) = std::io::pipe().unwrap();
            std::thread::scope(|scope| {
                let bytes = &bytes;
                scope.spawn(move || std::io::Write::write_all(&mut writer, bytes));
                run(&File::from_fd(sys::Handle::from(reader), "pipe").unwrap());
            });
        });
    }
}
