//! Adaptive runs with simulated workers.

mod device;
mod results;

use std::cell::Cell;
use std::ops::Range;
use std::time::{Duration, Instant};

use super::extents::Moment;
use super::lease::{Lease, Parts, Settings, Spent};
#[cfg(target_os = "linux")]
use super::parts::{RunInput, grain, regions};
use super::*;
use crate::strategy::{Contender, Selections, Strategy, StrategySpec, Tried};
use fullbore_io::engine::{CachePolicy, method};
#[cfg(target_os = "linux")]
use fullbore_io::file::File;
#[cfg(target_os = "linux")]
use fullbore_testkit::ground::build_directory;

const MIB: u64 = 1 << 20;

fn contender(name: &str, workers: usize) -> Strategy {
    Strategy { read: method(name).unwrap(), ..Strategy::plain() }.with_workers(workers)
}

/// A contender of which nothing is known.
fn expected(strategy: Strategy) -> Contender {
    Contender { strategy, expected: 0.0, deviation: 0.3 }
}

/// The spec and the selections of a run.
#[derive(Default)]
struct Fixture {
    spec: StrategySpec,
    selections: Selections,
}

impl Fixture {
    fn settings(&self) -> Settings<'_> {
        let Self { spec, selections } = self;
        Settings { grain: MIB, most: 2, writes: false, any_order: true, spec, selections, shuffle: None }
    }

    fn leases<const N: usize>(&self, parts: [Parts; N]) -> Leases<'_> {
        Leases::new(parts.into(), self.settings())
    }
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

thread_local! {
    /// The time of [`set_moment`].
    static NOW: Cell<Instant> = Cell::new(Instant::now());
}

/// A clock that only [`wait`] advances.
fn set_moment(_trial: bool) -> Moment {
    Moment { time: NOW.get(), held: Duration::ZERO, thread: None }
}

fn wait(seconds: f64) {
    NOW.set(NOW.get() + Duration::from_secs_f64(seconds));
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
    parts_of(cached, range, names.iter().map(|(name, workers)| contender(name, *workers)))
}

/// Parts whose contenders are unknown strategies, all of them tried.
fn parts_of(cached: bool, range: Range<u64>, strategies: impl IntoIterator<Item = Strategy>) -> Parts {
    let contenders: Vec<_> = strategies.into_iter().map(expected).collect();
    Parts { cached, ranges: std::iter::once(range).collect(), tried: contenders.len(), contenders }
}

#[test]
fn a_run_takes_hardly_longer_than_with_the_fastest_contender_alone() {
    let (run, len) = (Fixture::default(), 1024 * MIB);
    let leases = run.leases([parts(true, 0..len, &[("buffered", 2), ("mmap", 2), ("uring", 2)])]);
    let simulated = simulate(&leases, 2, len, |name, offset| {
        // Noise of 2%.
        let noise = 1.0 + 0.02 * ((offset / MIB * 7919 % 13) as f64 / 6.0 - 1.0);
        let cost = noise * if name == "mmap" { 1e-4 } else { 1.5e-4 };
        (cost, cost)
    });
    let spent: f64 = simulated.0.iter().map(|(_, _, seconds)| seconds).sum();
    assert!(spent < 1.03 * 1e-4 * (len / MIB) as f64, "{simulated:?}");
    let tried = run.selections.list();
    assert_eq!((tried.len(), tried[0].tried.len()), (1, 3), "{tried:?}");
    assert!(tried[0].chosen.starts_with("read=mmap"), "{tried:?}");
    let rate = tried[0].tried[1].rate;
    assert!((rate / (2.0 * MIB as f64 / 1e-4) - 1.0).abs() < 0.05, "{rate}");
}

#[test]
fn a_short_run_has_a_short_trial() {
    let len = 96 * MIB;
    for [mapped, copied] in [[1.3e-4, 1e-4], [1e-4, 1.3e-4]] {
        let run = Fixture::default();
        let strategies = [(8 * MIB, "mmap"), (MIB, "buffered")]
            .map(|(stripe, name)| Strategy { stripe, ..contender(name, 2) });
        let leases = run.leases([parts_of(true, 0..len, strategies)]);
        let simulated = simulate(&leases, 2, len, |name, offset| {
            // Noise of 10%.
            let noise = 1.0 + 0.1 * ((offset / MIB * 7919 % 13) as f64 / 6.0 - 1.0);
            let cost = noise * if name == "mmap" { mapped } else { copied };
            (cost, cost)
        });
        let list = run.selections.list();
        let faster = if mapped < copied { "read=mmap" } else { "method=buffered" };
        assert!(list.len() == 1 && list[0].chosen.starts_with(faster), "{list:?}");
        assert!(list[0].after <= 24 * MIB, "{list:?}");
        let spent: f64 = simulated.0.iter().map(|(_, _, seconds)| seconds).sum();
        assert!(spent < 1.05 * mapped.min(copied) * (len / MIB) as f64, "{simulated:?}");
    }
}

#[test]
fn of_equal_contenders_the_one_with_less_cpu_time_is_chosen() {
    let (run, len) = (Fixture::default(), 1024 * MIB);
    let leases = run.leases([parts(false, 0..len, &[("buffered", 2), ("uring", 1)])]);
    // Both are limited by the device: two workers share what one gets.
    simulate(&leases, 2, len, |name, _| if name == "uring" { (1e-3, 1e-4) } else { (2e-3, 4e-4) });
    let tried = run.selections.list();
    assert!(tried[0].chosen.starts_with("read=uring"), "{tried:?}");
}

#[test]
fn a_rate_that_falls_or_rises_starts_another_trial() {
    // The costs of both methods in the first half of the run and in the second, and the choices. In the first run mapping is three
    // times as fast and then ten times as slow; in the second another program ends in the middle.
    for (mapped, buffered, choices) in [
        ([1e-4, 30e-4], [3e-4, 3e-4], ["read=mmap,", "method=buffered,"]),
        ([6e-4, 0.5e-4], [3e-4, 1e-4], ["method=buffered,", "read=mmap,"]),
    ] {
        let (run, len) = (Fixture::default(), 2048 * MIB);
        let all = parts(true, 0..len, &[("buffered", 2), ("mmap", 2)]);
        let leases = Leases::new(vec![all], Settings { any_order: false, ..run.settings() });
        let simulated = simulate(&leases, 2, len, |name, offset| {
            let costs = if name == "mmap" { mapped } else { buffered };
            let cost = costs[usize::from(offset >= len / 2)];
            (cost, cost)
        });
        let list = run.selections.list();
        assert_eq!(list.len(), choices.len(), "{list:?}, {simulated:?}");
        for (selection, choice) in list.iter().zip(choices) {
            assert!(selection.chosen.starts_with(choice), "{list:?}, {simulated:?}");
        }
        let last = if choices[1].starts_with("read") { "mmap" } else { "buffered" };
        assert!(simulated.bytes(last) > len / 3, "{simulated:?}");
    }
}

/// A trial of some hundred MiB is not too long for 64 GiB: another one begins long before a quarter of them.
#[test]
fn a_change_early_in_a_long_run_is_noticed() {
    let (run, len) = (Fixture::default(), 65_536 * MIB);
    let leases = run.leases([parts(false, 0..len, &[("uring", 2), ("buffered", 2)])]);
    let moved = Cell::new(0);
    let simulated = simulate(&leases, 2, len, |name, _| {
        moved.set(moved.get() + 1);
        let first = moved.get() < 2_000;
        let cost = if (name == "uring") == first { 1e-4 } else { 4e-4 };
        (cost, cost)
    });
    let list = run.selections.list();
    assert!(list.len() == 2 && list[1].chosen.starts_with("method=buffered,"), "{list:?}");
    assert!(simulated.bytes("buffered") > len * 9 / 10, "{simulated:?}");
}

/// If the state of the page cache is unknown, parts that arrive faster than from any device are not read from the device.
#[test]
fn parts_that_arrive_at_the_rate_of_memory_are_not_read_directly() {
    let direct = || Strategy { read_cache: CachePolicy::Direct, ..contender("direct", 2) };
    for (seconds, tried) in [(0.5e-4, false), (20e-4, true)] {
        let (run, len) = (Fixture::default(), 1024 * MIB);
        let leases = run.leases([parts_of(true, 0..len, [contender("buffered", 2), direct()])]);
        simulate(&leases, 2, len, |name, _| {
            let cost = if name == "direct" { 10e-4 } else { seconds };
            (cost, cost)
        });
        let list = run.selections.list();
        let direct = list[0].tried.iter().any(|tried| tried.name.starts_with("direct"));
        assert_eq!(direct, tried, "{list:?}");
    }
}

#[test]
fn workers_are_added_while_they_increase_the_rate() {
    let (run, len) = (Fixture::default(), 8192 * MIB);
    let all = parts(true, 0..len, &[("buffered", 4), ("mmap", 4)]);
    let leases = Leases::new(vec![all], Settings { most: 32, ..run.settings() });
    simulate(&leases, 32, len, |name, _| if name == "mmap" { (3e-4, 3e-4) } else { (1e-4, 1e-4) });
    let [selection] = &run.selections.list()[..] else { panic!("{:?}", run.selections.list()) };
    assert!(
        selection.chosen.contains("method=buffered") && selection.chosen.contains("workers=32"),
        "{selection}"
    );
}

/// Some workers belong to the other region, so contenders with different numbers of them cannot be compared.
#[test]
fn numbers_of_workers_are_not_tried_while_another_region_is_read() {
    for (workers, most) in [(2, 2), (4, 16)] {
        let (run, len) = (Fixture::default(), 4096 * MIB);
        let cached = parts(true, 0..len / 2, &[("buffered", workers), ("mmap", workers)]);
        let uncached = parts(false, len / 2..len, &[("direct", workers), ("uring", workers)]);
        let leases = Leases::new(vec![cached, uncached], Settings { most, ..run.settings() });
        simulate(&leases, most, len, |name, _| if name == "uring" { (2e-4, 1e-4) } else { (4e-4, 4e-4) });
        let list = run.selections.list();
        let tried: Vec<&str> =
            list.iter().flat_map(|one| &one.tried).map(|tried| tried.strategy.as_str()).collect();
        let own = format!("workers={workers},");
        assert!(tried.len() >= 4 && tried.iter().all(|tried| tried.contains(&own)), "{tried:?}");
    }
}

#[test]
fn the_device_works_while_cached_parts_are_processed() {
    let (run, len) = (Fixture::default(), 1024 * MIB);
    let cached = parts(true, 0..len / 2, &[("buffered", 2), ("mmap", 2)]);
    let uncached = parts(false, len / 2..len, &[("uring", 2)]);
    let leases = run.leases([cached, uncached]);
    leases.started(2);
    let (one, two) = (leases.try_next().unwrap(), leases.try_next().unwrap());
    assert_eq!((one.strategy.read.name, two.strategy.read.name), ("uring", "buffered"));
    // The worker that is done first helps with the other region.
    let cached = parts(true, 0..len / 2, &[("buffered", 2), ("mmap", 2)]);
    let uncached = parts(false, len / 2..len, &[("uring", 2)]);
    let leases = run.leases([cached, uncached]);
    let simulated =
        simulate(&leases, 2, len, |name, _| if name == "uring" { (1e-3, 1e-4) } else { (1e-4, 1e-4) });
    assert_eq!(simulated.bytes("uring"), len / 2);
}

#[test]
fn a_contender_that_cannot_be_opened_is_left_out() {
    let (run, len) = (Fixture::default(), 256 * MIB);
    let leases = run.leases([parts(true, 0..len, &[("uring", 2), ("buffered", 2), ("mmap", 2)])]);
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
    let leases = run.leases([parts(true, 0..len, &[("uring", 2)])]);
    let only = leases.next().unwrap();
    assert_eq!(leases.replace(&only), None, "there is no other");
    // A region too short for a trial has others in reserve.
    let single = Parts { tried: 1, ..parts(true, 0..len, &[("uring", 2), ("buffered", 2)]) };
    let leases = run.leases([single]);
    leases.started(2);
    let first = leases.try_next().unwrap();
    assert_eq!(leases.replace(&first).unwrap().strategy.read.name, "buffered");
    assert_eq!(leases.try_next().unwrap().strategy.read.name, "buffered");
}

/// A worker that goes on under one contender keeps its engine, also where another trial begins.
#[test]
fn a_lease_after_another_is_for_the_same_strategy() {
    let (run, len) = (Fixture::default(), 2048 * MIB);
    let all = parts(true, 0..len, &[("buffered", 1), ("mmap", 1)]);
    let settings = Settings { any_order: false, most: 1, ..run.settings() };
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
    assert!(
        run.selections.list().len() > 1,
        "the rate fell: there was another trial: {:?}",
        run.selections.list()
    );
}

/// Every second MiB of a file is cached, and every second block of 64 KiB of its end.
#[cfg(target_os = "linux")]
#[test]
fn small_cached_parts_are_found() {
    use crate::strategy::ADAPTIVE;
    use fullbore_io::sys::{Advice, advise};
    use std::io::Write;
    const SMALL: usize = 64 << 10;
    let (len, mut file) = (ADAPTIVE, tempfile::NamedTempFile::new_in(build_directory()).unwrap());
    file.write_all(&vec![7; len as usize]).unwrap();
    file.as_file().sync_all().unwrap();
    for advice in [Advice::DontNeed, Advice::Random] {
        advise(file.as_file(), 0, None, advice).unwrap();
    }
    let file = File::open(file.path()).unwrap();
    advise(&file, 0, None, Advice::Random).unwrap();
    if fullbore_io::probe::residency(&file, 0..len).map_or(1, |found| found.cached) > 0 {
        eprintln!("skipped: pages of the build directory stay cached");
        return;
    }
    let (alternate, mut buffer) = (len - 32 * MIB, vec![0; MIB as usize]);
    (0..alternate).step_by(2 * MIB as usize).for_each(|at| file.read_exact_at(&mut buffer, at).unwrap());
    let read = |at| file.read_exact_at(&mut buffer[..SMALL], at).unwrap();
    (alternate..len).step_by(2 * SMALL).for_each(read);
    let [cached, uncached] = regions(&[RunInput { file: &file, base: 0, len }], 0..len, MIB);
    let (even, odd): (Vec<_>, Vec<_>) = (0..alternate / MIB).partition(|mib| mib % 2 == 0);
    let ranges = |list: Vec<u64>| list.into_iter().map(|mib| mib * MIB..(mib + 1) * MIB).collect::<Vec<_>>();
    let (even, mut odd) = (ranges(even), ranges(odd));
    // A trial finds out how to read what is cached in part.
    odd.last_mut().unwrap().end = len;
    assert_eq!((cached, uncached), (even, odd));
    // Neither the length nor its hundredths are powers of two.
    let short = 100_000_000 / MIB * MIB;
    let [cached, uncached] =
        regions(&[RunInput { file: &file, base: 0, len }], 0..short, grain(1, short).unwrap());
    for (list, first) in [(cached, 0), (uncached, 1)] {
        let expected = ranges((0..short / MIB).filter(|mib| mib % 2 == first).collect());
        assert_eq!(list, expected, "{first}");
    }
}

#[test]
fn a_stopped_run_releases_the_workers_that_wait() {
    let run = Fixture::default();
    let leases = run.leases([parts(true, 0..1024 * MIB, &[("buffered", 1)])]);
    leases.started(2);
    let held = leases.next().unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| leases.next());
        leases.stop();
        assert_eq!(waiting.join().unwrap(), None, "{held:?}");
    });
}

#[test]
fn a_trial_reads_parts_from_all_over_the_file() {
    let (run, len) = (Fixture::default(), 1024 * MIB);
    let leases = run.leases([parts(true, 0..len, &[("buffered", 2), ("mmap", 2)])]);
    // Mapping is slow in the first eighth only.
    let simulated = simulate(&leases, 2, len, |name, offset| {
        let cost = if name == "mmap" && offset > len / 8 { 1e-4 } else { 2e-4 };
        (cost, cost)
    });
    // Once more when the rate has doubled after the first eighth.
    let list = run.selections.list();
    assert_eq!(list.len(), 2);
    assert!(list.iter().all(|one| one.chosen.starts_with("read=mmap")), "{list:?}");
    assert!(simulated.bytes("mmap") > len * 8 / 10, "{simulated:?}");
}
