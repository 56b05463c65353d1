//! The cache policy of a file applies to its futures.

use super::*;
use fullbore_io::buf::Pool;
use fullbore_io::file::CachePolicy;

#[test]
fn every_policy_transfers_the_same_bytes() {
    for driver in drivers(4) {
        for cache in [CachePolicy::Keep, CachePolicy::DontCache, CachePolicy::Direct] {
            let mut want = pattern(300_000);
            let (_dir, path) = scratch(&want);
            let (file, support) = File::open_write(&path).unwrap().with_cache(cache);
            let file = AsyncFile::new(file, &driver);
            let name = format!("{cache} ({support:?}), {:?}", driver.backend());
            for (offset, len) in [(0, 4096), (1, 4096), (4095, 2), (8192, 65_536), (123_456, 100_001)] {
                let (result, got) = block_on(file.read_exact_at(vec![0; len], offset as u64));
                result.unwrap();
                assert!(got == want[offset..offset + len], "{name}: {offset} {len}");
                let new: Vec<u8> = got.iter().map(|byte| byte ^ 0x55).collect();
                want[offset..offset + len].copy_from_slice(&new);
                block_on(file.write_all_at(new, offset as u64)).0.unwrap();
            }
            // Beyond the end, into uninitialised memory.
            let (result, got) = block_on(file.read_at(Vec::<u8>::with_capacity(10_000), 299_000));
            let count = result.unwrap();
            assert!(got == want[299_000..299_000 + count], "{name}");
            assert!(std::fs::read(&path).unwrap() == want, "{name}");
        }
    }
}

/// Reads of whole blocks into aligned memory bypass the cache, on the ring if there is one.
#[test]
fn direct_reads_leave_the_cache_empty() {
    for driver in drivers(8) {
        let want = pattern(1 << 20);
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, &want).unwrap();
        let plain = File::open(&path).unwrap();
        plain.sync_all().unwrap();
        plain.drop_cache().unwrap();
        let (file, support) = plain.with_cache(CachePolicy::Direct);
        if support != fullbore_io::file::Support::Native {
            println!("skipped: direct reads: {support:?}");
            return;
        }
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
