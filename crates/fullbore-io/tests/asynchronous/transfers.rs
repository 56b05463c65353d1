//! Transfers, creating, lengths, copies and commits as futures on every backend, compared with std.

use fullbore_io::file::{Access, Durability, Mode, OpenOptions, Output, Share};

use super::*;

#[test]
fn a_system_error_returns_the_buffer() {
    for driver in drivers(4) {
        let (_dir, path) = temporary_file(b"x");
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
        let want = ground::bytes(400_000, 1);
        let (_dir, path) = temporary_file(&want);
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
        let (_dir, path) = temporary_file(ground::bytes(65_536, 1));
        let file = AsyncFile::new(File::open_write(&path).unwrap(), &driver);
        let mut buffer = vec![0u8; 4096];
        let mut counts = Vec::new();
        for round in 0..50u64 {
            if round % 2 == 0 {
                let _ = file.file().drop_cache();
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

/// Runs the future on both executors.
fn on_both<F: Future>(future: impl Fn() -> F) {
    block_on(future());
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap().block_on(future());
}

#[test]
fn create_truncates_and_len_and_set_len_agree_with_std() {
    on_both(|| async {
        let (_dir, path) = temporary_file(b"old content");
        let file = AsyncFile::create(&path).await.unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 0);
        file.write_all_at(b"bytes".to_vec(), 3).await.0.unwrap();
        assert_eq!(file.len().await.unwrap(), 8);
        file.set_len(4).await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"\0\0\0b");
        let reader = AsyncFile::open(&path).await.unwrap();
        assert!(reader.set_len(9).await.is_err());
        assert_eq!(reader.len().await.unwrap(), 4);
        let nowhere = AsyncFile::create(path.join("below a file")).await.unwrap_err();
        assert!(nowhere.to_string().contains("below a file"));
    });
}

#[test]
fn create_new_and_open_write_agree_with_those_of_a_file() {
    on_both(|| async {
        let (dir, path) = temporary_file(b"bytes");
        let (fresh, missing) = (dir.path().join("fresh"), dir.path().join("missing"));
        assert_eq!(AsyncFile::create_new(&path).await.unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(AsyncFile::open_write(&missing).await.unwrap_err().kind(), ErrorKind::NotFound);
        for opened in [AsyncFile::create_new(&fresh).await, AsyncFile::open_write(&path).await] {
            let file = opened.unwrap();
            file.write_all_at(b"B".to_vec(), 0).await.0.unwrap();
            assert_eq!(file.read_exact_at(vec![0; 1], 0).await.1, b"B");
        }
        assert_eq!(std::fs::read(&fresh).unwrap(), b"B");
        assert_eq!(std::fs::read(&path).unwrap(), b"Bytes");
    });
}

#[test]
fn call_makes_other_calls_on_a_thread_of_the_driver() {
    for driver in drivers(4) {
        let (_dir, path) = temporary_file(b"bytes");
        let file = AsyncFile::new(File::open_write(&path).unwrap(), &driver);
        let call = file.call(|file| Ok((file.metadata()?.len(), std::thread::current().id())));
        let (len, thread) = block_on(call).unwrap();
        assert!(len == 5 && thread != std::thread::current().id());
        let error = block_on(file.call(|file| file.map(6..).map(drop))).unwrap_err();
        assert_eq!((error.kind(), error.path()), (ErrorKind::Invalid, path.as_path()));
        // Without a poll there is no call.
        drop(file.call(|file| file.set_len(0)));
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 5);
    }
}

/// Options apply as they do to `open`: same flags, same report, same errors.
#[test]
fn open_async_equals_open() {
    on_both(|| async {
        let (dir, path) = temporary_file(b"bytes");
        let flags = |file: &File| fullbore_io::sys::status_flags(file).unwrap();
        let mut options = OpenOptions::new();
        options.mode(Mode::OpenOrCreate).access(Access::Write).write_through(Durability::Data);
        let (one, other) = (options.open_async(&path).await.unwrap(), options.open(&path).unwrap());
        assert_eq!(flags(one.file()), flags(&other));
        assert_eq!(one.file().option_report(), other.option_report());
        options.mode(Mode::CreateNew);
        let (one, other) = (options.open_async(&path).await.unwrap_err(), options.open(&path).unwrap_err());
        assert_eq!((one.kind(), one.to_string()), (other.kind(), other.to_string()));
        let fresh = dir.path().join("fresh");
        let locked = options.share(Share::NONE).open_async(&fresh).await.unwrap();
        let refused = OpenOptions::new().share(Share::NONE).open_async(&fresh).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Locked);
        locked.write_all_at(b"x".to_vec(), 0).await.0.unwrap();
        locked.close().await.unwrap();
        assert_eq!(std::fs::read(&fresh).unwrap(), b"x");
    });
}

#[test]
fn ranges_are_copied_as_by_a_file() {
    for driver in drivers(4) {
        let want = ground::bytes(300_000, 1);
        let (dir, path) = temporary_file(&want);
        let source = AsyncFile::new(File::open(&path).unwrap(), &driver);
        let target = AsyncFile::new(File::create_new(dir.path().join("copy")).unwrap(), &driver);
        let report = block_on(source.copy_range(.., &target, 0)).unwrap();
        assert_eq!(report.bytes(), 300_000);
        assert!(std::fs::read(target.file().path()).unwrap() == want);
        let report = block_on(source.copy_range(7..100_007, &target, 250_000)).unwrap();
        assert_eq!(report.bytes(), 100_000);
        let now = std::fs::read(target.file().path()).unwrap();
        assert!(now[..250_000] == want[..250_000] && now[250_000..] == want[7..100_007]);
        let overlapping = block_on(target.copy_range(0..1000, &target, 500)).unwrap_err();
        assert_eq!(overlapping.kind(), ErrorKind::SameFile);
        assert!(block_on(target.copy_range(0..1000, &source, 0)).is_err(), "the target is not writable");
    }
}

#[test]
fn a_path_is_copied_whole_or_not_at_all() {
    on_both(|| async {
        let want = ground::bytes(300_000, 1);
        let (dir, from) = temporary_file(&want);
        let mode = |path: &std::path::Path| fullbore_io::sys::stat(path).unwrap().permissions();
        let set = |path: &std::path::Path, mode| {
            fullbore_io::sys::change_mode_at(fullbore_io::sys::CURRENT_DIRECTORY, path, mode).unwrap()
        };
        set(&from, 0o4751);
        let to = dir.path().join("copy");
        assert_eq!(fullbore_io::asynchronous::copy(&from, &to).await.unwrap().bytes(), 300_000);
        assert!(std::fs::read(&to).unwrap() == want);
        assert_eq!(mode(&to), if cfg!(windows) { 0o666 } else { 0o751 });
        // An existing file keeps its permission bits.
        std::fs::write(&to, "old").unwrap();
        set(&to, 0o600);
        fullbore_io::asynchronous::copy(&from, &to).await.unwrap();
        assert!(std::fs::read(&to).unwrap() == want);
        assert_eq!(mode(&to), if cfg!(windows) { 0o666 } else { 0o600 });
        let same = fullbore_io::asynchronous::copy(&from, &from).await.unwrap_err();
        assert_eq!(same.kind(), ErrorKind::SameFile);
        assert!(fullbore_io::asynchronous::copy(dir.path(), &to).await.is_err());
        assert!(fullbore_io::asynchronous::copy(dir.path().join("missing"), &to).await.is_err());
        assert!(std::fs::read(&to).unwrap() == want);
        let names = std::fs::read_dir(dir.path()).unwrap().count();
        assert_eq!(names, 2, "a temporary file is left");
    });
}

/// A search for each segment from the first took seconds.
#[test]
fn each_of_many_small_buffers_is_visited_a_few_times() {
    struct Counted(Vec<u8>, Arc<AtomicUsize>);
    // SAFETY: as for the vector in it.
    unsafe impl Buffer for Counted {
        fn segments(&self) -> usize {
            self.1.fetch_add(1, Ordering::Relaxed);
            1
        }
        fn segment(&mut self, index: usize) -> Segment {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.segment(index)
        }
        unsafe fn filled(&mut self, count: usize) {
            // SAFETY: guaranteed by the caller.
            unsafe { self.0.filled(count) }
        }
    }
    const BUFFERS: usize = LISTED - 96;
    for driver in drivers(4) {
        let (_dir, path) = temporary_file(b"");
        let file = AsyncFile::new(File::open_write(&path).unwrap(), &driver);
        let visits = Arc::new(AtomicUsize::new(0));
        let want = ground::bytes(BUFFERS * 4, 1);
        let parts: Vec<_> = want.chunks(4).map(|part| Counted(part.to_vec(), visits.clone())).collect();
        let (result, mut parts) = block_on(file.write_all_at(parts, 0));
        assert_eq!(result.unwrap(), BUFFERS * 4);
        parts.iter_mut().for_each(|part| part.0.fill(0));
        let (result, parts) = block_on(file.read_exact_at(parts, 0));
        assert_eq!(result.unwrap(), BUFFERS * 4);
        assert!(parts.iter().flat_map(|part| &part.0).eq(&want));
        let visits = visits.load(Ordering::Relaxed);
        assert!(visits <= BUFFERS * 16, "{:?}: {visits}", driver.backend());
        let count = block_on(file.write_at(parts, 0)).0.unwrap();
        assert!(count <= 8 * 4, "{count} bytes: a call takes 8 segments");
    }
    assert_eq!(LISTS.load(Ordering::Relaxed), 0, "lists of segments leaked");
}

// Directories of Windows have no pipes.
#[cfg(unix)]
#[test]
fn a_copy_of_a_file_that_changes_meanwhile_fails() {
    use std::io::{Read as _, Write as _};
    let (dir, from) = temporary_file(ground::bytes(1 << 20, 1));
    let to = dir.path().join("pipe");
    fullbore_testkit::ground::fifo(&to);
    let reader = std::thread::spawn({
        let (from, to) = (from.clone(), to.clone());
        move || {
            let mut pipe = std::fs::File::open(to).unwrap();
            // The rest does not fit into the pipe.
            pipe.read_exact(&mut [0; 1000]).unwrap();
            std::fs::File::options().append(true).open(from).unwrap().write_all(b"more").unwrap();
            std::io::copy(&mut pipe, &mut std::io::sink()).unwrap();
        }
    });
    let error = block_on(fullbore_io::asynchronous::copy(&from, &to)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Changed);
    reader.join().unwrap();
}

#[test]
fn a_commit_publishes_and_a_dropped_one_that_never_started_does_not() {
    on_both(|| async {
        let (dir, path) = temporary_file(b"old");
        let output = Output::replace(&path).unwrap();
        let file = AsyncFile::new(output.file().clone(), &Driver::shared().unwrap());
        file.write_all_at(b"new".to_vec(), 0).await.0.unwrap();
        drop(output.commit_async(Durability::None));
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        let output = Output::replace(&path).unwrap();
        output.file().write_all_at(b"new", 0).unwrap();
        let report = output.commit_async(Durability::Full).await.unwrap();
        assert!(report.data() && report.metadata() && report.directory());
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        let output = Output::overwrite(&path).unwrap();
        output.file().write_all_at(b"2", 0).unwrap();
        output.commit_len_async(1, Durability::None).await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"2");
        drop(file);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    });
}

/// XFS fails direct reads that go past the end into reserved blocks.
#[test]
fn a_direct_read_across_the_end_into_reserved_blocks_succeeds() {
    use fullbore_io::buf::Pool;
    use fullbore_io::file::CachePolicy;
    fullbore_testkit::ground::everywhere(|directory| {
        let path = directory.join("file");
        let data = ground::bytes(94_720, 1);
        std::fs::write(&path, &data[..94_208]).unwrap();
        let mut options = OpenOptions::new();
        options.mode(Mode::Open).access(Access::ReadWrite).cache(CachePolicy::Direct);
        let file = options.open(&path).unwrap();
        file.sync_all().unwrap();
        file.write_all_at(&data[94_208..], 94_208).unwrap();
        let _ = file.reserve(94_208..98_304);
        for driver in drivers(4) {
            let file = AsyncFile::new(file.clone(), &driver);
            let mut buffer = Pool::new(1, 16 << 10).unwrap().take().unwrap();
            buffer.place(94_208, 16 << 10);
            let (count, buffer) = block_on(file.read_at(buffer, 94_208));
            assert_eq!(count.unwrap(), 512, "{}", directory.display());
            assert!(buffer.data()[..512] == data[94_208..]);
        }
    });
}
