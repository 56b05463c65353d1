//! Fault plans and cache policies of files apply to futures, on every backend.

use fullbore_io::buf::Pool;
use fullbore_io::fault::{Fault, Plan};
use fullbore_io::file::{CachePolicy, Support};
use fullbore_testkit::ground::supported_or_skip;

use super::*;

#[test]
fn short_and_interrupted_transfers_are_completed() {
    for driver in drivers(4) {
        for cache in [CachePolicy::Keep, CachePolicy::DontCache, CachePolicy::Direct] {
            let plan = Plan::new(7)
                .with(Fault::Short { one_in: 2 })
                .with(Fault::Interrupted { one_in: 3 })
                .with(Fault::Buffers { most: 2 });
            let (_dir, path) = temporary_file([0; 200_000]);
            let file = File::open_write(&path).unwrap().with_faults(&plan).with_cache(cache).0;
            let file = AsyncFile::new(file, &driver);
            for round in 0..20u8 {
                let parts: Vec<Vec<u8>> = (0..9).map(|part| vec![round ^ part; 1000]).collect();
                let at = u64::from(round) * 9001;
                let (result, parts) = block_on(file.write_all_at(parts, at));
                assert_eq!(result.unwrap(), 9000);
                let (result, got) = block_on(file.read_exact_at(vec![0; 9000], at));
                assert_eq!(result.unwrap(), 9000);
                assert!(got == parts.concat(), "{cache} {:?}", driver.backend());
            }
            let counts = plan.counts();
            assert!(counts.short > 0 && counts.interrupted > 0, "{counts:?}");
        }
    }
}

#[test]
fn a_failed_write_returns_kind_buffer_and_bytes_moved() {
    for driver in drivers(4) {
        let plan = Plan::new(1).with(Fault::NoSpace { at: 5000 });
        let (_dir, path) = temporary_file(b"");
        let file = AsyncFile::new(File::open_write(&path).unwrap().with_faults(&plan), &driver);
        let data = ground::bytes(8000, 1);
        let mut write = Box::pin(file.write_all_at(data.clone(), 0));
        let (result, back) = block_on(write.as_mut());
        assert_eq!(result.unwrap_err().kind(), ErrorKind::NoSpace);
        assert!(back == data);
        assert_eq!(write.moved(), 5000);
        assert!(std::fs::read(&path).unwrap() == data[..5000]);
    }
}

/// After a failed sync, later writes could be lost without an error, so they fail.
#[test]
fn a_failed_sync_fails_the_writes_after_it() {
    for driver in drivers(4) {
        let plan = Plan::new(1).with(Fault::SyncFails { sync: 1 });
        let (_dir, path) = temporary_file(b"");
        let file = AsyncFile::new(File::open_write(&path).unwrap().with_faults(&plan), &driver);
        block_on(file.write_all_at(b"bytes".to_vec(), 0)).0.unwrap();
        assert!(block_on(file.sync_all()).is_err());
        assert!(block_on(file.sync_all()).is_err(), "the second sync succeeds");
        let (result, back) = block_on(file.write_all_at(b"more".to_vec(), 5));
        assert!(result.unwrap_err().to_string().contains("sync"), "{:?}", driver.backend());
        assert_eq!(back, b"more");
        // Reads still work.
        assert_eq!(block_on(file.read_exact_at(vec![0; 5], 0)).1, b"bytes");
    }
}

/// Reads of whole blocks into aligned memory bypass the cache, on the ring if there is one.
#[test]
fn direct_reads_leave_the_cache_empty() {
    for driver in drivers(8) {
        let want = ground::bytes(1 << 20, 1);
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, &want).unwrap();
        let plain = File::open(&path).unwrap();
        plain.sync_all().unwrap();
        let _ = plain.drop_cache();
        let (file, support) = plain.with_cache(CachePolicy::Direct);
        let native = if support == Support::Native { Ok(()) } else { Err(support) };
        let Some(()) = supported_or_skip(dir.path(), true, "direct reads", native) else { return };
        let file = AsyncFile::new(file, &driver);
        let mut pool = Pool::new(8, 64 << 10).unwrap();
        let mut reads = Vec::new();
        for index in 0..8 {
            let mut buffer = pool.take().expect("eight of eight");
            buffer.place(0, 64 << 10);
            reads.push(Box::pin(file.read_exact_at(buffer, index as u64 * (128 << 10))));
        }
        for (index, read) in reads.into_iter().enumerate() {
            let (result, buffer) = block_on(read);
            result.unwrap();
            let start = index * (128 << 10);
            assert!(buffer.data() == &want[start..start + (64 << 10)], "{:?}", driver.backend());
        }
        match fullbore_io::probe::residency(&plain, 0..1 << 20) {
            Ok(found) => assert_eq!(found.cached, 0, "{:?}", driver.backend()),
            Err(error) => println!("skipped: number of cached pages: {error}"),
        }
    }
}
