//! Transfers that wait for another process hold neither a thread nor a place of other operations.

use super::*;
use fullbore_io::file::{Durability, Mode, OpenOptions};
use std::io::Write as _;
#[cfg(unix)]
use {
    rustix::fs::OFlags,
    std::io::{PipeReader, Read as _},
};

/// Returns a pipe without room, and the number of bytes in it.
#[cfg(unix)]
fn full_pipe(driver: &Driver) -> (PipeReader, AsyncFile, usize) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    rustix::fs::fcntl_setfl(&writer, OFlags::NONBLOCK).unwrap();
    let mut len = 0;
    while let Ok(count) = writer.write(&[0; 4096]) {
        len += count;
    }
    rustix::fs::fcntl_setfl(&writer, OFlags::empty()).unwrap();
    (reader, AsyncFile::new(File::from_fd(writer.into(), "pipe").unwrap(), driver), len)
}

/// Opens, writes, syncs and reads a file: calls on threads, and on the ring if there is one.
fn use_a_file(driver: &Driver) {
    let begun = Instant::now();
    let (_dir, path) = temporary_file(b"old");
    block_on(async {
        let open = move || OpenOptions::new().mode(Mode::Truncate).write_through(Durability::Data).open(path);
        let file = AsyncFile::open_with(driver, open).await.unwrap();
        file.write_all_at(ground::bytes(100_000, 1), 0).await.0.unwrap();
        file.sync_data().await.unwrap();
        let _ = file.file().drop_cache();
        assert!(file.read_exact_at(vec![0; 100_000], 0).await.1 == ground::bytes(100_000, 1));
    });
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}: {:?}", driver.backend(), begun.elapsed());
}

fn wait_for_load(driver: &Driver, load: (usize, usize)) {
    assert_eventually(driver.backend(), load, || driver.load());
}

#[test]
fn pending_reads_of_pipes_do_not_stop_files() {
    for driver in drivers(256) {
        let (files, mut writers): (Vec<_>, Vec<_>) = (0..300).map(|_| pipe(&driver)).unzip();
        let mut reads: Vec<_> = files.iter().map(|file| Box::pin(file.read_at(vec![0u8; 8], 0))).collect();
        for read in &mut reads {
            assert!(block_on(poll_once(read.as_mut())).is_none());
        }
        use_a_file(&driver);
        assert_eq!(driver.load(), (0, 300));
        std::thread::sleep(Duration::from_millis(20));
        use_a_file(&driver);
        // The first 100 are dropped, the last 50 end with their pipes, the others receive bytes.
        reads.drain(..100);
        wait_for_load(&driver, (0, 200));
        writers.drain(..100);
        writers.truncate(150);
        for (number, writer) in writers.iter_mut().enumerate() {
            writer.write_all(&[number as u8]).unwrap();
        }
        for (number, read) in reads.into_iter().enumerate() {
            let (result, bytes) = block_on(read);
            let want = if number < 150 { vec![number as u8] } else { Vec::new() };
            assert_eq!((result.unwrap(), &bytes), (want.len(), &want), "{:?}", driver.backend());
        }
        assert_eq!(driver.load(), (0, 0));
    }
}

#[test]
fn many_reads_of_one_pipe_receive_each_byte_once() {
    for driver in drivers(4) {
        let (file, mut writer) = pipe(&driver);
        let mut reads: Vec<_> = (0..50).map(|_| Box::pin(file.read_at(vec![0u8; 1], 0))).collect();
        for read in &mut reads {
            assert!(block_on(poll_once(read.as_mut())).is_none());
        }
        writer.write_all(&(0..20).collect::<Vec<u8>>()).unwrap();
        use_a_file(&driver);
        writer.write_all(&(20..50).collect::<Vec<u8>>()).unwrap();
        let mut bytes: Vec<u8> = reads.into_iter().map(|read| block_on(read).1[0]).collect();
        bytes.sort_unstable();
        assert_eq!(bytes, (0..50).collect::<Vec<u8>>());
    }
}

// No call of Windows reports reliably that a pipe has room, so a write to a full one takes a thread.
#[cfg(unix)]
#[test]
fn pending_writes_of_full_pipes_do_not_stop_files() {
    for driver in drivers(4) {
        let pipes: Vec<_> = (0..20).map(|_| full_pipe(&driver)).collect();
        let mut writes: Vec<_> = pipes
            .iter()
            .map(|(_, file, _)| Box::pin(file.write_all_at(ground::bytes(150_000, 1), 0)))
            .collect();
        for write in &mut writes {
            assert!(block_on(poll_once(write.as_mut())).is_none());
        }
        use_a_file(&driver);
        for ((mut reader, file, len), write) in pipes.into_iter().zip(writes) {
            let received = std::thread::spawn(move || {
                let mut bytes = Vec::new();
                reader.read_to_end(&mut bytes).unwrap();
                bytes.split_off(len)
            });
            assert_eq!(block_on(write).0.unwrap(), 150_000);
            drop(file);
            assert!(received.join().unwrap() == ground::bytes(150_000, 1), "{:?}", driver.backend());
        }
    }
}

/// Returns a terminal that passes bytes on as they are, and its other end.
#[cfg(unix)]
fn terminal() -> (std::fs::File, File) {
    use std::os::fd::{FromRawFd, OwnedFd};
    use std::ptr::null_mut;
    let (mut screen, mut terminal) = (0, 0);
    // SAFETY: zeros are a `termios`, which the next call fills; the last writes the two numbers of descriptors that it opens.
    let [screen, terminal] = unsafe {
        let mut raw = std::mem::zeroed();
        libc::cfmakeraw(&raw mut raw);
        assert_eq!(
            libc::openpty(&raw mut screen, &raw mut terminal, null_mut(), &raw mut raw, null_mut()),
            0
        );
        [screen, terminal].map(|end| OwnedFd::from_raw_fd(end))
    };
    (screen.into(), File::from_fd(terminal, "terminal").unwrap())
}

/// The system cannot write to these without waiting, and reports them as ready while a byte has room.
#[cfg(unix)]
#[test]
fn pending_writes_of_named_pipes_and_terminals_do_not_stop_files() {
    for driver in drivers(4) {
        let dir = tempfile::tempdir().unwrap();
        let named = |number: usize| {
            let path = dir.path().join(number.to_string());
            fullbore_testkit::ground::fifo(&path);
            let reader = std::fs::File::options().read(true).write(true).open(&path).unwrap();
            (reader, File::open_write(&path).unwrap())
        };
        // More than the driver has threads.
        let ends: Vec<_> = (0..6).map(named).chain((0..6).map(|_| terminal())).collect();
        in_time("the driver is stopped", move || {
            let files = ends.iter().map(|(_, file)| AsyncFile::new(file.clone(), &driver));
            let mut writes: Vec<_> = files
                .map(|file| Box::pin(async move { file.write_all_at(ground::bytes(1 << 20, 1), 0).await.0 }))
                .collect();
            for write in &mut writes {
                assert!(block_on(poll_once(write.as_mut())).is_none());
            }
            std::thread::sleep(Duration::from_millis(50));
            use_a_file(&driver);
            for ((mut reader, _file), write) in ends.into_iter().zip(writes) {
                let received = std::thread::spawn(move || {
                    let mut bytes = vec![0; 1 << 20];
                    reader.read_exact(&mut bytes).unwrap();
                    bytes
                });
                assert_eq!(block_on(write).unwrap(), 1 << 20);
                assert!(received.join().unwrap() == ground::bytes(1 << 20, 1), "{:?}", driver.backend());
            }
        });
    }
}

/// A started write continues without its future and its driver, also while it waits.
// As above.
#[cfg(unix)]
#[test]
fn a_dropped_write_of_a_full_pipe_continues() {
    for driver in drivers(4) {
        let (mut reader, file, len) = full_pipe(&driver);
        let mut write = Box::pin(file.write_at(vec![7u8], 0));
        assert!(block_on(poll_once(write.as_mut())).is_none());
        std::thread::sleep(Duration::from_millis(50));
        drop((write, file, driver));
        let mut bytes = Vec::new();
        // The end comes once the driver has released the descriptor.
        reader.read_to_end(&mut bytes).unwrap();
        assert!(bytes[len..] == [7]);
    }
}

/// A descriptor that another process set to `O_NONBLOCK`, as shells do to terminals.
// Shells of Windows do not.
#[cfg(unix)]
#[test]
fn a_read_waits_in_spite_of_a_descriptor_that_does_not() {
    for driver in drivers(4) {
        let (file, mut writer) = pipe(&driver);
        rustix::fs::fcntl_setfl(file.file(), OFlags::NONBLOCK).unwrap();
        let mut read = Box::pin(file.read_exact_at(vec![0u8; 3], 0));
        assert!(block_on(poll_once(read.as_mut())).is_none());
        std::thread::sleep(Duration::from_millis(20));
        assert!(block_on(poll_once(read.as_mut())).is_none(), "{:?}", driver.backend());
        writer.write_all(b"abc").unwrap();
        assert_eq!(block_on(read).1, b"abc");
    }
}

// Windows has neither device, macOS no /dev/full.
#[cfg(all(unix, not(target_os = "macos")))]
#[test]
fn devices_without_readiness_are_read_and_written() {
    for driver in drivers(4) {
        let zeros = AsyncFile::new(File::open("/dev/zero").unwrap(), &driver);
        assert_eq!(block_on(zeros.read_exact_at(vec![1u8; 9000], 0)).1, vec![0; 9000]);
        let full = AsyncFile::new(File::open_write("/dev/full").unwrap(), &driver);
        let error = block_on(full.write_all_at(vec![1u8; 9], 0)).0.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoSpace);
    }
}

/// Copies that wait for another process are not on the driver's threads.
#[test]
fn a_copy_of_a_pipe_lets_other_calls_run() {
    let driver = Driver::new(DriverConfig { backend: Backend::Threads, in_flight: 4, threads: 1 }).unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    let [reader, writer] = [reader.into(), writer.into()]
        .map(|end| AsyncFile::new(File::from_fd(end, "pipe").unwrap(), &driver));
    let (_dir, path) = temporary_file(b"");
    let file = AsyncFile::new(File::open_write(&path).unwrap(), &driver);
    let copy = reader.copy_range(0..u64::MAX, &file, 0);
    let write = async {
        writer.write_all_at(ground::bytes(100_000, 1), 0).await.0.unwrap();
        // The last writer closes the pipe, which ends the copy.
        drop(writer);
    };
    let both = futures_lite::future::zip(copy, write);
    let (copied, ()) = block_on(both);
    assert_eq!(copied.unwrap().bytes(), 100_000);
    assert!(std::fs::read(&path).unwrap() == ground::bytes(100_000, 1));
}

/// More of them than operations may be in flight.
#[test]
fn abandoned_copies_of_pipes_stop_no_other_call() {
    for driver in drivers(2) {
        let (_dir, path) = temporary_file(b"");
        let target = AsyncFile::new(File::open_write(&path).unwrap(), &driver);
        let (sources, writers): (Vec<_>, Vec<_>) = (0..5).map(|_| pipe(&driver)).unzip();
        for source in &sources {
            let mut copy = Box::pin(source.copy_range(0..u64::MAX, &target, 0));
            assert!(block_on(poll_once(copy.as_mut())).is_none());
            // A call that no thread has taken would not be made.
            std::thread::sleep(Duration::from_millis(20));
        }
        let same = driver.clone();
        in_time("the driver is stopped", move || use_a_file(&same));
        drop((sources, writers));
        wait_for_load(&driver, (0, 0));
    }
}

/// The threads that waited for pipes are not added to the driver's when their calls have ended.
#[test]
fn calls_after_those_that_waited_stay_within_the_limit_of_threads() {
    for backend in [Backend::Threads, Backend::Auto] {
        let driver = Driver::new(DriverConfig { backend, in_flight: 512, threads: 1 }).unwrap();
        let (_dir, path) = temporary_file(b"");
        let target = AsyncFile::new(File::open_write(&path).unwrap(), &driver);
        let (sources, writers): (Vec<_>, Vec<_>) = (0..20).map(|_| pipe(&driver)).unzip();
        let copies = sources.iter().map(|source| source.copy_range(0..u64::MAX, &target, 0));
        let mut copies: Vec<_> = copies.collect();
        for copy in &mut copies {
            assert!(block_on(poll_once(copy)).is_none());
        }
        // The call is made by a thread that no copy has.
        block_on(target.len()).unwrap();
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let call = |_| {
            let (running, most) = (running.clone(), most.clone());
            AsyncFile::open_with(&driver, move || {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(1));
                running.fetch_sub(1, Ordering::SeqCst);
                File::open("missing")
            })
        };
        let mut calls: Vec<_> = (0..300).map(call).collect();
        for call in &mut calls {
            assert!(block_on(poll_once(call)).is_none());
        }
        drop(writers);
        for copy in copies {
            block_on(copy).unwrap();
        }
        for call in calls {
            block_on(call).unwrap_err();
        }
        assert_eq!(most.load(Ordering::SeqCst), 1, "{:?}", driver.backend());
    }
}

/// `poll(2)` takes no more entries than a process may have descriptors.
#[cfg(unix)]
#[test]
fn more_transfers_than_descriptors_wait_for_one_pipe() {
    use rustix::process::{Resource, getrlimit};
    let most = match getrlimit(Resource::Nofile).current {
        Some(most) if most <= 100_000 => most as usize + 100,
        limit => return println!("skipped: more transfers than descriptors: the limit is {limit:?}"),
    };
    let driver = Driver::new(DriverConfig { backend: Backend::Threads, in_flight: 4, threads: 1 }).unwrap();
    let (file, mut writer) = pipe(&driver);
    let mut reads: Vec<_> = (0..most).map(|_| Box::pin(file.read_at(vec![0u8; 1], 0))).collect();
    for read in &mut reads {
        assert!(block_on(poll_once(read.as_mut())).is_none());
    }
    writer.write_all(b"x").unwrap();
    let ended = || reads.iter_mut().filter_map(|read| block_on(poll_once(read.as_mut()))).count();
    assert_eventually("reads that end", 1, ended);
}

#[test]
fn offsets_of_pipes_are_ignored_in_errors_too() {
    for driver in drivers(4) {
        let (file, mut writer) = pipe(&driver);
        writer.write_all(b"abc").unwrap();
        drop(writer);
        let error = block_on(file.read_exact_at(vec![0; 10], u64::MAX)).0.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        assert!(!error.to_string().contains("offset"), "{error}");
    }
}

/// A child has no part in what its parent has begun.
#[cfg(unix)]
#[test]
fn a_forked_child_leaves_the_operations_of_its_parent_alone() {
    for driver in drivers(4) {
        let (file, mut writer) = pipe(&driver);
        let mut read = Box::pin(file.read_at(vec![0u8; 8], 0));
        assert!(block_on(poll_once(read.as_mut())).is_none());
        // SAFETY: the child only drops and fails operations, and ends without running the handlers of this process.
        let child = unsafe { libc::fork() };
        if child == 0 {
            drop(read);
            let refused = block_on(poll_once(file.read_at(vec![0u8; 8], 0)));
            let is_refused = refused.is_some_and(|(result, _)| result.is_err());
            // SAFETY: ends the child.
            unsafe { libc::_exit(i32::from(!is_refused)) };
        }
        let (mut status, end) = (0, Instant::now() + PATIENCE);
        // SAFETY: waits for the child of this test.
        while unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } == 0 {
            if Instant::now() > end {
                // SAFETY: ends the child of this test.
                unsafe { libc::kill(child, libc::SIGKILL) };
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(status, 0, "{:?}", driver.backend());
        writer.write_all(b"abc").unwrap();
        let (count, bytes) = block_on(read);
        assert_eq!((count.unwrap(), &bytes[..3]), (3, &b"abc"[..]));
    }
}
