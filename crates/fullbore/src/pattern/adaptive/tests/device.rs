//! Trials of parts that a device delivers: queues, and workers that wait.

use super::*;

/// Two workers beside one at a device: tried only if the one is limited by its processor.
#[test]
fn a_saturated_device_gets_no_further_workers() {
    let (run, len) = (Fixture::default(), 1024 * MIB);
    let deep = |workers| Strategy { depth: 8, request: MIB as usize, ..contender("uring", workers) };
    let region = || Parts {
        cached: false,
        ranges: std::iter::once(0..len).collect(),
        contenders: [(1, 0.0), (2, 0.0)]
            .map(|(workers, expected)| Contender { strategy: deep(workers), expected, deviation: 0.15 })
            .to_vec(),
        tried: 2,
    };
    let spend = |cpu: f64| {
        let leases = run.leases([region()]);
        simulate(&leases, 2, len, |_, _| (0.25e-3, cpu))
    };
    spend(0.08e-3);
    let tried = run.selections.list();
    assert_eq!((tried.len(), tried[0].tried.len()), (1, 1), "the worker waits most of the time: {tried:?}");
    spend(0.25e-3);
    let tried = run.selections.list();
    assert_eq!((tried.len(), tried[1].tried.len()), (2, 2), "{tried:?}");
    assert!(tried[1].chosen.contains("workers=2"), "twice as fast: {tried:?}");
}

/// The trial of a part that the device delivers is measured while its queue is full.
#[test]
fn the_first_and_the_last_requests_of_a_queue_are_not_measured() {
    let (run, len) = (Fixture::default(), 1024 * MIB);
    let deep = Strategy { depth: 8, request: MIB as usize, stripe: 8 * MIB, ..contender("uring", 1) };
    let large = Strategy { request: 4 * MIB as usize, ..contender("direct", 1) };
    let leases = run.leases([parts_of(false, 0..len, [deep, large])]);
    leases.started(1);
    // By depth: the bytes requested after the queue was full, and the longest time that they can have taken.
    let filling = |depth: usize| if depth == 8 { 11 } else { 1 };
    let mut measured = [(1, 0, 0.0), (8, 0, 0.0)];
    while let Some(lease) = leases.next().filter(|lease| lease.trial) {
        let Strategy { depth, request, .. } = lease.strategy;
        let mut extents = LeaseExtents::with_clock(&leases, lease, request, set_moment);
        let (mut bytes, mut start) = (0, NOW.get());
        for made in 0.. {
            // The first completion takes long. After it, each is followed by a request.
            wait(if made == depth { 0.1 } else { 1e-3 });
            if made == filling(depth) {
                start = NOW.get();
            }
            let Some((_, len)) = extents.next() else { break };
            bytes += if made >= filling(depth) { len } else { 0 };
        }
        let seconds = (NOW.get() - start).as_secs_f64();
        wait(0.1);
        extents.end();
        let sum = measured.iter_mut().find(|sum| sum.0 == depth).unwrap();
        *sum = (depth, sum.1 + bytes, sum.2 + seconds);
    }
    let selections = run.selections.list();
    for (depth, bytes, seconds) in measured {
        let deep = |tried: &&Tried| tried.name.contains("depth 8") == (depth == 8);
        let tried = selections[0].tried.iter().find(deep).unwrap();
        let request = if depth == 8 { MIB as f64 } else { 4.0 * MIB as f64 };
        let wanted = bytes as f64 / seconds;
        assert!((tried.rate / wanted - 1.0).abs() < 0.1, "{tried:?}, {bytes} bytes, {seconds} s");
        assert!(tried.rate < 1.001 * request / 1e-3, "{tried:?}");
    }
}

#[test]
fn the_requests_that_fill_a_queue_are_at_most_half_of_a_slice() {
    let (run, len) = (Fixture::default(), 256 * MIB);
    // A slice is an eighth of the file here.
    for (workers, filling) in [(1, 11), (2, 0), (64, 0)] {
        let deep = Strategy { depth: 8, request: MIB as usize, ..contender("uring", workers) };
        let leases = run.leases([parts_of(false, 0..len, [deep, contender("direct", 1)])]);
        leases.started(workers);
        assert_eq!(leases.try_next().unwrap().filling, filling, "{workers} workers");
    }
}

#[test]
fn a_worker_that_only_fills_its_queue_counts_too() {
    let (run, len) = (Fixture::default(), 512 * MIB);
    let deep = Strategy { depth: 8, request: MIB as usize, stripe: 8 * MIB, ..contender("uring", 2) };
    let leases = run.leases([parts_of(false, 0..len, [deep, contender("direct", 2)])]);
    leases.started(2);
    while let Some(first) = leases.try_next().filter(|lease| lease.trial) {
        let Some(second) = leases.try_next() else { break };
        let request = first.strategy.request;
        let mut workers =
            [first, second].map(|lease| LeaseExtents::with_clock(&leases, lease, request, set_moment));
        // The first worker takes all but one lease, and is ten times as fast.
        for (worker, seconds) in workers.iter_mut().zip([1e-3, 1e-2]) {
            while worker.next().is_some() {
                wait(seconds);
            }
        }
        workers.into_iter().for_each(LeaseExtents::end);
    }
    let tried = run.selections.list().swap_remove(0).tried;
    let deep = tried.iter().find(|tried| tried.name.contains("depth 8")).unwrap();
    assert!(deep.rate < 1.2 * MIB as f64 / 1e-3, "{deep:?}");
}

#[test]
fn parts_that_are_not_wanted_are_not_measured() {
    for cached in [true, false] {
        let (run, len) = (Fixture::default(), 1024 * MIB);
        let leases = run.leases([parts(cached, 0..len, &[("buffered", 1), ("uring", 1)])]);
        leases.started(1);
        while let Some(lease) = leases.next() {
            let mut extents = LeaseExtents::new(&leases, lease, MIB as usize);
            extents.next();
            extents.discard();
            extents.end();
        }
        assert_eq!(run.selections.list(), [], "{cached}");
    }
}
