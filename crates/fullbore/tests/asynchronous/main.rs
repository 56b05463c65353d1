//! Asynchronous files on every backend, against what std reads and writes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use fullbore::asynchronous::{AsyncFile, Backend, Driver, Settings};
use fullbore::buf::{Buffer, Segment};
use fullbore::error::Kind;
use fullbore::file::File;
use futures_lite::future::{block_on, poll_once};

struct Counting;
thread_local!(static ALLOCATIONS: Cell<usize> = const { Cell::new(0) });

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn drivers(in_flight: usize) -> Vec<Driver> {
    let with = |backend| Driver::new(Settings { backend, in_flight, threads: 4 });
    let mut drivers = vec![with(Backend::Threads).unwrap()];
    match with(Backend::Uring) {
        Ok(driver) => drivers.push(driver),
        Err(error) => eprintln!("{error}"),
    }
    drivers
}

fn scratch(bytes: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    std::fs::write(&path, bytes).unwrap();
    (dir, path)
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}

#[test]
fn reads_and_writes_what_std_does() {
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
        // Past the end: short, then nothing, and an error where all was asked for.
        let (result, got) = block_on(file.read_at(Vec::with_capacity(64), 99_990));
        assert_eq!((result.unwrap(), &got[..]), (10, &want[99_990..]));
        assert_eq!(block_on(file.read_at(vec![0; 64], 200_000)).0.unwrap(), 0);
        assert!(block_on(file.read_exact_at(vec![0; 64], 99_990)).0.is_err());
        // More segments than one call takes.
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
fn an_error_of_the_system_comes_with_the_buffer() {
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
fn more_futures_than_may_be_in_flight_all_end_on_tokio() {
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
    // One thread: a second one may be hired at any time, once, and that allocates.
    for backend in [Backend::Threads, Backend::Auto] {
        let driver = Driver::new(Settings { backend, in_flight: 4, threads: 1 }).unwrap();
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
        // The thread is hired in the first rounds.
        assert_eq!(counts[10..].iter().sum::<usize>(), 0, "{:?}: {counts:?}", driver.backend());
    }
}

/// rio#1, glommio#52, foyer#1286: buffers freed while the kernel still writes to them.
#[test]
fn a_dropped_read_keeps_its_buffer_until_it_is_over() {
    struct Watched(Box<[u8]>, Arc<AtomicBool>);
    impl Drop for Watched {
        fn drop(&mut self) {
            self.1.store(true, Ordering::SeqCst);
        }
    }
    // SAFETY: the memory is that of the box.
    unsafe impl Buffer for Watched {
        fn segment(&mut self, _: usize) -> Segment {
            Segment { start: self.0.as_mut_ptr(), len: self.0.len(), room: self.0.len() }
        }
        unsafe fn filled(&mut self, _: usize) {}
    }
    for driver in drivers(4) {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let file = AsyncFile::new(File::from_fd(reader.into(), "pipe").unwrap(), &driver);
        let freed = Arc::new(AtomicBool::new(false));
        let mut read = Box::pin(file.read_at(Watched(vec![0; 4096].into(), freed.clone()), 0));
        assert!(block_on(poll_once(read.as_mut())).is_none());
        // A thread must have begun the read, or it never runs at all.
        std::thread::sleep(Duration::from_millis(50));
        drop(read);
        if driver.backend() == Backend::Threads {
            std::thread::sleep(Duration::from_millis(50));
            assert!(!freed.load(Ordering::SeqCst), "freed under the kernel");
        }
        // The driver is gone before the operation is: neither waits for the other.
        drop((file, driver));
        use std::io::Write;
        let _ = writer.write_all(b"late");
        let end = Instant::now() + Duration::from_secs(5);
        while !freed.load(Ordering::SeqCst) {
            assert!(Instant::now() < end, "the buffer leaks");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

#[test]
fn a_cancelled_read_gives_its_buffer_back() {
    for driver in drivers(1) {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let file = AsyncFile::new(File::from_fd(reader.into(), "pipe").unwrap(), &driver);
        let mut first = pin!(file.read_at(vec![1; 8], 0));
        let mut second = pin!(file.read_at(vec![2; 8], 0));
        let mut context = Context::from_waker(Waker::noop());
        assert!(first.as_mut().poll(&mut context).is_pending());
        assert!(second.as_mut().poll(&mut context).is_pending());
        assert_eq!(driver.load(), (1, 1));
        // One that waits never runs.
        second.cancel();
        let Poll::Ready((result, buffer)) = second.poll(&mut context) else { panic!("still there") };
        assert_eq!((result.unwrap_err().kind(), buffer), (Kind::Interrupted, vec![2; 8]));
        std::thread::sleep(Duration::from_millis(20));
        first.cancel();
        if driver.backend() == Backend::Threads {
            use std::io::Write;
            writer.write_all(b"abc").unwrap();
            let (result, buffer) = block_on(first);
            assert_eq!((result.unwrap(), &buffer[..]), (3, &b"abc"[..]));
        } else {
            let (result, buffer) = block_on(first);
            assert_eq!((result.unwrap_err().kind(), buffer), (Kind::Interrupted, vec![1; 8]));
        }
    }
}

/// The kernel cancels what a thread submitted when that thread ends.
#[test]
fn a_read_outlives_the_thread_that_began_it() {
    for driver in drivers(4) {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let file = AsyncFile::new(File::from_fd(reader.into(), "pipe").unwrap(), &driver);
        let mut read = Box::pin(file.read_at(vec![0; 8], 0));
        let read = std::thread::spawn(move || {
            assert!(block_on(poll_once(read.as_mut())).is_none());
            read
        });
        let read = read.join().unwrap();
        std::thread::sleep(Duration::from_millis(50));
        use std::io::Write;
        writer.write_all(b"abc").unwrap();
        assert_eq!(block_on(read).1, b"abc");
    }
}

/// tokio#7979: cancelled opens leak descriptors.
#[test]
fn opens_dropped_half_way_leave_nothing_open() {
    for driver in drivers(4) {
        let (_dir, path) = scratch(b"x");
        for _ in 0..200 {
            let path = path.clone();
            let mut open = Box::pin(AsyncFile::open_with(&driver, move || File::open(path)));
            let _ = block_on(poll_once(open.as_mut()));
        }
        let left = || {
            std::fs::read_dir("/proc/self/fd")
                .unwrap()
                .filter(|fd| std::fs::read_link(fd.as_ref().unwrap().path()).is_ok_and(|to| to == path))
                .count()
        };
        let end = Instant::now() + Duration::from_secs(5);
        while left() > 0 {
            assert!(Instant::now() < end, "{} are open", left());
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// arrow-rs-object-store#693: a thread a request.
#[test]
fn a_thousand_opens_take_no_more_threads_than_allowed() {
    let driver = Driver::new(Settings { threads: 2, ..Settings::default() }).unwrap();
    let (_dir, path) = scratch(b"x");
    let names = Arc::new(std::sync::Mutex::new(std::collections::HashSet::new()));
    let mut opens: Vec<_> = (0..1000)
        .map(|_| {
            let (path, names) = (path.clone(), names.clone());
            Box::pin(AsyncFile::open_with(&driver, move || {
                names.lock().unwrap().insert(std::thread::current().id());
                drop(File::open(&path)?);
                File::open(path)
            }))
        })
        .collect();
    for open in &mut opens {
        let _ = block_on(poll_once(open.as_mut()));
    }
    opens.truncate(500);
    // The other half is gone; these run to their end.
    for open in opens {
        block_on(open).unwrap();
    }
    assert!((1..=2).contains(&names.lock().unwrap().len()));
}

#[test]
fn limits_out_of_range_are_refused() {
    for (in_flight, threads) in [(0, 1), (5000, 1), (1, 0), (1, 5000)] {
        let settings = Settings { backend: Backend::Threads, in_flight, threads };
        assert_eq!(Driver::new(settings).unwrap_err().kind(), Kind::Invalid);
    }
}
