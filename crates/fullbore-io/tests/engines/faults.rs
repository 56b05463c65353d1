//! Every access method and file call under every fault: the bytes or the error are right, and the fault did occur.

use super::*;

use std::error::Error as _;

use fullbore_io::buf::Direction;

use crate::cases::{Case, LENGTH, REQUEST, faults_of, is_io_error};

/// Requests in flight, and their length: some start inside blocks.
const REQUESTS: (usize, usize) = (4, REQUEST - 5);

/// Writes `content` and syncs it.
fn write(method: &Method, cache: CachePolicy, file: &File, content: &[u8]) -> Result<()> {
    crate::write(method, cache, file, content, REQUESTS)?;
    file.sync_data()
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
    each(|directory, method, cache| {
        let path = directory.join("file");
        under(faults_of(Direction::Write), &format!("{} cache={cache}", method.name), &path, |plan| {
            let file = File::create_new(&path)?.with_faults(plan);
            write(method, cache, &file, &content).map(|()| fs::read(&path).unwrap() == content)
        });
    });
}

#[test]
fn every_method_reads_correctly_under_every_fault() {
    let content = bytes(LENGTH, 3);
    each(|directory, method, cache| {
        let path = directory.join("file");
        // Windows refuses to truncate a mapped file.
        let fixed = cfg!(windows) && method.capabilities.mapped;
        let cases = faults_of(Direction::Read).into_iter();
        let cases = cases.filter(|(fault, ..)| !fixed || !matches!(fault, Fault::Truncated { .. }));
        under(cases, &format!("{} cache={cache}", method.name), &path, |plan| {
            fs::write(&path, &content).unwrap();
            let file = File::open(&path)?.with_faults(plan);
            read(method, cache, &file, LENGTH, REQUESTS).map(|found| found == content)
        });
    });
}

#[test]
fn a_limit_of_buffers_ends_a_batch_sooner() {
    let content = bytes(3 * ALIGNMENT, 6);
    each(|directory, method, cache| {
        if !method.capabilities.batched {
            return;
        }
        let path = write_file(directory, "file", &content);
        for (most, complete) in [(2, 2), (4, 0)] {
            let file = File::open(&path).unwrap().with_faults(&Plan::new(1).with(Fault::Buffers { most }));
            let mut pool = Pool::new(4, ALIGNMENT).unwrap();
            let mut queue = queue(method, cache, &file, false, 4, &pool, None).unwrap();
            for offset in (0..content.len()).step_by(ALIGNMENT) {
                queue.read(0, offset as u64, ALIGNMENT, pool.take().unwrap()).unwrap();
            }
            // A batch of four would still wait for its last request.
            let found = std::iter::from_fn(|| queue.ready().unwrap()).count();
            assert_eq!(found, complete, "{} cache={cache}", method.name);
        }
    });
}

#[test]
fn a_failed_sync_fails_later_writes_with_every_method() {
    let content = bytes(LENGTH, 4);
    each(|directory, method, cache| {
        let path = directory.join(format!("{}-{cache}", method.name));
        let plan = Plan::new(1).with(Fault::SyncFails { sync: 1 });
        let file = File::create_new(&path).unwrap().with_faults(&plan);
        let name = format!("{} cache={cache}", method.name);
        assert!(is_io_error(&write(method, cache, &file, &content).unwrap_err()), "{name}");
        let error = write(method, cache, &file, &content).unwrap_err();
        assert!(error.to_string().contains("an earlier sync of this file failed"), "{name}: {error}");
        // The first request fails, not only the sync at the end.
        let mut pool = Pool::new(1, REQUEST).unwrap();
        let mut queue = queue(method, cache, &file, true, 1, &pool, None).unwrap();
        let mut buf = pool.take().unwrap();
        buf.place(0, REQUEST);
        let error = queue.write(0, 0, buf).unwrap_err();
        assert!(error.to_string().contains("an earlier sync of this file failed"), "{name}: {error}");
        fs::remove_file(&path).unwrap();
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
        under(faults_of(Direction::Write).into_iter().filter(applies), "write", &path, |plan| {
            let file = File::create_new(&path)?.with_faults(plan);
            let mut parts = offsets.clone().zip(content.chunks(REQUEST));
            parts
                .try_for_each(|(offset, part)| file.write_all_at(part, offset))
                .map(|()| fs::read(&path).unwrap() == content)
        });
        under(faults_of(Direction::Read).into_iter().filter(applies), "read", &path, |plan| {
            fs::write(&path, &content).unwrap();
            let file = File::open(&path)?.with_faults(plan);
            let mut found = vec![0; content.len()];
            let mut parts = offsets.clone().zip(found.chunks_mut(REQUEST));
            // A single call does not know that the file was longer.
            let read = |(offset, part): (u64, &mut [u8])| {
                file.read_exact_at(part, offset).map_err(|error| {
                    assert_ne!(error.kind(), ErrorKind::Changed);
                    error.of_shortened()
                })
            };
            parts.try_for_each(read).map(|()| found == content)
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
