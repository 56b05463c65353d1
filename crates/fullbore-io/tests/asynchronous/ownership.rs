//! Memory and descriptors live until future, driver, thread and system have finished with them, in any order.

use super::*;
use fullbore_io::file::{Durability, Mode, OpenOptions};
#[cfg(target_os = "linux")]
use std::io::{Read as _, Write as _};

/// Opens a file for writes that are synced, which are never made in the first poll.
fn synced_file(path: &Path, driver: &Driver) -> AsyncFile {
    let mut options = OpenOptions::new();
    let file = options.mode(Mode::OpenOrCreate).write_through(Durability::Data).open(path).unwrap();
    AsyncFile::new(file, driver)
}

/// rio#1, glommio#52, foyer#1286: buffers freed while the kernel still writes to them.
#[test]
fn a_dropped_read_keeps_its_buffer_until_completion() {
    struct Watched(Box<[u8]>, Arc<AtomicBool>);
    impl Drop for Watched {
        fn drop(&mut self) {
            self.1.store(true, Ordering::SeqCst);
        }
    }
    // SAFETY: the memory belongs to the box.
    unsafe impl Buffer for Watched {
        fn segment(&mut self, _: usize) -> Segment {
            Segment { start: self.0.as_mut_ptr(), len: self.0.len(), room: self.0.len() }
        }
        unsafe fn filled(&mut self, _: usize) {}
    }
    for driver in drivers(4) {
        let (file, mut writer) = pipe(&driver);
        let freed = Arc::new(AtomicBool::new(false));
        let mut read = Box::pin(file.read_at(Watched(vec![0; 4096].into(), freed.clone()), 0));
        assert!(block_on(poll_once(read.as_mut())).is_none());
        // The read is tried first: it waits for the pipe then.
        std::thread::sleep(Duration::from_millis(50));
        drop(read);
        if driver.backend() == Backend::Threads {
            assert!(freed.load(Ordering::SeqCst), "no thread makes a call yet");
        }
        // The driver is dropped before the operation completes: neither waits for the other.
        drop((file, driver));
        use std::io::Write;
        let _ = writer.write_all(b"late");
        assert_eventually("the buffer is freed", true, || freed.load(Ordering::SeqCst));
    }
}

#[test]
fn a_cancelled_read_returns_its_buffer() {
    for driver in drivers(1) {
        let (file, _writer) = pipe(&driver);
        let mut read = pin!(file.read_at(vec![1; 8], 0));
        assert!(block_on(poll_once(read.as_mut())).is_none());
        assert_eq!(driver.load(), (0, 1));
        std::thread::sleep(Duration::from_millis(20));
        read.cancel();
        let (result, buffer) = block_on(read);
        assert_eq!((result.unwrap_err().kind(), buffer), (ErrorKind::Cancelled, vec![1; 8]));
        assert_eq!(driver.load(), (0, 0));
    }
}

#[test]
fn a_transfer_cancelled_before_its_start_never_runs() {
    for driver in drivers(1) {
        let (_dir, path) = temporary_file(b"old");
        let file = synced_file(&path, &driver);
        let (release, first) = blocking_call(&driver);
        let mut second = file.write_all_at(b"new".to_vec(), 0);
        assert!(block_on(poll_once(&mut second)).is_none());
        assert_eq!(driver.load(), (1, 1));
        second.cancel();
        let (result, buffer) = block_on(poll_once(second)).expect("still pending");
        assert_eq!((result.unwrap_err().kind(), buffer), (ErrorKind::Cancelled, b"new".to_vec()));
        drop(release);
        block_on(first).unwrap_err();
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
    }
}

/// Each drop once took time in proportion to the number of waiting operations.
#[test]
fn many_waiting_transfers_are_dropped_as_fast_as_they_are_made() {
    let (driver, release, first) = busy_driver(1);
    let (_dir, path) = temporary_file(b"");
    let file = synced_file(&path, &driver);
    let begun = Instant::now();
    let mut writes: Vec<_> = (0..100_000).map(|_| file.write_at(vec![0u8], 0)).collect();
    for write in &mut writes {
        assert!(block_on(poll_once(write)).is_none());
    }
    assert_eq!((driver.waiting(), driver.in_flight()), (100_000, 1));
    let (made, begun) = (begun.elapsed(), Instant::now());
    // The newest first.
    while writes.pop().is_some() {}
    let dropped = begun.elapsed();
    assert!(dropped < made * 4, "made in {made:?}, dropped in {dropped:?}");
    assert_eq!(driver.load(), (0, 1));
    drop(release);
    block_on(first).unwrap_err();
}

/// The kernel cancels operations of a thread that ends.
#[test]
fn a_read_outlives_the_thread_that_started_it() {
    for driver in drivers(4) {
        let (file, mut writer) = pipe(&driver);
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

/// The kernel completes such reads without the memory of the process.
#[test]
fn a_read_of_a_device_outlives_the_thread_that_started_it() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (path, want) = (dir.path().join("file"), ground::bytes(50 * 65_536, 1));
    std::fs::write(&path, &want).unwrap();
    for driver in drivers(4) {
        let file = AsyncFile::new(File::open(&path).unwrap(), &driver);
        file.file().sync_all().unwrap();
        let _ = file.file().drop_cache();
        for start in (0..want.len()).step_by(65_536) {
            let mut read = Box::pin(file.read_exact_at(vec![0; 4096], start as u64));
            let started = std::thread::spawn(move || {
                let ended = block_on(poll_once(read.as_mut()));
                (read, ended)
            });
            let (read, ended) = started.join().unwrap();
            let (result, bytes) = ended.unwrap_or_else(|| block_on(read));
            assert_eq!(result.unwrap(), 4096, "{:?}", driver.backend());
            assert!(bytes == want[start..start + 4096], "{:?}", driver.backend());
        }
    }
}

/// The kernel cancels a read of the ring for which it can start no thread, each time.
#[cfg(target_os = "linux")]
#[test]
fn calls_end_where_no_thread_can_be_started() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    in_time("a call is pending", || {
        let maps = File::open("/proc/self/maps").unwrap();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pipe");
        fullbore_testkit::ground::fifo(&path);
        let mut reader = std::fs::File::options().read(true).write(true).open(&path).unwrap();
        let pipe = File::open_write(&path).unwrap();
        let nobody = 65_534;
        // SAFETY: changes the user of this thread and those that it starts, which the function of the C library does not.
        if unsafe { libc::syscall(libc::SYS_setresuid, nobody, nobody, nobody) } != 0 {
            return println!("skipped: no thread for a read: {}", std::io::Error::last_os_error());
        }
        let files = || drivers(4).into_iter().map(|driver| AsyncFile::new(maps.clone(), &driver));
        let (started, fresh): (Vec<_>, Vec<_>) = (files().collect(), files().collect());
        // The thread of this call serves the next.
        for file in &started {
            block_on(file.len()).unwrap();
        }
        // The only thread of this driver waits for another process.
        let config = DriverConfig { backend: Backend::Threads, in_flight: 4, threads: 1 };
        let [pipe, beside] = [pipe, maps.clone()].map({
            let driver = Driver::new(config).unwrap();
            move |file| AsyncFile::new(file, &driver)
        });
        let mut write = Box::pin(pipe.write_all_at(ground::bytes(1 << 20, 1), 0));
        assert!(block_on(poll_once(write.as_mut())).is_none());
        std::thread::sleep(Duration::from_millis(50));
        let old = getrlimit(Resource::Nproc);
        setrlimit(Resource::Nproc, Rlimit { current: Some(1), maximum: old.maximum }).unwrap();
        let read: Vec<_> = started.iter().map(|file| block_on(file.read_at(vec![0; 64], 0))).collect();
        let refused: Vec<_> = fresh.iter().chain([&beside]).map(|file| block_on(file.len())).collect();
        setrlimit(Resource::Nproc, old).unwrap();
        for (result, bytes) in read {
            assert!(result.unwrap() > 0 && bytes.contains(&b'-'), "{bytes:?}");
        }
        for result in refused {
            let message = "cannot inspect: cannot start a thread: Resource temporarily unavailable";
            assert_eq!(result.unwrap_err().to_string(), message);
        }
        let reads = std::thread::spawn(move || reader.read_exact(&mut vec![0; 1 << 20]));
        assert_eq!(block_on(write).0.unwrap(), 1 << 20);
        reads.join().unwrap().unwrap();
    });
}

/// A filter of system calls may forbid a thread to use a ring that exists.
#[cfg(target_os = "linux")]
#[test]
fn a_ring_that_a_thread_may_not_enter_is_replaced_by_threads() {
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = dir.path().join("file");
    std::fs::write(&path, ground::bytes(1 << 20, 1)).unwrap();
    let cold = |driver: &Driver| {
        let file = AsyncFile::new(File::open(&path).unwrap(), driver);
        file.file().sync_all().unwrap();
        let _ = file.file().drop_cache();
        file
    };
    for driver in drivers(4) {
        let (before, mut early) = pipe(&driver);
        let mut first = Box::pin(before.read_at(vec![0; 8], 0));
        assert!(block_on(poll_once(first.as_mut())).is_none());
        let (piped, mut writer) = pipe(&driver);
        let file = cold(&driver);
        in_time("the driver is stopped", move || {
            let calls = [(libc::SYS_io_uring_enter, vec![])].into();
            let (allow, refuse) = (SeccompAction::Allow, SeccompAction::Errno(1));
            let filter = SeccompFilter::new(calls, allow, refuse, std::env::consts::ARCH.try_into().unwrap());
            let program: BpfProgram = filter.unwrap().try_into().unwrap();
            apply_filter(&program).unwrap();
            let mut read = Box::pin(piped.read_at(vec![0; 8], 0));
            assert!(block_on(poll_once(read.as_mut())).is_none());
            let reads = (0..256).map(|at| file.read_exact_at(vec![0; 4096], at * 4096));
            let bytes: Vec<u8> = reads.flat_map(|read| block_on(read).1).collect();
            assert!(bytes == ground::bytes(1 << 20, 1));
            // A read that the ring already has is cancelled only by the system.
            drop(read);
            let mut read = Box::pin(piped.read_at(vec![0; 8], 0));
            assert!(block_on(poll_once(read.as_mut())).is_none());
            writer.write_all(b"abc").unwrap();
            assert_eq!(block_on(read).1, b"abc");
        });
        assert!(block_on(cold(&driver).read_exact_at(vec![0; 1 << 20], 0)).1 == ground::bytes(1 << 20, 1));
        early.write_all(b"early").unwrap();
        assert_eq!(block_on(first).1, b"early");
        assert_eq!(driver.load(), (0, 0));
    }
}

/// The drop of a waker runs the caller's code, which may use the driver.
#[test]
fn a_dropped_waker_may_start_and_cancel_operations() {
    struct Starter(AsyncFile);
    impl std::task::Wake for Starter {
        fn wake(self: Arc<Self>) {}
    }
    impl Drop for Starter {
        fn drop(&mut self) {
            let mut call = pin!(self.0.sync_data());
            assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        }
    }
    in_time("the driver waits for itself", || {
        for driver in drivers(1) {
            let (_dir, path) = temporary_file(b"old");
            let file = synced_file(&path, &driver);
            let pends = |future: &mut (dyn Future<Output = _> + Unpin)| {
                let waker = Waker::from(Arc::new(Starter(file.clone())));
                std::pin::Pin::new(future).poll(&mut Context::from_waker(&waker)).is_pending()
            };
            let (release, mut first) = blocking_call(&driver);
            let waker = Waker::from(Arc::new(Starter(file.clone())));
            assert!(pin!(&mut first).poll(&mut Context::from_waker(&waker)).is_pending());
            drop(waker);
            let mut cancelled = file.write_all_at(b"new".to_vec(), 0);
            assert!(pends(&mut cancelled) && pends(&mut cancelled), "the second waker replaces the first");
            cancelled.cancel();
            assert_eq!(block_on(cancelled).0.unwrap_err().kind(), ErrorKind::Cancelled);
            let mut waiting = file.write_all_at(b"new".to_vec(), 0);
            assert!(pends(&mut waiting));
            drop(waiting);
            drop(first);
            drop(release);
        }
    });
}
