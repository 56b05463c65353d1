//! A fault plan applies to futures, on every backend.

use super::*;
use fullbore_io::fault::{Fault, Plan};
use fullbore_io::file::CachePolicy;

#[test]
fn short_and_interrupted_transfers_are_completed() {
    for driver in drivers(4) {
        for cache in [CachePolicy::Keep, CachePolicy::DontCache, CachePolicy::Direct] {
            let plan = Plan::new(7)
                .with(Fault::Short { one_in: 2 })
                .with(Fault::Interrupted { one_in: 3 })
                .with(Fault::Buffers { most: 2 });
            let (_dir, path) = scratch(&[0; 200_000]);
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
        let (_dir, path) = scratch(b"");
        let file = AsyncFile::new(File::open_write(&path).unwrap().with_faults(&plan), &driver);
        let data = pattern(8000);
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
        let (_dir, path) = scratch(b"");
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
