//! Opening and closing, on threads and at once.

use super::*;
use fullbore_io::file::OpenOptions;
#[cfg(unix)]
use fullbore_io::file::{Access, Mode};
use fullbore_testkit::ground::NULL;

/// The number of handles of this process on a file. Windows does not count them: 1 means that there is one.
fn open_handles(path: &Path) -> usize {
    #[cfg(target_os = "linux")]
    {
        let leads_here = |fd: &std::fs::DirEntry| std::fs::read_link(fd.path()).is_ok_and(|to| to == path);
        std::fs::read_dir("/proc/self/fd").unwrap().flatten().filter(leads_here).count()
    }
    // The entries of /dev/fd are not links, and FreeBSD usually lists the standard streams alone.
    #[cfg(all(unix, not(target_os = "linux")))]
    {
        use std::os::unix::fs::MetadataExt;

        const MOST: libc::c_int = 1 << 16;
        let file = std::fs::metadata(path).unwrap();
        // SAFETY: a call without arguments.
        let end = unsafe { libc::getdtablesize() }.min(MOST);
        let leads_here = |fd: &libc::c_int| {
            let mut found = std::mem::MaybeUninit::<libc::stat>::uninit();
            // SAFETY: the call fails for a number without a file, and else writes the structure.
            let found = unsafe {
                match libc::fstat(*fd, found.as_mut_ptr()) {
                    0 => found.assume_init(),
                    _ => return false,
                }
            };
            (found.st_dev as _, found.st_ino) == (file.dev(), file.ino())
        };
        (0..end).filter(leads_here).count()
    }
    #[cfg(windows)]
    {
        use std::os::windows::fs::OpenOptionsExt;
        usize::from(std::fs::File::options().read(true).share_mode(0).open(path).is_err())
    }
}

/// tokio#7979: cancelled opens leak descriptors.
#[test]
fn dropped_opens_leave_no_descriptor() {
    for driver in drivers(4) {
        let (_dir, path) = temporary_file(b"x");
        for _ in 0..200 {
            let path = path.clone();
            let mut open = Box::pin(AsyncFile::open_with(&driver, move || File::open(path)));
            let _ = block_on(poll_once(open.as_mut()));
        }
        assert_eventually("open descriptors", 0, || open_handles(&path));
    }
}

/// arrow-rs-object-store#693: one thread per request.
#[test]
fn a_thousand_opens_stay_within_the_thread_limit() {
    let driver = Driver::new(DriverConfig { threads: 2, ..DriverConfig::default() }).unwrap();
    let (_dir, path) = temporary_file(b"x");
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
    // The other half is dropped; these complete.
    for open in opens {
        block_on(open).unwrap();
    }
    assert!((1..=2).contains(&names.lock().unwrap().len()));
}

/// Opening a named pipe blocks until it has a writer, but must not block the executor.
// Directories of Windows have no pipes.
#[cfg(unix)]
#[test]
fn opening_a_pipe_does_not_block_the_executor() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pipe");
    fullbore_testkit::ground::fifo(&path);
    let mut open = Box::pin(AsyncFile::open(&path));
    let begun = Instant::now();
    assert!(block_on(poll_once(open.as_mut())).is_none());
    assert!(begun.elapsed() < Duration::from_secs(1));
    std::thread::sleep(Duration::from_millis(50));
    assert!(block_on(poll_once(open.as_mut())).is_none(), "opened without a writer");
    let writer = std::thread::spawn({
        let path = path.clone();
        move || std::fs::write(path, "through").unwrap()
    });
    let file = block_on(open).unwrap();
    let (count, bytes) = block_on(file.read_at(vec![0; 7], 0));
    assert_eq!(&bytes[..count.unwrap()], b"through");
    writer.join().unwrap();
}

/// A writer that waits for a reader has seen the one that the first poll opens, and leaves before another is opened.
#[cfg(unix)]
#[test]
fn a_writer_of_a_pipe_that_leaves_at_once_is_not_missed() {
    let dir = tempfile::tempdir().unwrap();
    // The kernel may still hold the reader of the round before, so each round has a pipe of its own.
    let pipe = move |name: &str| {
        let path = dir.path().join(name);
        fullbore_testkit::ground::fifo(&path);
        path
    };
    in_time("an open waits for another writer", move || {
        for round in 0..30 {
            let path = pipe(&round.to_string());
            let writer = std::thread::spawn({
                let path = path.clone();
                move || std::fs::write(path, "through").unwrap()
            });
            std::thread::sleep(Duration::from_millis(5));
            let file = block_on(AsyncFile::open(&path)).unwrap();
            assert_eq!(block_on(file.read_exact_at(vec![0; 7], 0)).1, b"through");
            assert_eq!(block_on(file.read_at(vec![0; 7], 0)).0.unwrap(), 0);
            writer.join().unwrap();
        }
        // A writer that writes nothing.
        let path = pipe("silent");
        let writer = std::thread::spawn({
            let path = path.clone();
            move || std::fs::File::options().write(true).open(path).unwrap()
        });
        let file = block_on(AsyncFile::open(&path)).unwrap();
        let flags = |file: &File| fullbore_io::sys::status_flags(file).unwrap();
        assert_eq!(flags(file.file()), flags(&File::open(&path).unwrap()));
        drop(writer.join().unwrap());
    });
}

/// The threads that wait in an open whose future was dropped are not those of the driver.
#[cfg(unix)]
#[test]
fn abandoned_opens_of_a_pipe_delay_no_other_call() {
    use std::os::unix::fs::OpenOptionsExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pipe");
    fullbore_testkit::ground::fifo(&path);
    std::fs::write(dir.path().join("file"), vec![0; 1 << 20]).unwrap();
    for _ in 0..20 {
        let mut open = Box::pin(AsyncFile::open(&path));
        let _ = block_on(poll_once(open.as_mut()));
        let mut options = OpenOptions::new();
        options.mode(Mode::Open).access(Access::Read);
        let mut open = Box::pin(options.open_async(&path));
        let _ = block_on(poll_once(open.as_mut()));
        for (from, to) in [("pipe", "copy"), ("file", "pipe")]
            .map(|(from, to)| (dir.path().join(from), dir.path().join(to)))
        {
            let mut copy = Box::pin(fullbore_io::asynchronous::copy(from, to));
            let _ = block_on(poll_once(copy.as_mut()));
        }
    }
    std::thread::sleep(Duration::from_millis(50));
    let other = dir.path().join("other");
    let file = block_on(AsyncFile::create(&other)).unwrap();
    block_on(file.write_all_at(b"bytes".to_vec(), 0)).0.unwrap();
    assert_eq!(block_on(file.len()).unwrap(), 5);
    // Ends the waiting threads: first those that open the pipe, then those that write to it.
    drop(std::fs::File::options().read(true).write(true).open(&path).unwrap());
    let mut rest = std::fs::File::options().read(true).custom_flags(libc::O_NONBLOCK).open(&path).unwrap();
    let _ = std::io::copy(&mut rest, &mut std::io::sink());
}

#[test]
fn a_file_opened_in_the_first_poll_equals_any_other() {
    let (_dir, path) = temporary_file(b"bytes");
    let file = block_on(AsyncFile::open(&path)).unwrap();
    let flags = |file: &File| fullbore_io::sys::status_flags(file).unwrap();
    assert_eq!(flags(file.file()), flags(&File::open(&path).unwrap()));
    #[cfg(unix)]
    assert!(rustix::io::fcntl_getfd(file.file()).unwrap().contains(rustix::io::FdFlags::CLOEXEC));
    let missing = block_on(AsyncFile::open(path.with_extension("missing"))).unwrap_err();
    let plain = File::open(path.with_extension("missing")).unwrap_err();
    assert_eq!((missing.kind(), missing.to_string()), (plain.kind(), plain.to_string()));
    assert!(block_on(AsyncFile::open(NULL)).unwrap().file().kind() != fullbore_io::file::FileKind::Regular);
}

/// The descriptor is closed when the future of the last handle completes, not before.
#[test]
fn closing_the_last_handle_closes_the_descriptor() {
    let (_dir, path) = temporary_file(b"bytes");
    for driver in drivers(4) {
        for how in [File::open, File::open_write] {
            let file = AsyncFile::new(how(&path).unwrap(), &driver);
            let other = file.clone();
            block_on(file.close()).unwrap();
            assert_eq!(open_handles(&path), 1);
            assert_eq!(block_on(other.read_exact_at(vec![0; 5], 0)).1, b"bytes");
            block_on(other.close()).unwrap();
            assert_eq!(open_handles(&path), 0);
        }
    }
}

#[test]
fn a_name_is_removed_by_the_close_and_not_before_its_first_poll() {
    for driver in drivers(1) {
        let (_dir, path) = temporary_file(b"x");
        let file = OpenOptions::new().delete_on_close(true).open(&path).unwrap();
        let close = AsyncFile::new(file, &driver).close();
        assert!(path.exists());
        block_on(close).unwrap();
        assert!(!path.exists());
    }
}
