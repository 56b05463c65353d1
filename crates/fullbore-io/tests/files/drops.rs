//! Cached pages left by handles, engines and plans that drop, and their reports.

use super::*;

use fullbore_io::buf::Pool;
use fullbore_io::engine::{EngineConfig, IoQueue, method};
use fullbore_io::probe;

/// Returns the number of cached bytes of a file, where this can be determined.
pub(crate) fn cached(file: &File, len: u64) -> Option<u64> {
    probe::residency(file, 0..len).ok()?.share().map(|share| (share * len as f64) as u64)
}

/// By the flag where the file system supports it, otherwise by dropping behind.
#[test]
fn a_dropping_handle_leaves_little_in_the_cache() {
    everywhere(|directory| {
        let path = directory.join("file");
        let data = bytes(40 << 20, 6);
        let created = File::create_new(&path).unwrap();
        let support = created.with_cache(CachePolicy::DontCache).1;
        println!("{}: drop: {support}", path.display());
        let dropping = match support {
            Support::Unsupported(reason) => Err(reason),
            _ => Ok(()),
        };
        assert!(dropping.as_ref().err().is_none_or(|reason| reason.contains("memory")), "{dropping:?}");
        let Some(()) = supported_or_skip(directory, true, "dropping", dropping) else { return };
        assert_little(format!("written to {}", path.display()), || {
            let (file, _) = created.with_cache(CachePolicy::DontCache);
            for (index, run) in data.chunks(100_000).enumerate() {
                file.write_all_at(run, index as u64 * 100_000).unwrap();
            }
            drop(file);
            // The flag drops written pages only at writeback.
            created.sync_data().unwrap();
            (0, cached(&created, 40 << 20).unwrap())
        });
        assert_little(format!("read from {}", path.display()), || {
            created.drop_cache().unwrap();
            let (file, _) = created.with_cache(CachePolicy::DontCache);
            let mut most = 0;
            let mut read = vec![0; 100_000];
            for (index, run) in data.chunks(100_000).enumerate() {
                let read = &mut read[..run.len()];
                file.read_exact_at(read, index as u64 * 100_000).unwrap();
                assert!(*read == *run);
                if index % 20 == 0 {
                    most = most.max(cached(&created, 40 << 20).unwrap());
                }
            }
            drop(file);
            (most, cached(&created, 40 << 20).unwrap())
        });
    });
}

/// Length of the file, in bytes.
const LEN: u64 = 32 << 20;
/// Request size, in bytes.
const REQUEST: usize = 256 << 10;

#[test]
fn a_dropping_engine_leaves_little_in_the_cache() {
    everywhere(|directory| {
        let path = write_file(directory, "file", bytes(LEN as usize, 7));
        for name in ["uncached", "vectored", "uring"] {
            let file = File::open(&path).unwrap();
            let method = method(name).unwrap();
            let works = engine::probe(method, &file, None, false, CachePolicy::DontCache);
            let Some(()) = supported_or_skip(directory, true, name, works) else { continue };
            assert_little(format!("{name} in {}", path.display()), || read_dropping(&file, method));
        }
    });
}

/// Asserts that a run leaves few bytes in the cache, at most and at the end. Pages in use by another processor cannot be
/// dropped, so a busy machine gets further attempts.
fn assert_little(what: String, mut run: impl FnMut() -> (u64, u64)) {
    let little = |&(most, left): &(u64, u64)| most <= 20 << 20 && left <= 4 << 20;
    let mut seen = Vec::new();
    while seen.len() < 3 && !seen.last().is_some_and(little) {
        seen.push(run());
    }
    assert!(seen.last().is_some_and(little), "{what}: {seen:?}");
}

/// Reads a file sequentially with an engine that drops; returns the maximum of the cached bytes and those left.
fn read_dropping(file: &File, method: &'static engine::Method) -> (u64, u64) {
    file.sync_data().unwrap();
    file.drop_cache().unwrap();
    let mut pool = Pool::new(4, REQUEST).unwrap();
    let config = EngineConfig {
        cache: CachePolicy::DontCache,
        depth: if method.name == "uncached" { 1 } else { 4 },
        ..EngineConfig::reading(file)
    };
    let mut queue = IoQueue::open(method, &config, Some(LEN)).unwrap();
    let mut most = 0;
    for offset in (0..LEN).step_by(REQUEST) {
        queue.read(0, offset, REQUEST, pool.take().unwrap()).unwrap();
        if queue.in_flight() == config.depth {
            pool.put(queue.next().unwrap().unwrap().buf);
        }
        if offset % (4 << 20) == 0 {
            most = most.max(cached(file, LEN).unwrap());
        }
    }
    while let Some(done) = queue.next().unwrap() {
        pool.put(done.buf);
    }
    drop(queue);
    (most, cached(file, LEN).unwrap())
}
