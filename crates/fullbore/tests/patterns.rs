//! Folds and searches: any strategy, cut and number of workers, on files and pipes, gives the result of one pass.

use std::io::Write;
use std::ops::ControlFlow;

use fullbore::engine::{METHODS, Method};
use fullbore::error::ErrorKind;
use fullbore::file::{CachePolicy, Durability, File, Output, Support};
use fullbore::fold_fn;
use fullbore::operation::generate::Random;
use fullbore::operation::{Fold, Generate, Part, Search, Split};
use fullbore::pattern::{
    CopyOptions, Executor, Progress, Reflink, Scope, Sparse, copy_file, fill, fold, search,
};
use fullbore::strategy::{Planner, Purpose, Strategy, StrategySpec};
use fullbore_testkit::ground::{bytes, everywhere, supported_or_skip, write_file};
use proptest::prelude::*;
use proptest::strategy::Strategy as _;

#[test]
fn a_copy_with_holes_leaves_no_old_bytes() {
    everywhere(|directory| {
        let (source, target) = (directory.join("source"), directory.join("target"));
        std::fs::write(&source, bytes(100_000, 1)).unwrap();
        std::fs::File::options().write(true).open(&source).unwrap().set_len(3 << 20).unwrap();
        for sparse in [Sparse::Auto, Sparse::Always, Sparse::Never] {
            std::fs::write(&target, vec![7; 4 << 20]).unwrap();
            let input = File::open(&source).unwrap();
            let (spec, output) = (StrategySpec::default(), Output::overwrite(&target).unwrap());
            let options = CopyOptions { sparse, reflink: Reflink::Never, ..CopyOptions::default() };
            copy_file(&input, output, (&options, Planner::new(&spec)), &Progress::default()).unwrap();
            assert!(std::fs::read(&target).unwrap() == std::fs::read(&source).unwrap(), "{sparse:?}");
        }
    });
}

/// A fold that records all blocks in order.
struct Shown(Split);

impl Fold for Shown {
    type State = Vec<(u64, Vec<u8>)>;

    fn split(&self) -> Split {
        self.0
    }

    fn identity(&self) -> Self::State {
        Vec::new()
    }

    fn block(&self, state: &mut Self::State, offset: u64, bytes: &[u8]) {
        state.push((offset, bytes.to_vec()));
    }

    fn merge(&self, left: &mut Self::State, right: Self::State) {
        left.extend(right);
    }
}

/// A search for lines that contain an `a`, with the number of such lines around each.
struct WithContext(usize);

impl Search for WithContext {
    type Found = Vec<(u64, usize)>;

    fn reach(&self) -> usize {
        self.0
    }

    fn search(&self, part: &Part<'_>) -> Self::Found {
        let mut lines = Vec::new();
        let mut at = 0;
        for line in part.bytes.split_inclusive(|&byte| byte == b'\n') {
            lines.push((at, line.contains(&b'a')));
            at += line.len();
        }
        let around = |place: usize| {
            let range = place.saturating_sub(self.0)..(place + self.0 + 1).min(lines.len());
            lines[range].iter().filter(|(_, hit)| *hit).count()
        };
        let own = lines.iter().enumerate().filter(|(_, (at, hit))| *hit && part.own.contains(at));
        own.map(|(place, (at, _))| (part.offset + *at as u64, around(place))).collect()
    }
}

fn strategy(text: &str) -> Strategy {
    text.parse::<StrategySpec>().unwrap().apply(Strategy::plain())
}

fn any_strategy() -> impl proptest::strategy::Strategy<Value = String> {
    let queued = if cfg!(windows) { "port" } else { "uring" };
    let method = prop_oneof![
        4 => Just("buffered"), 1 => Just("mmap"), 1 => Just(queued), 1 => Just("stdio"), 1 => Just("vectored")
    ];
    let model = prop_oneof![Just("striped"), Just("pool")];
    let request = prop_oneof![4 => 1usize..40, 1 => Just(4096), 1 => Just(100_000)];
    (method, model, request, 1usize..9, 1usize..4, 1usize..9).prop_map(
        |(method, model, request, workers, stripe, depth)| {
            let stripe = request * stripe;
            format!("method={method},model={model},request={request},workers={workers},stripe={stripe},depth={depth}")
        },
    )
}

/// Returns `text` as a file, as the output of a pipe, and the thread that fills the pipe.
fn sources(text: &[u8]) -> (tempfile::NamedTempFile, File, std::thread::JoinHandle<()>) {
    let mut named = tempfile::NamedTempFile::new().unwrap();
    named.write_all(text).unwrap();
    let (reader, mut writer) = std::io::pipe().unwrap();
    let text = text.to_vec();
    let feeder = std::thread::spawn(move || {
        for piece in text.chunks(7) {
            if writer.write_all(piece).is_err() {
                return; // The reader closed the pipe early.
            }
        }
    });
    (named, File::from_fd(reader.into(), "a pipe").unwrap(), feeder)
}

/// Opening a file takes Wine milliseconds.
const CASES: u32 = if cfg!(windows) { 50 } else { 200 };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn folds_get_all_bytes_in_order(text in "[ab\n]{0,300}", how in any_strategy(), unit in 1usize..5, shared in 0usize..9) {
        let text = text.as_bytes();
        let splits =
            [Split::Any, Split::Aligned(unit.try_into().unwrap()), Split::Delimiter(b'\n'), Split::Sequential];
        for split in splits {
            let (named, pipe, feeder) = sources(text);
            for input in [File::open(named.path()).unwrap(), pipe] {
                let (stats, shown) = fold(&Shown(split), &input, &strategy(&how), &Progress::default()).unwrap();
                prop_assert_eq!(stats.bytes, text.len() as u64);
                let mut at = 0;
                for (offset, bytes) in shown {
                    prop_assert_eq!(offset, at as u64);
                    prop_assert_eq!(&bytes[..], &text[at..at + bytes.len()]);
                    at += bytes.len();
                    match split {
                        Split::Aligned(unit) => prop_assert!(at == text.len() || at % unit.get() == 0),
                        Split::Delimiter(_) => prop_assert!(at == text.len() || text[at - 1] == b'\n'),
                        _ => {}
                    }
                }
                prop_assert_eq!(at, text.len());
            }
            feeder.join().unwrap();
        }
        let (named, pipe, feeder) = sources(text);
        for input in [File::open(named.path()).unwrap(), pipe] {
            let operation = Shown(Split::Overlap(shared));
            let (_, shown) = fold(&operation, &input, &strategy(&how), &Progress::default()).unwrap();
            let runs: usize = shown.iter().map(|(_, bytes)| bytes.len().saturating_sub(shared)).sum();
            prop_assert_eq!(runs, text.len().saturating_sub(shared));
        }
        feeder.join().unwrap();
    }

    #[test]
    fn a_search_result_does_not_depend_on_the_cut(text in "[ab\n]{0,300}", how in any_strategy(), reach in 0usize..4) {
        let operation = WithContext(reach);
        let whole = Part { bytes: text.as_bytes(), own: 0..text.len(), offset: 0 };
        let expected = operation.search(&whole);
        let (named, pipe, feeder) = sources(text.as_bytes());
        for input in [File::open(named.path()).unwrap(), pipe] {
            let mut all = Vec::new();
            search(&operation, &input, &strategy(&how), &Progress::default(), |found| {
                all.extend(found);
                Ok(ControlFlow::Continue(()))
            })
            .unwrap();
            prop_assert_eq!(&all, &expected);
        }
        feeder.join().unwrap();
    }
}

/// A direct write of a part of a block writes the whole block, so no two workers may write to one.
#[test]
fn direct_writes_of_several_workers_meet_between_blocks() {
    const RANGE: std::ops::Range<u64> = 5_003..700_001;
    let numbers = Random::new(7);
    let mut expected = vec![0; RANGE.end as usize];
    numbers.fill(RANGE.start, &mut expected[RANGE.start as usize..]);
    everywhere(|directory| {
        let path = directory.join("file");
        let passes = |method: &Method| {
            let capabilities = method.capabilities;
            capabilities.transfers && !capabilities.mapped && capabilities.passes_cache(CachePolicy::Direct)
        };
        for method in METHODS.iter().filter(|method| passes(method)) {
            for (depth, request) in [(1, "4K"), (4, "4K"), (4, "12K")] {
                let how =
                    format!("method={},cache=direct,workers=4,request={request},depth={depth}", method.name);
                let strategy = strategy(&format!("{how},stripe=12K"));
                let (output, scope) =
                    (Output::create(&path).unwrap(), Scope { range: RANGE, ..Scope::whole(RANGE.end) });
                match fill(&numbers, &scope, &output, &strategy, &Progress::default(), &false.into()) {
                    Err(error) if error.kind() == ErrorKind::Unsupported => {
                        supported_or_skip::<()>(directory, true, &how, Err(error));
                        continue;
                    }
                    filled => assert_eq!(filled.unwrap().bytes, RANGE.end - RANGE.start, "{how}"),
                }
                output.commit_len(RANGE.end, Durability::None).unwrap();
                let found = std::fs::read(&path).unwrap();
                let differs = found.iter().zip(&expected).position(|(one, other)| one != other);
                assert_eq!((found.len(), differs), (expected.len(), None), "{how}");
            }
        }
    });
}

/// Creates files of all sizes that are read differently.
fn files() -> (tempfile::TempDir, Vec<(std::path::PathBuf, Vec<u8>)>) {
    let directory = tempfile::tempdir().unwrap();
    let lens = [0, 1, 5000, 300_000, 3 << 20, 20, 9 << 20, 0, 70, 262_144, 262_145, 2 << 20, 4 << 20, 8];
    let files = lens.iter().enumerate().map(|(place, &len)| {
        let bytes: Vec<u8> = (0..len).map(|at: u32| (at % 251) as u8 ^ place as u8).collect();
        let path = directory.path().join(place.to_string());
        std::fs::write(&path, &bytes).unwrap();
        (path, bytes)
    });
    let files = files.collect();
    (directory, files)
}

#[test]
fn results_of_many_files_come_whole_and_in_order() {
    let (_directory, files) = files();
    let limited = ["workers=3,budget=1M", "method=mmap,workers=4", "request=4K,workers=2"];
    for how in ["auto", "workers=1", "workers=5"].into_iter().chain(limited) {
        let (spec, progress) = (how.parse().unwrap(), Progress::default());
        let mut seen = Vec::new();
        let executor = Executor::new(&spec, &progress);
        executor
            .map_ordered(
                files.iter(),
                |(path, _), sender, worker, executor| {
                    let (shown, stats) = executor.fold(&Shown(Split::Any), &File::open(path)?, worker)?;
                    let _ = sender.send((path.clone(), stats.bytes, Vec::new()), 0)?;
                    let bytes: Vec<u8> = shown.into_iter().flat_map(|(_, bytes)| bytes).collect();
                    for piece in bytes.chunks(1 << 20) {
                        let _ = sender.send((path.clone(), 0, piece.to_vec()), piece.len())?;
                    }
                    Ok(())
                },
                |found| {
                    seen.push(found);
                    Ok(ControlFlow::Continue(()))
                },
            )
            .unwrap();
        let expected: Vec<_> = files
            .iter()
            .flat_map(|(path, bytes)| {
                let pieces = bytes.chunks(1 << 20).map(|piece| (path.clone(), 0, piece.to_vec()));
                std::iter::once((path.clone(), bytes.len() as u64, Vec::new())).chain(pieces)
            })
            .collect();
        assert!(seen == expected, "{how}");
        let total: u64 = files.iter().map(|(_, bytes)| bytes.len() as u64).sum();
        assert_eq!(progress.bytes_done(), total, "{how}");
    }
}

#[test]
fn a_consumer_can_stop_early() {
    let (_directory, files) = files();
    let (spec, progress) = ("workers=4".parse().unwrap(), Progress::default());
    let mut seen = 0;
    Executor::new(&spec, &progress)
        .map_ordered(
            files.iter(),
            |(path, _), sender, _, _| sender.send(path.clone(), 0).map(drop),
            |_| {
                seen += 1;
                Ok(if seen == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            },
        )
        .unwrap();
    assert_eq!(seen, 3);
    let big = File::open(&files[6].0).unwrap();
    let (mut parts, how) = (0, strategy("workers=4,model=pool,request=4K"));
    let stats = search(&WithContext(0), &big, &how, &Progress::default(), |_| {
        parts += 1;
        Ok(ControlFlow::Break(()))
    });
    assert_eq!((parts, stats.is_ok()), (1, true));
}

#[test]
fn errors_and_cancellation_end_all_workers() {
    let (_directory, files) = files();
    let spec = "workers=4".parse().unwrap();
    let progress = Progress::default();
    let executor = Executor::new(&spec, &progress);
    let error = executor.map_ordered(
        files.iter(),
        |(path, _), _, _, _| File::open(path.with_extension("missing")).map(drop),
        |()| Ok(ControlFlow::Continue(())),
    );
    assert_eq!(error.unwrap_err().kind(), ErrorKind::NotFound);
    let error = executor.map_ordered(
        0..100,
        |number, sender, _, _| {
            if number == 5 {
                progress.cancel();
            }
            sender.send(number, 1 << 30).map(drop)
        },
        |_| Ok(ControlFlow::Continue(())),
    );
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Cancelled);
}

#[test]
fn a_changed_file_has_an_error_of_its_own() {
    let named = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(named.path(), vec![7; 4 << 20]).unwrap();
    let file = File::open(named.path()).unwrap();
    // Windows refuses to truncate a mapped file.
    let strategies: &[&str] = if cfg!(windows) {
        &["request=4K", "method=port,request=4K"]
    } else {
        &["request=4K", "method=mmap,request=4K,window=16K", "method=uring,request=4K"]
    };
    for how in strategies {
        std::fs::write(named.path(), vec![7; 4 << 20]).unwrap();
        let once = std::sync::Once::new();
        let truncate = || named.as_file().set_len(1 << 20).unwrap();
        let truncates = fold_fn(|| (), |(), _| once.call_once(truncate), |(), ()| ());
        let error = fold(&truncates, &file, &strategy(how), &Progress::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Changed, "{how}: {error}");
    }
}

// Files of Linux.
#[cfg(target_os = "linux")]
#[test]
fn files_without_a_length_are_read_to_their_end() {
    for (path, begins) in
        [("/proc/self/status", "Name:"), ("/sys/kernel/mm/transparent_hugepage/enabled", "")]
    {
        if !std::path::Path::new(path).exists() {
            println!("skipped: {path} does not exist");
            continue;
        }
        let (spec, progress) = (StrategySpec::default(), Progress::default());
        let input = File::open(path).unwrap();
        let shown = |state: Vec<(u64, Vec<u8>)>| {
            let bytes: Vec<u8> = state.into_iter().flat_map(|(_, bytes)| bytes).collect();
            assert!(bytes.starts_with(begins.as_bytes()) && bytes.ends_with(b"\n"), "{path}: {bytes:?}");
            bytes.len() as u64
        };
        let (stats, state) = fold(&Shown(Split::Any), &input, &strategy("workers=3"), &progress).unwrap();
        assert_eq!(shown(state), stats.bytes);
        let executor = Executor::new(&spec, &progress);
        let input = File::open(path).unwrap();
        let (state, stats) = executor.fold(&Shown(Split::Any), &input, &mut Default::default()).unwrap();
        assert_eq!(shown(state), stats.bytes);
    }
}

#[test]
fn a_plan_notes_exactly_the_emulated_dropping() {
    everywhere(|directory| {
        let path = write_file(directory, "file", bytes(100_000, 8));
        let file = File::open(&path).unwrap();
        let support = file.with_cache(CachePolicy::DontCache).1;
        let spec: StrategySpec = "method=uncached".parse().unwrap();
        match Planner::new(&spec).plan(Purpose::Read, Some(&file), Some(100_000), None) {
            Ok(plan) => {
                let noted = plan.to_string().contains("note: read: cache=drop is emulated");
                assert_eq!(noted, matches!(support, Support::Emulated(_)), "{support}: {plan}");
                assert_eq!(plan.strategy.read_cache, CachePolicy::DontCache);
            }
            Err(error) => assert!(matches!(support, Support::Unsupported(_)), "{error}"),
        }
    });
}
