//! Adaptive runs with simulated workers, and on files with random contenders that change at random parts.

use std::ops::Range;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::lease::{Lease, Parts, Settings, Spent};
use super::*;
use crate::op;
use crate::operation::{Part, Search, Split, Transform};
use crate::pattern::{
    Comparison, Extent, Progress, Side, compare, fold, fold_bytes, search, search_bytes, transform,
};
use crate::strategy::{
    Adaptive, Choice, Contender, Contenders, Model, Selections, Strategy, StrategySpec, Tried,
};
use fullbore_io::engine::{CachePolicy, method};
use fullbore_io::file::{Durability, File, Output};
use fullbore_io::sys;

const MIB: u64 = 1 << 20;

fn contender(name: &str, workers: usize) -> Strategy {
    let model = if workers > 1 { Model::Pool } else { Model::Serial };
    Strategy { read: method(name).unwrap(), workers, model, ..Strategy::plain() }
}

/// A contender of which nothing is known.
fn expected(strategy: Strategy) -> Contender {
    Contender { strategy, expected: 0.0, deviation: 0.3 }
}

fn settings<'a>(spec: &'a StrategySpec, selections: &'a Selections) -> Settings<'a> {
    Settings { grain: MIB, most: 2, writes: false, any_order: true, spec, selections, shuffle: None }
}

/// The bytes and the time that simulated workers spent under each method, in the order of their first use.
#[derive(Debug, Default)]
struct Simulated(Vec<(&'static str, u64, f64)>);

impl Simulated {
    fn add(&mut self, name: &'static str, bytes: u64, seconds: f64) {
        match self.0.iter_mut().find(|(known, ..)| *known == name) {
            Some((_, sum, time)) => (*sum, *time) = (*sum + bytes, *time + seconds),
            None => self.0.push((name, bytes, seconds)),
        }
    }

    fn bytes(&self, name: &str) -> u64 {
        self.0.iter().find(|(known, ..)| *known == name).map_or(0, |(_, bytes, _)| *bytes)
    }
}

/// Runs the leases by simulated workers: `cost` gives seconds and CPU seconds per MiB of a method at an offset. Every
/// byte must be leased once.
fn simulate(
    leases: &Leases<'_>,
    workers: usize,
    len: u64,
    cost: impl Fn(&str, u64) -> (f64, f64),
) -> Simulated {
    leases.started(workers);
    let (mut busy, mut simulated) = (vec![(0.0f64, None::<Lease>); workers], Simulated::default());
    let mut leased = Vec::new();
    loop {
        // The worker whose lease ends first takes the next step.
        let next = (0..workers).filter(|&worker| busy[worker].1.is_some());
        let next = next.min_by(|&one, &two| busy[one].0.total_cmp(&busy[two].0));
        if let Some(worker) = next {
            let (end, lease) = (busy[worker].0, busy[worker].1.take().unwrap());
            let bytes = lease.range.end - lease.range.start;
            let (seconds, cpu) = cost(lease.strategy.read.name, lease.range.start);
            let share = bytes as f64 / MIB as f64;
            simulated.add(lease.strategy.read.name, bytes, seconds * share);
            let spent = Spent { bytes, seconds: seconds * share, cpu: cpu * share };
            leases.record(&lease, Some(spent), true);
            leased.push(lease.range);
            busy.iter_mut().filter(|(_, lease)| lease.is_none()).for_each(|idle| idle.0 = idle.0.max(end));
        }
        for (time, slot) in &mut busy {
            if slot.is_none()
                && let Some(lease) = leases.try_next()
            {
                let (seconds, _) = cost(lease.strategy.read.name, lease.range.start);
                *time += seconds * (lease.range.end - lease.range.start) as f64 / MIB as f64;
                *slot = Some(lease);
            }
        }
        if busy.iter().all(|(_, lease)| lease.is_none()) {
            break;
        }
    }
    leased.sort_by_key(|range| range.start);
    assert_eq!(leased.iter().map(|range| range.end - range.start).sum::<u64>(), len);
    assert!(leased.windows(2).all(|pair| pair[0].end == pair[1].start), "{leased:?}");
    simulated
}

fn parts(cached: bool, range: Range<u64>, names: &[(&str, usize)]) -> Parts {
    Parts {
        cached,
        ranges: std::iter::once(range).collect(),
        contenders: names.iter().map(|(name, workers)| expected(contender(name, *workers))).collect(),
        tried: names.len(),
    }
}

#[test]
fn a_run_takes_hardly_longer_than_with_the_fastest_contender_alone() {
    let (spec, selections, len) = (StrategySpec::default(), Selections::default(), 1024 * MIB);
    let all = parts(true, 0..len, &[("buffered", 2), ("mmap", 2), ("uring", 2)]);
    let leases = Leases::new(vec![all], settings(&spec, &selections));
    let simulated = simulate(&leases, 2, len, |name, offset| {
        // Noise of 2%.
        let noise = 1.0 + 0.02 * ((offset / MIB * 7919 % 13) as f64 / 6.0 - 1.0);
        let cost = noise * if name == "mmap" { 1e-4 } else { 1.5e-4 };
        (cost, cost)
    });
    let spent: f64 = simulated.0.iter().map(|(_, _, seconds)| seconds).sum();
    assert!(spent < 1.03 * 1e-4 * (len / MIB) as f64, "{simulated:?}");
    let tried = selections.list();
    assert_eq!((tried.len(), tried[0].tried.len()), (1, 3), "{tried:?}");
    assert!(tried[0].chosen.starts_with("read=mmap"), "{tried:?}");
    let rate = tried[0].tried[1].rate;
    assert!((rate / (2.0 * MIB as f64 / 1e-4) - 1.0).abs() < 0.05, "{rate}");
}

#[test]
fn of_equal_contenders_the_one_with_less_cpu_time_is_chosen() {
    let (spec, selections, len) = (StrategySpec::default(), Selections::default(), 1024 * MIB);
    let all = parts(false, 0..len, &[("buffered", 2), ("uring", 1)]);
    let leases = Leases::new(vec![all], settings(&spec, &selections));
    // Both are limited by the device: two workers share what one gets.
    simulate(&leases, 2, len, |name, _| if name == "uring" { (1e-3, 1e-4) } else { (2e-3, 4e-4) });
    let tried = selections.list();
    assert!(tried[0].chosen.starts_with("read=uring"), "{tried:?}");
}

#[test]
fn a_rate_that_falls_starts_another_trial() {
    let (spec, selections, len) = (StrategySpec::default(), Selections::default(), 2048 * MIB);
    let all = parts(true, 0..len, &[("buffered", 2), ("mmap", 2)]);
    let leases = Leases::new(vec![all], Settings { any_order: false, ..settings(&spec, &selections) });
    let simulated = simulate(&leases, 2, len, |name, offset| {
        // Mapping is three times as fast in the first half, and ten times as slow in the second.
        let cost = match (name, offset < len / 2) {
            ("mmap", true) => 1e-4,
            ("mmap", false) => 30e-4,
            _ => 3e-4,
        };
        (cost, cost)
    });
    let chosen: Vec<_> =
        selections.list().iter().map(|selection| selection.chosen[..11].to_owned()).collect();
    assert_eq!(chosen, ["read=mmap,w", "method=buff"], "{simulated:?}");
    assert!(simulated.bytes("buffered") > len / 3, "{simulated:?}");
}

#[test]
fn the_device_works_while_cached_parts_are_processed() {
    let (spec, selections, len) = (StrategySpec::default(), Selections::default(), 1024 * MIB);
    let cached = parts(true, 0..len / 2, &[("buffered", 2), ("mmap", 2)]);
    let uncached = parts(false, len / 2..len, &[("uring", 2)]);
    let leases = Leases::new(vec![cached, uncached], settings(&spec, &selections));
    leases.started(2);
    let (one, two) = (leases.try_next().unwrap(), leases.try_next().unwrap());
    assert_eq!((one.strategy.read.name, two.strategy.read.name), ("uring", "buffered"));
    // The worker that is done first helps with the other region.
    let cached = parts(true, 0..len / 2, &[("buffered", 2), ("mmap", 2)]);
    let uncached = parts(false, len / 2..len, &[("uring", 2)]);
    let leases = Leases::new(vec![cached, uncached], settings(&spec, &selections));
    let simulated =
        simulate(&leases, 2, len, |name, _| if name == "uring" { (1e-3, 1e-4) } else { (1e-4, 1e-4) });
    assert_eq!(simulated.bytes("uring"), len / 2);
}

#[test]
fn a_contender_that_cannot_be_opened_is_left_out() {
    let (spec, selections, len) = (StrategySpec::default(), Selections::default(), 256 * MIB);
    let all = parts(true, 0..len, &[("uring", 2), ("buffered", 2), ("mmap", 2)]);
    let leases = Leases::new(vec![all], settings(&spec, &selections));
    leases.started(2);
    let (one, two) = (leases.try_next().unwrap(), leases.try_next().unwrap());
    assert_eq!((one.strategy.read.name, two.strategy.read.name), ("uring", "uring"));
    // Each worker keeps its part: another may wait for it.
    let mut held = 0;
    for lease in [two, one] {
        let replaced = leases.replace(&lease).unwrap();
        assert_eq!((replaced.strategy.read.name, &replaced.range), ("buffered", &lease.range));
        assert_eq!(leases.more(&replaced), None, "the next part is a trial's");
        held += replaced.range.end - replaced.range.start;
        let bytes = replaced.range.end - replaced.range.start;
        leases.record(&replaced, Some(Spent { bytes, seconds: 1.0, cpu: 1.0 }), true);
    }
    let simulated =
        simulate(&leases, 2, len - held, |name, _| if name == "mmap" { (1e-4, 1e-4) } else { (2e-4, 2e-4) });
    assert_eq!(simulated.bytes("uring"), 0);
    assert!(simulated.bytes("mmap") > len * 8 / 10, "{simulated:?}");
    let leases = Leases::new(vec![parts(true, 0..len, &[("uring", 2)])], settings(&spec, &selections));
    let only = leases.next().unwrap();
    assert_eq!(leases.replace(&only), None, "there is no other");
    // A region too short for a trial has others in reserve.
    let single = Parts { tried: 1, ..parts(true, 0..len, &[("uring", 2), ("buffered", 2)]) };
    let leases = Leases::new(vec![single], settings(&spec, &selections));
    leases.started(2);
    let first = leases.try_next().unwrap();
    assert_eq!(leases.replace(&first).unwrap().strategy.read.name, "buffered");
    assert_eq!(leases.try_next().unwrap().strategy.read.name, "buffered");
}

/// A worker that goes on under one contender keeps its engine, also where another trial begins.
#[test]
fn a_lease_after_another_is_for_the_same_strategy() {
    let (spec, selections, len) = (StrategySpec::default(), Selections::default(), 2048 * MIB);
    let all = parts(true, 0..len, &[("buffered", 1), ("mmap", 1)]);
    let settings = Settings { any_order: false, most: 1, ..settings(&spec, &selections) };
    let leases = Leases::new(vec![all], settings);
    leases.started(1);
    let mut epochs = Vec::new();
    while let Some(mut lease) = leases.next() {
        loop {
            epochs.push(lease.epoch);
            let more = leases.more(&lease);
            let early = lease.range.start < len / 2;
            let cost = match lease.strategy.read.name {
                "mmap" if early => 1e-4,
                "mmap" => 30e-4,
                _ => 3e-4,
            };
            let bytes = lease.range.end - lease.range.start;
            let seconds = cost * bytes as f64 / MIB as f64;
            leases.record(&lease, Some(Spent { bytes, seconds, cpu: seconds }), more.is_none());
            let Some(next) = more else { break };
            assert_eq!(next.strategy, lease.strategy);
            lease = next;
        }
    }
    assert!(epochs.windows(2).all(|pair| pair[0] <= pair[1]));
    assert!(selections.list().len() > 1, "the rate fell: there was another trial: {:?}", selections.list());
}

#[test]
fn a_stopped_run_releases_the_workers_that_wait() {
    let (spec, selections) = (StrategySpec::default(), Selections::default());
    let all = parts(true, 0..1024 * MIB, &[("buffered", 1)]);
    let leases = Leases::new(vec![all], settings(&spec, &selections));
    leases.started(2);
    let held = leases.next().unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| leases.next());
        leases.stop();
        assert_eq!(waiting.join().unwrap(), None, "{held:?}");
    });
}

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
struct AddOffset;

impl std::fmt::Display for AddOffset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("add-offset")
    }
}

impl Transform for AddOffset {
    fn split(&self) -> Split {
        Split::Aligned(std::num::NonZero::new(12).unwrap())
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

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
        let unsupported = |strategy: &Strategy| fullbore_io::engine::probe(strategy.read, &input, None, false, strategy.read_cache).is_err();
        let works = |list: Vec<Strategy>| -> Vec<Strategy> {
            list.into_iter().map(|strategy| if unsupported(&strategy) { contender("buffered", 2) } else { strategy }).collect()
        };
        let list = |strategies| works(strategies).into_iter().map(expected).collect();
        let contenders = Contenders { cached: list(cached), uncached: list(uncached) };
        let (spec, selections, first) = (StrategySpec::default(), Selections::default(), Strategy::plain());
        let adaptive = Adaptive { contenders: &contenders, spec: &spec, selections: &selections, shuffle: Some(shuffle) };
        let choice = Choice { first: &first, adaptive: Some(adaptive) };
        let progress = Progress::default();

        let (stats, lines) = fold(&op::count_lines(), &input, choice, &progress).unwrap();
        prop_assert_eq!((stats.bytes, lines), (len, bytes.iter().filter(|&&byte| byte == b'\n').count() as u64));

        let sha = op::sha256();
        let (_, state) = fold(&sha, &input, choice, &progress).unwrap();
        prop_assert_eq!(state.digest(), fold_bytes(&sha, &bytes).digest());

        let longest = op::fold_fn(|| 0usize, |longest, records| *longest = (*longest).max(longest_line(records)), |left, right| *left = (*left).max(right));
        let longest = longest.split(Split::Delimiter(b'\n'));
        prop_assert_eq!(fold(&longest, &input, choice, &progress).unwrap().1,
            longest_line(&bytes));

        let (mut found, mut expected) = (Vec::new(), Vec::new());
        search(&Lines, &input, choice, &progress, |lines| {
            found.extend(lines);
            Ok(std::ops::ControlFlow::Continue(()))
        }).unwrap();
        search_bytes(&Lines, &bytes, |lines| {
            expected.extend(lines);
            Ok(std::ops::ControlFlow::Continue(()))
        }).unwrap();
        prop_assert_eq!(found, expected);

        // The other file differs at two places, or not at all.
        let other = directory.path().join("other");
        let mut changed = bytes.clone();
        let places = [seed % (2 * len), (seed >> 8) % (2 * len)].into_iter().filter(|&place| place < len);
        places.clone().for_each(|place| changed[place as usize] ^= 1);
        std::fs::write(&other, &changed).unwrap();
        let (first, other) = (places.filter(|&place| bytes[place as usize] != changed[place as usize]).min(), File::open(&other).unwrap());
        let (_, found) = compare(&Side::new(&input, choice), &Side::new(&other, choice), &Extent::default(), &progress).unwrap();
        match (first, found) {
            (None, found) => prop_assert_eq!(found, Comparison::Equal),
            (Some(first), Comparison::Differ { at, .. }) => prop_assert_eq!(at.offset, first),
            (first, found) => prop_assert!(false, "{:?}, not {:?}", found, first),
        }

        let target = directory.path().join("output");
        let output = Output::replace(&target).unwrap();
        transform(&AddOffset, &input, output, choice, Durability::None, &progress).unwrap();
        let mut whole = vec![0; bytes.len()];
        AddOffset.apply(0, &bytes, &mut whole);
        prop_assert!(std::fs::read(&target).unwrap() == whole);
        // In place, over the source of the output.
        transform(&AddOffset, &input, Output::in_place(&path).unwrap(), choice, Durability::None, &progress).unwrap();
        prop_assert!(std::fs::read(&path).unwrap() == whole);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

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
        let choice = Choice { first: &first, adaptive: Some(adaptive) };
        let progress = Progress::default();
        let piped = |run: &dyn Fn(&File)| {
            let (reader, mut writer) = std::io::pipe().unwrap();
            std::thread::scope(|scope| {
                let bytes = &bytes;
                scope.spawn(move || std::io::Write::write_all(&mut writer, bytes));
                run(&File::from_fd(sys::Handle::from(reader), "pipe").unwrap());
            });
        };
        piped(&|input| {
            let (stats, lines) = fold(&op::count_lines(), input, choice, &progress).unwrap();
            assert_eq!((stats.bytes, lines), (len as u64, bytes.iter().filter(|&&byte| byte == b'\n').count() as u64));
        });
        piped(&|input| {
            let sha = op::sha256();
            let (_, state) = fold(&sha, input, choice, &progress).unwrap();
            assert_eq!(state.digest(), fold_bytes(&sha, &bytes).digest());
        });
        piped(&|input| {
            let (mut found, mut expected) = (Vec::new(), Vec::new());
            let go_on = std::ops::ControlFlow::Continue(());
            search(&Lines, input, choice, &progress, |lines| { found.extend(lines); Ok(go_on) }).unwrap();
            search_bytes(&Lines, &bytes, |lines| { expected.extend(lines); Ok(go_on) }).unwrap();
            assert_eq!(found, expected);
        });
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("output");
        piped(&|input| {
            let output = Output::replace(&target).unwrap();
            transform(&AddOffset, input, output, choice, Durability::None, &progress).unwrap();
            let mut whole = vec![0; bytes.len()];
            AddOffset.apply(0, &bytes, &mut whole);
            assert!(std::fs::read(&target).unwrap() == whole);
        });
    }
}

#[test]
fn a_trial_reads_parts_from_all_over_the_file() {
    let (spec, selections, len) = (StrategySpec::default(), Selections::default(), 1024 * MIB);
    let all = parts(true, 0..len, &[("buffered", 2), ("mmap", 2)]);
    let leases = Leases::new(vec![all], settings(&spec, &selections));
    // Mapping is slow in the first eighth only.
    let simulated = simulate(&leases, 2, len, |name, offset| {
        let cost = if name == "mmap" && offset > len / 8 { 1e-4 } else { 2e-4 };
        (cost, cost)
    });
    assert_eq!(selections.list().len(), 1);
    assert!(simulated.bytes("mmap") > len * 8 / 10, "{simulated:?}");
}

/// Two workers beside one at a device: tried only if the one is limited by its processor.
#[test]
fn a_saturated_device_gets_no_further_workers() {
    let (spec, selections, len) = (StrategySpec::default(), Selections::default(), 1024 * MIB);
    let deep = |workers| Strategy { depth: 8, request: MIB as usize, ..contender("uring", workers) };
    let region = || Parts {
        cached: false,
        ranges: std::iter::once(0..len).collect(),
        contenders: [(1, 0.0), (2, 0.0)]
            .map(|(workers, expected)| Contender { strategy: deep(workers), expected, deviation: 0.15 })
            .to_vec(),
        tried: 2,
    };
    let run = |cpu: f64| {
        let leases = Leases::new(vec![region()], settings(&spec, &selections));
        simulate(&leases, 2, len, |_, _| (0.25e-3, cpu))
    };
    run(0.08e-3);
    assert_eq!(selections.list(), [], "the worker waits most of the time");
    run(0.25e-3);
    let tried = selections.list();
    assert_eq!((tried.len(), tried[0].tried.len()), (1, 2), "{tried:?}");
    assert!(tried[0].chosen.contains("workers=2"), "twice as fast: {tried:?}");
}

/// The trial of a part that the device delivers is measured while its queue is full.
#[test]
fn the_first_and_the_last_requests_of_a_queue_are_not_measured() {
    let (spec, selections, len) = (StrategySpec::default(), Selections::default(), 1024 * MIB);
    let deep = Strategy { depth: 8, request: MIB as usize, stripe: 8 * MIB, ..contender("uring", 1) };
    let large = Strategy { request: 4 * MIB as usize, ..contender("direct", 1) };
    let contenders = vec![expected(deep), expected(large)];
    let parts = Parts { cached: false, ranges: std::iter::once(0..len).collect(), contenders, tried: 2 };
    let leases = Leases::new(vec![parts], settings(&spec, &selections));
    leases.started(1);
    let wait = |seconds| std::thread::sleep(Duration::from_secs_f64(seconds));
    // By depth: the bytes requested after the queue was full, and the longest time that they can have taken.
    let filling = |depth: usize| if depth == 8 { 11 } else { 1 };
    let mut measured = [(1, 0, 0.0), (8, 0, 0.0)];
    while let Some(lease) = leases.next().filter(|lease| lease.trial) {
        let Strategy { depth, request, .. } = lease.strategy;
        let mut extents = LeaseExtents::new(&leases, lease, request);
        let (mut bytes, mut start) = (0, Instant::now());
        for made in 0.. {
            // The first completion takes long. After it, each is followed by a request.
            wait(if made == depth { 0.1 } else { 1e-3 });
            if made == filling(depth) {
                start = Instant::now();
            }
            let Some((_, len)) = extents.next() else { break };
            bytes += if made >= filling(depth) { len } else { 0 };
        }
        let seconds = start.elapsed().as_secs_f64();
        wait(0.1);
        extents.end();
        let sum = measured.iter_mut().find(|sum| sum.0 == depth).unwrap();
        *sum = (depth, sum.1 + bytes, sum.2 + seconds);
    }
    let selections = selections.list();
    for (depth, bytes, seconds) in measured {
        let deep = |tried: &&Tried| tried.name.contains("depth 8") == (depth == 8);
        let tried = selections[0].tried.iter().find(deep).unwrap();
        let request = if depth == 8 { MIB as f64 } else { 4.0 * MIB as f64 };
        // Rates of several slices have a geometric mean.
        assert!(tried.rate > 0.7 * bytes as f64 / seconds, "{tried:?}, {bytes} bytes, {seconds} s");
        assert!(tried.rate < request / 1e-3, "{tried:?}");
    }
}

#[test]
fn the_requests_that_fill_a_queue_are_at_most_half_of_a_slice() {
    let (spec, selections, len) = (StrategySpec::default(), Selections::default(), 256 * MIB);
    // A slice is an eighth of the file here.
    for (workers, filling) in [(1, 11), (2, 0), (64, 0)] {
        let deep = Strategy { depth: 8, request: MIB as usize, ..contender("uring", workers) };
        let contenders = vec![expected(deep), expected(contender("direct", 1))];
        let parts = Parts { cached: false, ranges: std::iter::once(0..len).collect(), contenders, tried: 2 };
        let leases = Leases::new(vec![parts], settings(&spec, &selections));
        leases.started(workers);
        assert_eq!(leases.try_next().unwrap().filling, filling, "{workers} workers");
    }
}

#[test]
fn a_worker_that_only_fills_its_queue_counts_too() {
    let (spec, selections, len) = (StrategySpec::default(), Selections::default(), 512 * MIB);
    let deep = Strategy { depth: 8, request: MIB as usize, stripe: 8 * MIB, ..contender("uring", 2) };
    let contenders = vec![expected(deep), expected(contender("direct", 2))];
    let parts = Parts { cached: false, ranges: std::iter::once(0..len).collect(), contenders, tried: 2 };
    let leases = Leases::new(vec![parts], settings(&spec, &selections));
    leases.started(2);
    let wait = |seconds| std::thread::sleep(Duration::from_secs_f64(seconds));
    while let Some(first) = leases.try_next().filter(|lease| lease.trial) {
        let Some(second) = leases.try_next() else { break };
        let request = first.strategy.request;
        let mut workers = [first, second].map(|lease| LeaseExtents::new(&leases, lease, request));
        // The first worker takes all but one lease, and is ten times as fast.
        for (worker, seconds) in workers.iter_mut().zip([1e-3, 1e-2]) {
            while worker.next().is_some() {
                wait(seconds);
            }
        }
        workers.into_iter().for_each(LeaseExtents::end);
    }
    let tried = selections.list().swap_remove(0).tried;
    let deep = tried.iter().find(|tried| tried.name.contains("depth 8")).unwrap();
    assert!(deep.rate < 1.2 * MIB as f64 / 1e-3, "{deep:?}");
}

#[test]
fn parts_that_are_not_wanted_are_not_measured() {
    for cached in [true, false] {
        let (spec, selections, len) = (StrategySpec::default(), Selections::default(), 1024 * MIB);
        let all = parts(cached, 0..len, &[("buffered", 1), ("uring", 1)]);
        let leases = Leases::new(vec![all], settings(&spec, &selections));
        leases.started(1);
        while let Some(lease) = leases.next() {
            let mut extents = LeaseExtents::new(&leases, lease, MIB as usize);
            extents.next();
            extents.discard();
            extents.end();
        }
        assert_eq!(selections.list(), [], "{cached}");
    }
}
