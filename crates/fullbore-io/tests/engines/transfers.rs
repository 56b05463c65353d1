//! Every engine moves any bytes at any offset, and reports a truncated file in the same way. The results are checked through
//! `std::fs`, not through the engine.

use super::*;

use fullbore_testkit::ground::{directories, read_at};

/// Returns offsets and lengths around all block and sector edges.
fn runs() -> Vec<(u64, usize)> {
    let block = ALIGNMENT as u64;
    let edges = [0, 1, 511, 512, 513, block - 1, block, block + 1, 3 * block - 1, 3 * block, 7 * block + 13];
    let lengths =
        [1, 2, 511, 512, 513, ALIGNMENT - 1, ALIGNMENT, ALIGNMENT + 1, 2 * ALIGNMENT, 5 * ALIGNMENT + 77];
    edges.iter().flat_map(|&offset| lengths.iter().map(move |&len| (offset, len))).collect()
}

#[test]
fn reads_any_run_of_a_file() {
    each(|directory, method, cache| {
        let content = bytes(17 * ALIGNMENT + 333, 2);
        let path = write_file(directory, "read", &content);
        let file = File::open(&path).unwrap();
        let mut pool = Pool::new(1, 6 * ALIGNMENT).unwrap();
        let mut queue = queue(method, cache, &file, false, 1, &pool, Some(content.len() as u64)).unwrap();
        for (offset, len) in runs() {
            let len = len.min(content.len() - offset as usize);
            queue.read(9, offset, len, pool.take().unwrap()).unwrap();
            let done = queue.next().unwrap().unwrap();
            assert_eq!((done.token, done.offset), (9, offset));
            let expected = &content[offset as usize..offset as usize + len];
            assert!(done.buf.data() == expected, "{} cache={cache}: {len} bytes at {offset}", method.name);
            pool.put(done.buf);
        }
    });
}

#[test]
fn ranges_that_no_file_can_contain_are_refused() {
    each(|directory, method, cache| {
        let path = write_file(directory, "nowhere", "old");
        let file = File::open_write(&path).unwrap();
        let mut pool = Pool::new(1, ALIGNMENT).unwrap();
        let mut queue = queue(method, cache, &file, true, 1, &pool, None).unwrap();
        for offset in [u64::MAX, u64::MAX - 1, 1 << 63, i64::MAX as u64] {
            let error = queue.read(0, offset, 1, pool.take().unwrap()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{}: {error}", method.name);
            pool = Pool::new(1, ALIGNMENT).unwrap();
            let mut buf = pool.take().unwrap();
            buf.place(offset, 1);
            let error = queue.write(0, offset, buf).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{}: {error}", method.name);
            pool = Pool::new(1, ALIGNMENT).unwrap();
            assert_eq!(queue.view(offset, 1).unwrap_err().kind(), ErrorKind::Invalid);
            assert_eq!(queue.view_mut(offset, 1).unwrap_err().kind(), ErrorKind::Invalid);
            assert_eq!(queue.copy_in_kernel(offset, 1).unwrap_err().kind(), ErrorKind::Invalid);
        }
        assert!(queue.next().unwrap().is_none());
        assert_eq!(fs::read(&path).unwrap(), b"old");
    });
}

#[test]
fn methods_that_only_copy_refuse_reads_and_writes() {
    let directory = tempfile::tempdir().unwrap();
    let file = File::open_write(write_file(directory.path(), "file", b"bytes")).unwrap();
    let from = File::open(write_file(directory.path(), "from", b"other")).unwrap();
    for method in METHODS.iter().filter(|method| !method.capabilities.transfers) {
        let config = EngineConfig { from: Some(&from), write: true, ..EngineConfig::reading(&file) };
        if method.capabilities.copies_whole {
            let error = IoQueue::open(method, &config, None).err().unwrap();
            assert_eq!(error.kind(), std::io::ErrorKind::Unsupported, "{}: {error}", method.name);
            continue;
        }
        let mut queue = IoQueue::open(method, &config, None).unwrap();
        let mut pool = Pool::new(2, ALIGNMENT).unwrap();
        let mut buf = || pool.take().unwrap();
        for error in [queue.read(0, 0, 5, buf()), queue.write(0, 0, buf())].map(Result::unwrap_err) {
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{}: {error}", method.name);
        }
        assert!(queue.next().unwrap().is_none());
    }
}

#[test]
fn reads_up_to_an_unknown_end() {
    each(|directory, method, cache| {
        let path = directory.join("end");
        for len in [1, ALIGNMENT - 1, ALIGNMENT, ALIGNMENT + 1] {
            let content = bytes(len, 3);
            fs::write(&path, &content).unwrap();
            let file = File::open(&path).unwrap();
            let mut pool = Pool::new(1, 6 * ALIGNMENT).unwrap();
            let mut queue = queue(method, cache, &file, false, 1, &pool, None).unwrap();
            queue.read(0, 0, 6 * ALIGNMENT, pool.take().unwrap()).unwrap();
            let done = queue.next().unwrap().unwrap();
            assert!(done.buf.data() == content, "{} cache={cache}: {len} bytes", method.name);
        }
    });
}

#[test]
fn writes_change_exactly_their_range() {
    each(|directory, method, cache| {
        let mut content = bytes(17 * ALIGNMENT + 333, 4);
        let path = write_file(directory, "write", &content);
        let file = File::open_write(&path).unwrap();
        let mut pool = Pool::new(1, 6 * ALIGNMENT).unwrap();
        // Windows drops written pages after a flush of the device, which takes its time.
        let step = if cfg!(windows) && cache == CachePolicy::DontCache { 7 } else { 1 };
        for (round, (offset, len)) in runs().into_iter().enumerate().step_by(step) {
            let mut queue = queue(method, cache, &file, true, 1, &pool, None).unwrap();
            let len = len.min(content.len() - offset as usize);
            let new = bytes(len, 100 + round as u64);
            content[offset as usize..offset as usize + len].copy_from_slice(&new);
            let mut buf = pool.take().unwrap();
            buf.place(offset, len);
            buf.data_mut().copy_from_slice(&new);
            queue.write(0, offset, buf).unwrap();
            pool.put(queue.next().unwrap().unwrap().buf);
            queue.flush().unwrap();
            drop(queue);
            // Direct methods may have written a whole last block; the commit of an output sets the length.
            file.set_len(content.len() as u64).unwrap();
            assert!(
                fs::read(&path).unwrap() == content,
                "{} cache={cache}: {len} bytes at {offset}",
                method.name
            );
        }
    });
}

#[test]
fn files_of_any_size_are_written_and_read_with_many_requests_in_flight() {
    each(|directory, method, cache| {
        let lens =
            [1, ALIGNMENT - 1, ALIGNMENT, ALIGNMENT + 1, 8 * ALIGNMENT, 31 * ALIGNMENT + 5, 64 * ALIGNMENT];
        for len in lens {
            for request in [1000, ALIGNMENT, 3 * ALIGNMENT] {
                let path = directory.join(format!("new-{}-{cache}-{len}-{request}", method.name));
                let content = bytes(len, len as u64);
                let file = File::create_new(&path).unwrap();
                write(method, cache, &file, &content, (8, request)).unwrap();
                let name = format!("{} cache={cache}: {len} bytes by {request}", method.name);
                assert!(fs::read(&path).unwrap() == content, "{name}");
                let found = read(method, cache, &file, len, (16, request)).unwrap();
                assert!(found == content, "{name}, read");
            }
        }
    });
}

/// Polling without waiting sees every request complete, and each has one latency, however often its transfers were short
/// (test builds shorten them).
#[test]
fn polled_requests_complete_and_are_timed() {
    each(|directory, method, cache| {
        if method.capabilities.batched {
            return; // A batched method holds requests back until the caller waits.
        }
        let path = write_file(directory, "timed", bytes(64 * ALIGNMENT, 6));
        let file = File::open(&path).unwrap();
        let depth = method.capabilities.depth.min(8);
        let mut pool = Pool::new(depth, 4 * ALIGNMENT).unwrap();
        let mut queue =
            queue(method, cache, &file, false, depth, &pool, Some(64 * ALIGNMENT as u64)).unwrap();
        queue.time_requests();
        let begun = std::time::Instant::now();
        let mut done = 0;
        for round in 0..4 {
            for token in 0..depth as u64 {
                let offset = (round * 4 + token) % 15 * 4 * ALIGNMENT as u64;
                queue.read(token, offset, 4 * ALIGNMENT, pool.take().unwrap()).unwrap();
            }
            queue.commit().unwrap();
            while queue.in_flight() > 0 {
                if let Some(ended) = queue.ready().unwrap() {
                    pool.put(ended.buf);
                    done += 1;
                }
                assert!(begun.elapsed().as_secs() < 60, "{} cache={cache}: no completion", method.name);
            }
        }
        let latencies = queue.take_latencies();
        assert_eq!((done, latencies.count()), (4 * depth as u64, 4 * depth as u64), "{}", method.name);
        assert!(latencies.longest().unwrap() <= begun.elapsed());
        assert!(latencies.quantile(0.5).unwrap() > std::time::Duration::ZERO);
        assert_eq!(queue.take_latencies().count(), 0, "already taken");
    });
}

/// A queue that is closed keeps no handle of the file, nor its lock: otherwise a copied program could not be executed at once.
#[test]
fn closed_queues_release_the_file() {
    each(|directory, method, cache| {
        let path = write_file(directory, "locked", bytes(8 * ALIGNMENT, 8));
        let file = File::open(&path).unwrap();
        file.lock_shared().unwrap();
        assert_eq!(
            read(method, cache, &file, 8 * ALIGNMENT, (4, ALIGNMENT)).unwrap(),
            bytes(8 * ALIGNMENT, 8)
        );
        drop(file);
        let taken = File::open(&path).unwrap().try_lock();
        assert!(taken.is_ok(), "{} cache={cache}: {taken:?}", method.name);
    });
}

/// A latency ends at delivery, so it includes the caller's work on earlier requests.
#[test]
fn latencies_end_at_delivery() {
    const WORK: std::time::Duration = std::time::Duration::from_millis(2);
    each(|directory, method, cache| {
        let path = write_file(directory, "delivered", bytes(8 * ALIGNMENT, 7));
        let file = File::open(&path).unwrap();
        let depth = method.capabilities.depth.min(4);
        let mut pool = Pool::new(depth, ALIGNMENT).unwrap();
        let mut queue = queue(method, cache, &file, false, depth, &pool, Some(8 * ALIGNMENT as u64)).unwrap();
        queue.time_requests();
        for token in 0..depth as u64 {
            queue.read(token, token * ALIGNMENT as u64, ALIGNMENT, pool.take().unwrap()).unwrap();
        }
        while let Some(done) = queue.next().unwrap() {
            pool.put(done.buf);
            std::thread::sleep(WORK);
        }
        let latencies = queue.take_latencies();
        assert_eq!(latencies.count(), depth as u64);
        let waited = WORK * (depth as u32 - 1);
        assert!(latencies.longest().unwrap() >= waited, "{} cache={cache}", method.name);
    });
}

#[test]
fn views_show_the_file() {
    each(|directory, method, cache| {
        if !method.capabilities.mapped {
            return;
        }
        let content = bytes(23 * ALIGNMENT + 11, 6);
        let path = write_file(directory, "view", &content);
        let file = File::open_write(&path).unwrap();
        let pool = Pool::new(1, ALIGNMENT).unwrap();
        let mut reader = queue(method, cache, &file, false, 1, &pool, Some(content.len() as u64)).unwrap();
        for (offset, len) in runs() {
            let range = offset as usize..(offset as usize + len).min(content.len());
            assert!(reader.view(offset, range.len()).unwrap() == &content[range]);
        }
        let mut writer = queue(method, cache, &file, true, 1, &pool, None).unwrap();
        writer.view_mut(4097, 3).unwrap().copy_from_slice(b"new");
        writer.check("write", 4097).unwrap();
        assert_eq!(read_at(&path, 4096, 5), [content[4096], b'n', b'e', b'w', content[4100]]);
    });
}

#[test]
fn a_truncated_file_has_an_error_of_its_own() {
    each(|directory, method, cache| {
        // Windows refuses to truncate a mapped file.
        if cfg!(windows) && method.capabilities.mapped {
            return;
        }
        let path = directory.join("short");
        for left in [0, 1, ALIGNMENT as u64, 5 * ALIGNMENT as u64 + 7] {
            let content = bytes(64 * ALIGNMENT, 7);
            fs::write(&path, &content).unwrap();
            let file = File::open(&path).unwrap();
            let mut pool = Pool::new(1, 6 * ALIGNMENT).unwrap();
            let mut queue = queue(method, cache, &file, false, 1, &pool, Some(content.len() as u64)).unwrap();
            queue.read(0, 0, ALIGNMENT, pool.take().unwrap()).unwrap();
            pool.put(queue.next().unwrap().unwrap().buf);
            fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(left).unwrap();
            let mut result = Ok(());
            for block in 1..11 {
                let offset = block * 6 * ALIGNMENT as u64;
                result = match pool.take() {
                    Some(buf) => {
                        queue.read(0, offset, 4 * ALIGNMENT, buf).and_then(|()| queue.next()).map(|done| {
                            pool.put(done.unwrap().buf);
                        })
                    }
                    None => break,
                };
                if result.is_err() {
                    break;
                }
            }
            let error = result.expect_err(&format!("{} cache={cache} read past {left} bytes", method.name));
            assert_eq!(error.kind(), ErrorKind::Changed, "{} cache={cache}: {error}", method.name);
        }
    });
}

// Windows refuses to truncate a mapped file.
#[cfg(unix)]
#[test]
fn a_view_truncated_during_use_has_the_same_error() {
    each(|directory, method, cache| {
        if !method.capabilities.mapped {
            return;
        }
        let path = write_file(directory, "cut", bytes(64 * ALIGNMENT, 8));
        let file = File::open(&path).unwrap();
        let pool = Pool::new(1, ALIGNMENT).unwrap();
        let mut reader = queue(method, cache, &file, false, 1, &pool, Some(64 * ALIGNMENT as u64)).unwrap();
        let view = reader.view(0, 4 * ALIGNMENT).unwrap();
        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(0).unwrap();
        let sum: u64 = view.iter().map(|&byte| u64::from(byte)).sum();
        assert_eq!(sum, 0, "missing pages read as zeros");
        assert_eq!(reader.check("read", 0).unwrap_err().kind(), ErrorKind::Changed);

        fs::write(&path, bytes(64 * ALIGNMENT, 8)).unwrap();
        let file = File::open_write(&path).unwrap();
        let mut writer = queue(method, cache, &file, true, 1, &pool, None).unwrap();
        let view = writer.view_mut(0, 4 * ALIGNMENT).unwrap();
        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(0).unwrap();
        view.fill(1);
        assert_eq!(writer.check("write", 4 * ALIGNMENT as u64).unwrap_err().kind(), ErrorKind::Changed);
    });
}

#[test]
fn kernel_copies_move_any_range() {
    for directory in directories() {
        let (source, target) = (directory.path().join("from"), directory.path().join("to"));
        let content = bytes(300 * ALIGNMENT + 99, 9);
        fs::write(&source, &content).unwrap();
        let from = File::open(&source).unwrap();
        let copies_ranges =
            |method: &&&Method| method.capabilities.copies_in_kernel && !method.capabilities.copies_whole;
        for method in METHODS.iter().filter(copies_ranges) {
            fs::write(&target, b"").unwrap();
            let to = File::open_write(&target).unwrap();
            let works = engine::probe(method, &to, Some(&from), true, CachePolicy::Keep);
            let Some(()) = supported_or_skip(directory.path(), false, method.name, works) else { continue };
            let config = EngineConfig { from: Some(&from), write: true, ..EngineConfig::reading(&to) };
            let mut queue = IoQueue::open(method, &config, None).unwrap();
            let middle = 5 * ALIGNMENT + 17;
            // The kernel rejects a file that appends; no byte of a failed copy gets into the next one.
            #[cfg(unix)]
            {
                use rustix::fs::{OFlags, fcntl_setfl};
                fcntl_setfl(&to, OFlags::APPEND).unwrap();
                queue.copy_in_kernel(0, middle).unwrap_err();
                fcntl_setfl(&to, OFlags::empty()).unwrap();
            }
            queue.copy_in_kernel(middle as u64, content.len() - middle).unwrap();
            queue.copy_in_kernel(0, middle).unwrap();
            assert!(fs::read(&target).unwrap() == content, "{}", method.name);
            let error = queue.copy_in_kernel(content.len() as u64 - 1, 2).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Changed, "{}", method.name);
        }
    }
}
