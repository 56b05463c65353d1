//! Every access method under every fault: the bytes or the error are right, and the fault did occur.

use std::error::Error as _;
use std::fs;
use std::path::Path;

use fullbore::buf::{ALIGNMENT, Buf, Pool};
use fullbore::engine::{self, Availability, CachePolicy, Done, EngineConfig, IoQueue, METHODS, Method};
use fullbore::error::{Error, ErrorKind, Result};
use fullbore::fault::{Counts, Fault, Plan};
use fullbore::file::{Durability, File, Output, Placement};
use fullbore::operation::{self, Kernel};
use fullbore::strategy::NAMED;
use fullbore_testkit::ground::{bytes, everywhere};
use fullbore_testkit::numbers;

mod planned;

/// Requests in flight.
const DEPTH: usize = 4;
/// Bytes per request.
const REQUEST: usize = 3 * ALIGNMENT;
/// Length of the files: many requests, not a multiple of the block.
const LENGTH: usize = 40 * REQUEST + 777;
/// Offset of the faults: inside a block and a request in the middle of the file.
const PLACE: u64 = (17 * REQUEST + 100) as u64;

/// The required result of a fault.
enum Expected {
    /// All bytes are right.
    Right,
    /// `NoSpace`.
    NoSpace,
    /// The device's error.
    Failed,
    /// `Changed`: the file was truncated.
    Changed,
}

/// A fault, its required result, and the evidence that it occurred.
type Case = (Fault, Expected, fn(&Counts) -> bool);

fn when_writing() -> Vec<Case> {
    vec![
        (Fault::Short { one_in: 3 }, Expected::Right, |counts| counts.short > 0),
        (Fault::Interrupted { one_in: 3 }, Expected::Right, |counts| counts.interrupted > 0),
        (Fault::WouldBlock { one_in: 3 }, Expected::Right, |counts| counts.would_block > 0),
        (Fault::NoSpace { at: PLACE }, Expected::NoSpace, |counts| counts.no_space > 0),
        (Fault::IoErrorAt { offset: PLACE }, Expected::Failed, |counts| counts.io_errors == 1),
        (Fault::IoErrorOn { call: 11 }, Expected::Failed, |counts| counts.io_errors == 1),
        (Fault::Buffers { most: 2 }, Expected::Right, |counts| counts.transfers > 0),
    ]
}

fn when_reading() -> Vec<Case> {
    let mut cases = when_writing();
    // Reads need no space.
    cases.retain(|(fault, ..)| !matches!(fault, Fault::NoSpace { .. }));
    cases.push((Fault::Truncated { call: 9, len: PLACE }, Expected::Changed, |counts| counts.truncated == 1));
    cases
}

fn is_io_error(error: &Error) -> bool {
    error
        .source()
        .and_then(|source| source.downcast_ref::<std::io::Error>())
        .is_some_and(|source| source.raw_os_error() == Some(numbers::IO))
}

impl Expected {
    /// Asserts that the fault occurred and `result` is the required one; `Ok` holds true if all bytes are right.
    fn judge(&self, name: &str, plan: &Plan, struck: fn(&Counts) -> bool, result: Result<bool>) {
        let counts = plan.counts();
        assert!(struck(&counts), "{name}: the fault did not occur: {counts:?}");
        match (self, &result) {
            (Self::Right, Ok(true)) => {}
            (Self::NoSpace, Err(error)) if error.kind() == ErrorKind::NoSpace => {}
            (Self::Failed, Err(error)) if error.kind() == ErrorKind::Io && is_io_error(error) => {}
            (Self::Changed, Err(error)) if error.kind() == ErrorKind::Changed => {}
            (_, Ok(whole)) => panic!("{name}: no error; bytes right: {whole}"),
            (_, Err(error)) => panic!("{name}: {error} ({:?})", error.kind()),
        }
    }
}

/// Calls `test` for every transferring method and cache policy that works in `directory`.
fn each(directory: &Path, mut test: impl FnMut(&'static Method, CachePolicy)) {
    let path = directory.join("probe");
    fs::write(&path, bytes(3 * ALIGNMENT, 1)).unwrap();
    let file = File::open_write(&path).unwrap();
    let mut tested = 0;
    for &method in METHODS.iter().filter(|method| method.capabilities.transfers && method.name != "null") {
        let can = &method.capabilities;
        for (cache, takes) in [
            (CachePolicy::Keep, can.direct != Availability::Always && can.drops != Availability::Always),
            (CachePolicy::Direct, can.direct != Availability::Never),
            (CachePolicy::DontCache, can.drops != Availability::Never),
        ] {
            if takes && engine::probe(method, &file, None, true, cache).is_ok() {
                test(method, cache);
                tested += 1;
            }
        }
    }
    assert!(tested >= 3, "only {tested} methods work in {}", directory.display());
}

fn open(
    method: &Method,
    cache: CachePolicy,
    file: &File,
    write: bool,
    pool: &Pool,
    limit: Option<u64>,
) -> Result<IoQueue> {
    let depth = DEPTH.min(method.capabilities.depth);
    let (from, window) = (None, Some(8 * ALIGNMENT));
    let config = EngineConfig { file, from, write, cache, depth, pool: Some(pool), window, random: false };
    IoQueue::open(method, &config, limit).map_err(|error| Error::io("open", file.path(), error))
}

/// Moves the `len` bytes of a file in requests, some of which start inside blocks: `queue_one` queues the request at an offset
/// and of a length, and `done` receives its completion.
fn in_requests(
    queue: &mut IoQueue,
    pool: &mut Pool,
    (depth, len): (usize, usize),
    mut queue_one: impl FnMut(&mut IoQueue, u64, usize, Buf) -> Result<()>,
    mut done: impl FnMut(&Done),
) -> Result<()> {
    let mut offset = 0;
    while offset < len || queue.in_flight() > 0 {
        if offset < len && queue.in_flight() < depth {
            let part = (REQUEST - 5).min(len - offset);
            queue_one(queue, offset as u64, part, pool.take().unwrap())?;
            offset += part;
        } else if let Some(completed) = queue.next()? {
            done(&completed);
            pool.put(completed.buf);
        }
    }
    Ok(())
}

/// Writes `content`.
fn write(method: &Method, cache: CachePolicy, file: &File, content: &[u8]) -> Result<()> {
    let mut pool = Pool::new(DEPTH, REQUEST).unwrap();
    let mut queue = open(method, cache, file, true, &pool, None)?;
    let sizes = (DEPTH.min(method.capabilities.depth), content.len());
    let write = |queue: &mut IoQueue, offset: u64, len: usize, mut buf: Buf| {
        buf.place(offset, len);
        buf.data_mut().copy_from_slice(&content[offset as usize..offset as usize + len]);
        queue.write(0, offset, buf)
    };
    in_requests(&mut queue, &mut pool, sizes, write, |_| ())?;
    queue.flush()?;
    if file.stamp()?.len != content.len() as u64 {
        file.set_len(content.len() as u64)?;
    }
    file.sync_data()
}

/// Reads the whole file; true if it equals `content`.
fn read(method: &Method, cache: CachePolicy, file: &File, content: &[u8]) -> Result<bool> {
    let mut pool = Pool::new(DEPTH, REQUEST).unwrap();
    let mut queue = open(method, cache, file, false, &pool, Some(content.len() as u64))?;
    let sizes = (DEPTH.min(method.capabilities.depth), content.len());
    let mut found = vec![0; content.len()];
    let read = |queue: &mut IoQueue, offset, len, buf| queue.read(0, offset, len, buf);
    in_requests(&mut queue, &mut pool, sizes, read, |done| {
        let start = done.offset as usize;
        found[start..start + done.buf.len()].copy_from_slice(done.buf.data());
    })?;
    Ok(found == content)
}

/// Judges `test`, which leaves a file at `path`, under the plan of each case.
fn under(
    cases: impl IntoIterator<Item = Case>,
    name: &str,
    path: &Path,
    mut test: impl FnMut(&Plan) -> Result<bool>,
) {
    for (seed, (fault, outcome, struck)) in cases.into_iter().enumerate() {
        let plan = Plan::new(seed as u64).with(fault);
        let result = test(&plan);
        outcome.judge(&format!("{name} {fault:?}"), &plan, struck, result);
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn every_method_writes_correctly_under_every_fault() {
    let content = bytes(LENGTH, 2);
    everywhere(|directory| {
        each(directory, |method, cache| {
            let path = directory.join("file");
            under(when_writing(), &format!("{} cache={cache}", method.name), &path, |plan| {
                let file = File::create_new(&path)?.with_faults(plan);
                write(method, cache, &file, &content).map(|()| fs::read(&path).unwrap() == content)
            });
        });
    });
}

#[test]
fn every_method_reads_correctly_under_every_fault() {
    let content = bytes(LENGTH, 3);
    everywhere(|directory| {
        each(directory, |method, cache| {
            let path = directory.join("file");
            // Windows refuses to truncate a mapped file.
            let fixed = cfg!(windows) && method.capabilities.mapped;
            let cases = when_reading().into_iter();
            let cases = cases.filter(|(fault, ..)| !fixed || !matches!(fault, Fault::Truncated { .. }));
            under(cases, &format!("{} cache={cache}", method.name), &path, |plan| {
                fs::write(&path, &content).unwrap();
                read(method, cache, &File::open(&path)?.with_faults(plan), &content)
            });
        });
    });
}

#[test]
fn a_failed_sync_fails_later_writes_with_every_method() {
    everywhere(|directory| {
        let content = bytes(LENGTH, 4);
        each(directory, |method, cache| {
            let path = directory.join(format!("{}-{cache}", method.name));
            let plan = Plan::new(1).with(Fault::SyncFails { sync: 1 });
            let file = File::create_new(&path).unwrap().with_faults(&plan);
            let name = format!("{} cache={cache}", method.name);
            assert!(is_io_error(&write(method, cache, &file, &content).unwrap_err()), "{name}");
            let error = write(method, cache, &file, &content).unwrap_err();
            assert!(error.to_string().contains("an earlier sync of this file failed"), "{name}: {error}");
            // The first request fails, not only the sync at the end.
            let mut pool = Pool::new(1, REQUEST).unwrap();
            let mut queue = open(method, cache, &file, true, &pool, None).unwrap();
            let mut buf = pool.take().unwrap();
            buf.place(0, REQUEST);
            let error = queue.write(0, 0, buf).unwrap_err();
            assert!(error.to_string().contains("an earlier sync of this file failed"), "{name}: {error}");
            fs::remove_file(&path).unwrap();
        });
    });
}

#[test]
fn file_calls_are_correct_under_every_fault() {
    everywhere(|directory| {
        let content = bytes(LENGTH, 5);
        let path = directory.join("file");
        // These calls take one buffer; EAGAIN is tested below.
        let applies = |(fault, ..): &Case| !matches!(fault, Fault::WouldBlock { .. } | Fault::Buffers { .. });
        let offsets = (0..).step_by(REQUEST);
        under(when_writing().into_iter().filter(applies), "write", &path, |plan| {
            let file = File::create_new(&path)?.with_faults(plan);
            let mut parts = offsets.clone().zip(content.chunks(REQUEST));
            parts
                .try_for_each(|(offset, part)| file.write_all_at(part, offset))
                .map(|()| fs::read(&path).unwrap() == content)
        });
        under(when_reading().into_iter().filter(applies), "read", &path, |plan| {
            fs::write(&path, &content).unwrap();
            let file = File::open(&path)?.with_faults(plan);
            let mut found = vec![0; content.len()];
            let mut parts = offsets.clone().zip(found.chunks_mut(REQUEST));
            parts.try_for_each(|(offset, part)| file.read_exact_at(part, offset)).map(|()| found == content)
        });
        fs::write(&path, &content).unwrap();
        let plan = Plan::new(1).with(Fault::WouldBlock { one_in: 1 });
        let file = File::open(&path).unwrap().with_faults(&plan);
        let error = file.read_at(&mut [0], 0).unwrap_err();
        let source = error.source().unwrap().downcast_ref::<std::io::Error>().unwrap();
        assert_eq!(source.kind(), std::io::ErrorKind::WouldBlock);
        // The repeated call succeeds.
        assert_eq!(file.read_at(&mut [0], 0).unwrap(), 1);
        fs::remove_file(&path).unwrap();
    });
}

/// Runs `none` by a strategy from a file under one plan to an output under another; false if the strategy is unavailable.
fn transform(strategy: &str, input: (&Path, &Plan), output: (&Path, &Plan)) -> Result<bool> {
    let source = File::open(input.0)?.with_faults(input.1);
    let target = Output::create(output.0, Placement::Replace, Some(&source))?.with_faults(output.1);
    let operation = operation::parse("none", Kernel::Simd).unwrap();
    planned::transform(&*operation, strategy, &source, target, Durability::Full)
}

#[test]
fn transforms_are_correct_or_keep_the_old_file() {
    everywhere(|directory| {
        let content = bytes(LENGTH, 6);
        let (input, output) = (directory.join("in"), directory.join("out"));
        fs::write(&input, &content).unwrap();
        let mut ran = 0;
        for strategy in NAMED.iter().map(|named| named.name) {
            for (seed, (fault, outcome, _)) in when_writing().into_iter().enumerate() {
                fs::write(&output, b"old").unwrap();
                let quiet = Plan::new(seed as u64);
                let plan = Plan::new(seed as u64).with(fault);
                match transform(strategy, (&input, &quiet), (&output, &plan)) {
                    Ok(false) => break,
                    result => {
                        ran += 1;
                        let failed = result.is_err();
                        // The number of the strategy's calls decides if the fault occurs.
                        let found = fs::read(&output).unwrap();
                        if failed {
                            outcome.judge(&format!("{strategy} {fault:?}"), &plan, |_| true, result);
                        }
                        let right = if failed { b"old".as_slice() } else { &content };
                        assert!(found == right, "{strategy} {fault:?}: failed: {failed}");
                        assert_eq!(fs::read_dir(directory).unwrap().count(), 2, "{strategy} {fault:?}");
                    }
                }
            }
        }
        assert!(ran >= 30, "only {ran} runs in {}", directory.display());
    });
}

// Directories of Windows have no pipes.
#[cfg(unix)]
#[test]
fn pipes_are_transformed_correctly_under_every_fault() {
    let directory = tempfile::tempdir().unwrap();
    let (input, output) = (directory.path().join("in"), directory.path().join("out"));
    fullbore_testkit::ground::fifo(&input);
    fullbore_testkit::ground::fifo(&output);
    let content = bytes(LENGTH, 7);
    // Pipes have no buffers to limit and no requests to count.
    let cases = when_writing().into_iter();
    for (fault, outcome, struck) in
        cases.filter(|(fault, ..)| !matches!(fault, Fault::Buffers { .. } | Fault::IoErrorOn { .. }))
    {
        for faulty_output in [false, true] {
            if matches!(fault, Fault::NoSpace { .. }) && !faulty_output {
                continue;
            }
            let (quiet, plan) = (Plan::new(1), Plan::new(2).with(fault));
            let (reading, writing) = if faulty_output { (&quiet, &plan) } else { (&plan, &quiet) };
            let (result, found) = std::thread::scope(|scope| {
                // Fails once the transform stops reading.
                scope.spawn(|| fs::write(&input, &content));
                let found = scope.spawn(|| fs::read(&output).unwrap());
                let result = transform("request=16K,workers=2", (&input, reading), (&output, writing));
                (result, found.join().unwrap())
            });
            let whole = found == content;
            assert!(content.starts_with(&found), "{fault:?}: wrong bytes");
            let name = format!("{fault:?}, output: {faulty_output}");
            outcome.judge(&name, &plan, struck, result.map(|ran| ran && whole));
        }
    }
}
