//! Memory and descriptors live until future, driver, thread and system have finished with them, in any order.

use super::*;

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
        let (reader, mut writer) = std::io::pipe().unwrap();
        let file = AsyncFile::new(File::from_fd(reader.into(), "pipe").unwrap(), &driver);
        let freed = Arc::new(AtomicBool::new(false));
        let mut read = Box::pin(file.read_at(Watched(vec![0; 4096].into(), freed.clone()), 0));
        assert!(block_on(poll_once(read.as_mut())).is_none());
        // A thread must start the read first, or it never runs.
        std::thread::sleep(Duration::from_millis(50));
        drop(read);
        if driver.backend() == Backend::Threads {
            std::thread::sleep(Duration::from_millis(50));
            assert!(!freed.load(Ordering::SeqCst), "freed during the call");
        }
        // The driver is dropped before the operation completes: neither waits for the other.
        drop((file, driver));
        use std::io::Write;
        let _ = writer.write_all(b"late");
        let end = Instant::now() + Duration::from_secs(5);
        while !freed.load(Ordering::SeqCst) {
            assert!(Instant::now() < end, "the buffer leaked");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

#[test]
fn a_cancelled_read_returns_its_buffer() {
    for driver in drivers(1) {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let file = AsyncFile::new(File::from_fd(reader.into(), "pipe").unwrap(), &driver);
        let mut first = pin!(file.read_at(vec![1; 8], 0));
        let mut second = pin!(file.read_at(vec![2; 8], 0));
        let mut context = Context::from_waker(Waker::noop());
        assert!(first.as_mut().poll(&mut context).is_pending());
        assert!(second.as_mut().poll(&mut context).is_pending());
        assert_eq!(driver.load(), (1, 1));
        // A waiting operation never runs after cancellation.
        second.cancel();
        let Poll::Ready((result, buffer)) = second.poll(&mut context) else { panic!("still pending") };
        assert_eq!((result.unwrap_err().kind(), buffer), (ErrorKind::Cancelled, vec![2; 8]));
        std::thread::sleep(Duration::from_millis(20));
        first.cancel();
        if driver.backend() == Backend::Threads {
            use std::io::Write;
            writer.write_all(b"abc").unwrap();
            let (result, buffer) = block_on(first);
            assert_eq!((result.unwrap(), &buffer[..]), (3, &b"abc"[..]));
        } else {
            let (result, buffer) = block_on(first);
            assert_eq!((result.unwrap_err().kind(), buffer), (ErrorKind::Cancelled, vec![1; 8]));
        }
    }
}

/// The kernel cancels operations of a thread that ends.
#[test]
fn a_read_outlives_the_thread_that_started_it() {
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
