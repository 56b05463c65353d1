//! Rules of Windows that neither Linux nor Wine enforces, enforced by a fault plan: direct transfers are whole sectors in
//! aligned memory, locks bind transfers, a mapped file is not truncated, a held file is not replaced. On Windows some rules
//! also meet real holders of files.

use super::*;

use std::io::{IoSlice, IoSliceMut, Read, Seek, SeekFrom, Write};

use fullbore_io::asynchronous::{AsyncFile, AsyncStream};
use fullbore_io::file::{CachePolicy, Durability, Output, Support};
use fullbore_io::stream::FileStream;
use futures_lite::future::block_on;
use futures_lite::{AsyncReadExt, AsyncWriteExt};

use crate::cases::REQUEST;
use crate::drivers::drivers;

/// Length of the files: many requests, not a multiple of the sector.
const LENGTH: usize = 12 * REQUEST + 777;
/// One request in flight, most of them from inside a sector.
const ONE: (usize, usize) = (1, REQUEST - 5);
const SECTORS: Fault = Fault::Sectors { size: 4096 };

/// A locked range inside a request and a sector.
const PLACE: u64 = (5 * REQUEST + 100) as u64;
const LOCKED: Fault = Fault::Locked { offset: PLACE, len: 10 };

/// Asserts that an error is that of a locked range in `path`.
fn assert_locked(name: &str, path: &Path, error: &Error) {
    assert_eq!((error.kind(), error.path()), (ErrorKind::Locked, path), "{name}: {error}");
    let text = error.to_string();
    assert!(text.contains(" at offset ") && text.contains("has locked these bytes"), "{name}: {text}");
}

#[test]
fn direct_requests_of_every_method_are_whole_sectors() {
    everywhere(|directory| {
        let content = bytes(LENGTH, 2);
        each_in(directory, |method, cache| {
            let name = format!("{} cache={cache}", method.name);
            let path = directory.join(method.name);
            // Shortened transfers are continued at a sector.
            for plan in [Plan::new(1), Plan::new(2).with(Fault::Short { one_in: 3 })] {
                let plan = plan.with(SECTORS);
                let file = File::create_new(&path).unwrap().with_faults(&plan);
                write(method, cache, &file, &content, ONE).unwrap_or_else(|error| panic!("{name}: {error}"));
                assert!(fs::read(&path).unwrap() == content, "{name}");
                assert!(read(method, cache, &file, LENGTH, ONE).unwrap() == content, "{name}");
                let counts = plan.counts();
                assert_eq!(counts.refused, 0, "{name}");
                assert_eq!(counts.direct > 0, method.capabilities.passes_cache(cache), "{name}");
                fs::remove_file(&path).unwrap();
            }
        });
    });
}

/// Passes each method that bypasses the cache, and a new file of [`LENGTH`] bytes, to `test`.
fn each_direct(test: impl Fn(&'static Method, CachePolicy, &Path) + Sync) {
    everywhere(|directory| {
        each_in(directory, |method, cache| {
            if method.capabilities.passes_cache(cache) {
                let path = write_file(directory, "file", bytes(LENGTH, 3));
                test(method, cache, &path);
                fs::remove_file(&path).unwrap();
            }
        });
    });
}

#[test]
fn a_method_whose_direct_requests_are_rejected_names_the_alignment() {
    each_direct(|method, cache, path| {
        let plan = Plan::new(1);
        let file = File::open_write(path).unwrap().with_faults(&plan);
        let mut pool = Pool::new(1, REQUEST).unwrap();
        let mut queue = queue(method, cache, &file, true, 1, &pool, None).unwrap();
        // The device announced less.
        let plan = plan.with(Fault::Sectors { size: 8192 });
        let rejected =
            [queue.read(0, 4096, 4096, pool.take().unwrap()).and_then(|()| queue.next().map(drop)), {
                pool = Pool::new(1, REQUEST).unwrap();
                let mut buf = pool.take().unwrap();
                buf.place(4096 + 7, 100);
                queue.write(0, 4096 + 7, buf).and_then(|()| queue.next().map(drop))
            }];
        for rejected in rejected {
            let error = rejected.unwrap_err();
            let text = error.to_string();
            assert_eq!((error.kind(), error.path()), (ErrorKind::Invalid, path), "{text}");
            let unit = file.without_faults().direct_alignment();
            assert!(text.contains(" at offset 4"), "{text}");
            assert!(text.contains(&format!("multiples of {unit} bytes")), "{text}");
            assert!(text.contains("page cache"), "{text}");
        }
        assert_eq!(plan.counts().refused, 2);
    });
}

/// Buffers and parts of files are aligned to 4096 bytes: longer blocks would be read and written in halves.
#[test]
fn a_file_with_longer_direct_blocks_is_not_transferred_directly() {
    each_direct(|method, cache, path| {
        let plan = Plan::new(1).with(Fault::Sectors { size: 16384 });
        let file = File::open_write(path).unwrap().with_faults(&plan);
        let refused = engine::probe_once(method, &file, true, cache).unwrap_err();
        assert!(refused.contains("16384"), "{refused}");
    });
}

/// A direct file under a plan, or `None` after printing the reason.
fn direct(path: &Path, plan: &Plan) -> Option<File> {
    let (file, support) = File::open_write(path).unwrap().with_faults(plan).with_cache(CachePolicy::Direct);
    let native = if support == Support::Native { Ok(file) } else { Err(support) };
    supported_or_skip(path, true, "direct", native)
}

#[test]
fn streams_and_futures_over_direct_files_transfer_whole_sectors() {
    everywhere(|directory| {
        let path = directory.join("file");
        let content = bytes(LENGTH, 6);
        let write_all = |file: &File, how: &mut dyn FnMut(File) -> Vec<u8>, plan: &Plan, name: &str| {
            let read = how(file.clone());
            assert!(read == content && fs::read(&path).unwrap() == content, "{name}");
            let counts = plan.counts();
            assert!(counts.refused == 0 && counts.direct > 0, "{name}: {counts:?}");
            assert_eq!(file.cache_policy().1, Support::Native, "{name}");
        };
        let fresh = || {
            fs::write(&path, vec![0; LENGTH]).unwrap();
            let plan = Plan::new(1).with(SECTORS);
            direct(&path, &plan).map(|file| (file, plan))
        };
        let Some((file, plan)) = fresh() else { return };
        let mut by_stream = |file| {
            let mut stream = FileStream::with_buffer(file, 5000);
            for part in content.chunks(777) {
                stream.write_all(part).unwrap();
            }
            stream.seek(SeekFrom::Start(0)).unwrap();
            let mut read = Vec::new();
            stream.read_to_end(&mut read).unwrap();
            stream.close().unwrap();
            read
        };
        write_all(&file, &mut by_stream, &plan, "stream");
        for driver in drivers(8) {
            let name = format!("{:?}", driver.backend());
            let Some((file, plan)) = fresh() else { return };
            let mut by_future = |file| {
                let file = AsyncFile::new(file, &driver);
                for (index, part) in content.chunks(10_000).enumerate() {
                    let offset = (index * 10_000) as u64;
                    block_on(file.write_all_at(part.to_vec(), offset)).0.unwrap();
                }
                // Aligned buffers may go to the ring.
                let mut pool = Pool::new(1, REQUEST).unwrap();
                let mut read = Vec::new();
                while read.len() < LENGTH {
                    let len = REQUEST.min(LENGTH - read.len());
                    let mut buf = pool.take().unwrap();
                    buf.place(0, len);
                    let (result, buf) = block_on(file.read_exact_at(buf, read.len() as u64));
                    assert_eq!(result.unwrap(), len);
                    read.extend_from_slice(buf.data());
                    pool.put(buf);
                }
                read
            };
            write_all(&file, &mut by_future, &plan, &name);
            let Some((file, plan)) = fresh() else { return };
            let mut by_stream = |file| {
                let mut stream = AsyncStream::new(AsyncFile::new(file, &driver));
                block_on(async {
                    for part in content.chunks(777) {
                        stream.write_all(part).await.unwrap();
                    }
                    AsyncWriteExt::flush(&mut stream).await.unwrap();
                    let mut again = AsyncStream::new(stream.file().clone());
                    let mut read = Vec::new();
                    AsyncReadExt::read_to_end(&mut again, &mut read).await.unwrap();
                    read
                })
            };
            write_all(&file, &mut by_stream, &plan, &format!("{name} stream"));
        }
    });
}

#[test]
fn a_locked_range_stops_every_method_with_an_explanation() {
    everywhere(|directory| {
        let content = bytes(LENGTH, 7);
        let path = directory.join("file");
        each_in(directory, |method, cache| {
            let name = format!("{} cache={cache}", method.name);
            fs::write(&path, &content).unwrap();
            let plan = Plan::new(1).with(LOCKED);
            let file = File::open_write(&path).unwrap().with_faults(&plan);
            assert_locked(&name, &path, &read(method, cache, &file, LENGTH, ONE).unwrap_err());
            assert_locked(&name, &path, &write(method, cache, &file, &content, ONE).unwrap_err());
            assert_eq!(plan.counts().refused, 2, "{name}: not repeated");
        });
    });
}

#[test]
fn a_locked_range_stops_files_streams_and_futures_with_an_explanation() {
    everywhere(|directory| {
        let path = directory.join("file");
        let content = bytes(LENGTH, 8);
        for cache in [CachePolicy::Keep, CachePolicy::DontCache, CachePolicy::Direct] {
            fs::write(&path, &content).unwrap();
            let plan = Plan::new(1).with(LOCKED);
            let file = File::open_write(&path).unwrap().with_faults(&plan).with_cache(cache).0;
            let name = format!("cache={cache}");
            let locked = |error: Error| assert_locked(&name, &path, &error);
            let mut memory = vec![0; LENGTH];
            locked(file.read_exact_at(&mut memory, 0).unwrap_err());
            locked(file.write_all_at(&content, 0).unwrap_err());
            let (one, other) = memory.split_at_mut(100);
            let parts = &mut [IoSliceMut::new(one), IoSliceMut::new(other)];
            locked(file.read_exact_vectored_at(parts, 0).unwrap_err());
            let parts = &[IoSlice::new(&content[..100]), IoSlice::new(&content[100..])];
            locked(file.write_all_vectored_at(parts, 0).unwrap_err());
            // The other bytes are not bound.
            file.read_exact_at(&mut memory[..4096], 0).unwrap();
            file.write_all_at(&content[..4096], 0).unwrap();
            let mut stream = FileStream::new(file.clone());
            let error = stream.read_to_end(&mut Vec::new()).unwrap_err();
            locked(*error.into_inner().unwrap().downcast().unwrap());
            for driver in drivers(8) {
                let file = AsyncFile::new(file.clone(), &driver);
                locked(block_on(file.read_exact_at(vec![0; LENGTH], 0)).0.unwrap_err());
                locked(block_on(file.write_all_at(content.clone(), 0)).0.unwrap_err());
                assert_eq!(block_on(file.read_exact_at(vec![0; 100], 0)).1, content[..100]);
            }
            let copy = File::create_new(directory.join("copy")).unwrap();
            // At an offset at which no blocks can be shared.
            locked(file.copy_range(0..LENGTH as u64, &copy, 1).unwrap_err());
            fs::remove_file(copy.path()).unwrap();
            assert!(fs::read(&path).unwrap() == content, "{name}");
        }
    });
}

/// A locked file proves nothing about other files of its file system.
#[test]
fn a_locked_file_does_not_refute_a_method() {
    everywhere(|directory| {
        for name in ["locked", "free"] {
            fs::write(directory.join(name), bytes(LENGTH, 9)).unwrap();
        }
        let locked = File::open(directory.join("locked")).unwrap();
        let locked = locked.with_faults(&Plan::new(1).with(Fault::Locked { offset: 0, len: 1 }));
        let free = File::open(directory.join("free")).unwrap();
        each_in(directory, |method, cache| {
            if method.capabilities.mapped {
                return; // locks do not bind mapped bytes
            }
            let reason = engine::probe(method, &locked, None, false, cache).unwrap_err();
            assert!(!reason.is_empty());
            for file in [&locked, &free] {
                assert_eq!(engine::probe_once(method, file, false, cache), Ok(()), "{}", method.name);
            }
        });
    });
}

#[test]
fn a_mapped_file_is_not_truncated_and_the_error_says_so() {
    everywhere(|directory| {
        let path = write_file(directory, "file", bytes(10_000, 10));
        let plan = Plan::new(1).with(Fault::Mapped);
        let file = File::open_write(&path).unwrap().with_faults(&plan);
        file.set_len(9000).unwrap();
        let mmap = file.map(10..8000).unwrap();
        let error = file.set_len(100).unwrap_err();
        let advice =
            if cfg!(windows) { "it is mapped into memory: unmap it" } else { "it is a running program" };
        assert_eq!((error.operation(), error.path()), ("set its length", path.as_path()));
        assert!(error.to_string().contains(advice), "{error}");
        file.set_len(9500).unwrap();
        let mut read = [0; 100];
        mmap.read_exact_at(&mut read, 0).unwrap();
        assert_eq!(read, bytes(10_000, 10)[10..110]);
        drop(mmap);
        file.set_len(100).unwrap();

        // An engine maps until it is dropped.
        let method = engine::method("mmap").unwrap();
        let pool = Pool::new(1, REQUEST).unwrap();
        let mut queue = queue(method, CachePolicy::Keep, &file, true, 1, &pool, None).unwrap();
        queue.view(0, 100).unwrap();
        assert!(file.set_len(50).is_err());
        drop(queue);
        file.set_len(50).unwrap();
        assert_eq!((plan.counts().refused, file.len().unwrap()), (2, 50));
    });
}

/// Asserts that a commit over a held file failed as it must.
fn assert_held(path: &Path, committed: Result<impl std::fmt::Debug>) {
    let error = committed.unwrap_err();
    assert_eq!((error.kind(), error.operation(), error.path()), (ErrorKind::Locked, "replace", path));
    assert!(error.to_string().contains("open without sharing"), "{error}");
    assert_eq!(fs::read(path).unwrap(), b"old", "the old file");
    let left = fs::read_dir(path.parent().unwrap()).unwrap().count();
    assert_eq!(left, 1, "no temporary file is left");
}

#[test]
fn a_commit_over_a_held_file_loses_nothing_and_says_so() {
    everywhere(|directory| {
        let directory = directory.join("held");
        fs::create_dir(&directory).unwrap();
        let path = write_file(directory, "file", b"old");
        let begin = |held: bool| {
            let plan = Plan::new(1);
            let plan = if held { plan.with(Fault::Held) } else { plan };
            let output = Output::replace(&path).unwrap().with_faults(&plan);
            output.file().write_all_at(b"new", 0).unwrap();
            output
        };
        for durability in [Durability::None, Durability::Data, Durability::Full] {
            assert_held(&path, begin(true).commit(durability));
            assert_held(&path, begin(true).commit_len(2, durability));
        }
        begin(false).commit(Durability::None).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
    });
}

/// Wine implements share modes, so the holder is real.
#[cfg(windows)]
#[test]
fn a_file_that_another_handle_does_not_share_is_explained() {
    use std::os::windows::fs::OpenOptionsExt as _;

    use fullbore_io::file::{Mode, OpenOptions};

    let (_directory, path) = fullbore_testkit::ground::temporary_file(b"old");
    let hold = |share| fs::OpenOptions::new().read(true).share_mode(share).open(&path).unwrap();
    let held = |error: Error| {
        assert_eq!((error.kind(), error.path()), (ErrorKind::Locked, path.as_path()), "{error}");
        assert!(error.to_string().contains("open without sharing"), "{error}");
    };
    // FILE_SHARE_READ, as programs open documents: others may read, not replace.
    let output = Output::replace(&path).unwrap();
    output.file().write_all_at(b"new", 0).unwrap();
    let holder = hold(1);
    File::open(&path).unwrap().read_exact_at(&mut [0; 3], 0).unwrap();
    held(File::open_write(&path).unwrap_err());
    assert_held(&path, output.commit(Durability::Data));
    drop(holder);

    let deleted = OpenOptions::new().mode(Mode::Open).delete_on_close(true).open(&path).unwrap();
    let holder = hold(3);
    held(deleted.close().unwrap_err());
    assert_eq!(fs::read(&path).unwrap(), b"old");
    drop(holder);

    let holder = hold(0);
    held(File::open(&path).unwrap_err());
    held(OpenOptions::new().mode(Mode::CreateOrTruncate).open(&path).unwrap_err());
    drop(holder);
    assert_eq!(fs::read(&path).unwrap(), b"old");
}
