//! Transfers compared with std, on every backend.

use super::*;

#[test]
fn transfers_equal_those_of_std() {
    for driver in drivers(4) {
        let want = pattern(100_000);
        let (_dir, path) = scratch(&want);
        let file = AsyncFile::new(File::open_write(&path).unwrap(), &driver);
        for cold in [false, true] {
            if cold {
                file.file().sync_data().unwrap();
                file.file().drop_cache().unwrap();
            }
            let (result, got) = block_on(file.read_exact_at(vec![0; 90_000].into_boxed_slice(), 5));
            assert_eq!(result.unwrap(), 90_000);
            assert!(got[..] == want[5..90_005]);
        }
        // Beyond the end: a short read, then 0, and an error for an exact read.
        let (result, got) = block_on(file.read_at(Vec::with_capacity(64), 99_990));
        assert_eq!((result.unwrap(), &got[..]), (10, &want[99_990..]));
        assert_eq!(block_on(file.read_at(vec![0; 64], 200_000)).0.unwrap(), 0);
        assert!(block_on(file.read_exact_at(vec![0; 64], 99_990)).0.is_err());
        // More segments than one call accepts.
        let parts: Vec<Vec<u8>> = (0..20u8).map(|i| vec![i; 1 + usize::from(i)]).collect();
        let (result, parts) = block_on(file.write_all_at(parts, 1000));
        assert_eq!(result.unwrap(), parts.concat().len());
        assert!(std::fs::read(&path).unwrap()[1000..1000 + parts.concat().len()] == parts.concat());
        block_on(file.sync_data()).unwrap();
        block_on(file.sync_all()).unwrap();
        block_on(file.close()).unwrap();
        let missing = path.with_extension("missing");
        assert!(block_on(AsyncFile::open_with(&driver, move || File::open(missing))).is_err());
    }
}

#[test]
fn a_system_error_returns_the_buffer() {
    for driver in drivers(4) {
        let (_dir, path) = scratch(b"x");
        let file = AsyncFile::new(File::open(&path).unwrap(), &driver);
        let (result, buffer) = block_on(file.write_at(b"abc".to_vec(), 7));
        assert!(result.unwrap_err().to_string().contains("at offset 7"));
        assert_eq!(buffer, b"abc");
        assert!(block_on(file.read_at(vec![0; 4], u64::MAX)).0.is_err());
    }
}

#[test]
fn more_futures_than_the_limit_all_complete_on_tokio() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    for driver in drivers(2) {
        let want = pattern(400_000);
        let (_dir, path) = scratch(&want);
        let file = AsyncFile::new(File::open_write(&path).unwrap(), &driver);
        runtime.block_on(async {
            let tasks: Vec<_> = (0..100usize)
                .map(|i| {
                    let (file, bytes) = (file.clone(), vec![i as u8; 4000]);
                    tokio::spawn(async move {
                        file.write_all_at(bytes, i as u64 * 4000).await.0.unwrap();
                        file.read_exact_at(vec![0u8; 4000], i as u64 * 4000).await.1
                    })
                })
                .collect();
            for (i, task) in tasks.into_iter().enumerate() {
                assert_eq!(task.await.unwrap(), vec![i as u8; 4000]);
            }
        });
        assert_eq!(driver.load(), (0, 0));
    }
}

#[test]
fn no_operation_allocates_after_the_first() {
    // One thread only: the start of a second one, at any time, would allocate.
    for backend in [Backend::Threads, Backend::Auto] {
        let driver = Driver::new(DriverConfig { backend, in_flight: 4, threads: 1 }).unwrap();
        let (_dir, path) = scratch(&pattern(65_536));
        let file = AsyncFile::new(File::open_write(&path).unwrap(), &driver);
        let mut buffer = vec![0u8; 4096];
        let mut counts = Vec::new();
        for round in 0..50u64 {
            if round % 2 == 0 {
                file.file().drop_cache().unwrap();
            }
            let before = ALLOCATIONS.get();
            let (result, back) = block_on(file.read_exact_at(buffer, round % 16 * 4096));
            result.unwrap();
            let (result, back) = block_on(file.write_all_at(back, round % 16 * 4096));
            result.unwrap();
            buffer = back;
            counts.push(ALLOCATIONS.get() - before);
        }
        // The thread starts in the first rounds.
        assert_eq!(counts[10..].iter().sum::<usize>(), 0, "{:?}: {counts:?}", driver.backend());
    }
}

#[test]
fn limits_out_of_range_are_refused() {
    for (in_flight, threads) in [(0, 1), (5000, 1), (1, 0), (1, 5000)] {
        let config = DriverConfig { backend: Backend::Threads, in_flight, threads };
        assert_eq!(Driver::new(config).unwrap_err().kind(), ErrorKind::Invalid);
    }
}
