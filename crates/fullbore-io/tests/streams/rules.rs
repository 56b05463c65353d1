//! .NET's rules for `FileStream`, by its names. Numbers of calls are exact only in builds that do not shorten transfers.

use super::*;

use std::ops::RangeBounds;
use std::path::Path;

use fullbore_io::error::ErrorKind;
use fullbore_io::file::Mode;
use fullbore_testkit::ground::everywhere;

/// Returns the acceptable numbers of calls: builds with debug assertions shorten some transfers.
fn about(calls: u64) -> std::ops::RangeInclusive<u64> {
    if cfg!(debug_assertions) { calls..=calls * 64 + 64 } else { calls..=calls }
}

fn file_of(directory: &Path, data: &[u8]) -> File {
    let file = File::create_new(directory.join("file")).unwrap();
    file.write_all_at(data, 0).unwrap();
    file
}

#[test]
fn buffering_is_on_above_size_one() {
    everywhere(|directory| {
        let file = file_of(directory, &bytes(4096, 1));
        for (size, reads) in [(0, 4096), (1, 4096), (2, 2048), (4096, 1)] {
            let mut stream = FileStream::with_buffer(file.clone(), size);
            let (all, counted, _) = counted(|| {
                let mut all = Vec::with_capacity(4096);
                let mut one = [0];
                for _ in 0..4096 {
                    stream.read_exact(&mut one).unwrap();
                    all.push(one[0]);
                }
                all
            });
            assert_eq!(all, bytes(4096, 1), "{size}");
            assert!(counted.are(about(reads)), "size {size}: {counted:?} reads");
        }
    });
}

#[test]
fn a_request_of_at_least_the_buffers_size_bypasses_an_empty_buffer() {
    everywhere(|directory| {
        let file = file_of(directory, &bytes(100_000, 2));
        let mut stream = FileStream::with_buffer(file, 4096);
        let mut large = vec![0; 50_000];
        let (count, reads, _) = counted(|| stream.read(&mut large).unwrap());
        assert!(reads.are(1..=1), "{reads:?}");
        assert!(count > 4096 || cfg!(debug_assertions));
        assert_eq!(large[..count], bytes(100_000, 2)[..count]);

        let ((), _, writes) = counted(|| stream.write_all(&large).unwrap());
        assert!(writes.are(about(1)), "{writes:?}");
        // The bytes are in the file at once: nothing is buffered.
        let len = stream.file().stamp().unwrap().len;
        assert_eq!(len.max(100_000), stream.len().unwrap());
        let mut found = vec![0; 50_000];
        stream.file().read_exact_at(&mut found, count as u64).unwrap();
        assert_eq!(found, large);
    });
}

#[test]
fn a_partial_hit_costs_one_extra_read_at_most() {
    everywhere(|directory| {
        let file = file_of(directory, &bytes(20_000, 3));
        let mut stream = FileStream::with_buffer(file, 4096);
        stream.read_exact(&mut [0; 4000]).unwrap();
        let mut data = [0; 1000];
        let (count, reads, _) = counted(|| stream.read(&mut data).unwrap());
        assert!(reads.are(..=1), "{reads:?}");
        assert_eq!(data[..count], bytes(20_000, 3)[4000..4000 + count]);
        assert!(count == 1000 || cfg!(debug_assertions), "{count}");
    });
}

#[test]
fn length_counts_pending_writes() {
    everywhere(|directory| {
        let mut stream = FileStream::new(file_of(directory, b"12345"));
        stream.seek(SeekFrom::Start(3)).unwrap();
        let ((), _, writes) = counted(|| stream.write_all(b"abcd").unwrap());
        assert!(writes.are(..1), "{writes:?}");
        assert_eq!((stream.len().unwrap(), stream.file().stamp().unwrap().len), (7, 5));
        stream.flush().unwrap();
        assert_eq!(stream.file().stamp().unwrap().len, 7);
        assert_eq!(std::fs::read(stream.file().path()).unwrap(), b"123abcd");
    });
}

#[test]
fn position_is_in_memory_and_seeking_makes_no_call() {
    everywhere(|directory| {
        let file = file_of(directory, &bytes(10_000, 4));
        let mut stream = FileStream::with_buffer(file.clone(), 0);
        let ((), reads, writes) = counted(|| {
            for at in (0..10_000u64).rev() {
                assert_eq!(stream.seek(SeekFrom::Start(at)).unwrap(), at);
                assert_eq!(stream.seek(SeekFrom::Current(1)).unwrap(), at + 1);
            }
        });
        assert!(reads.are(..1) && writes.are(..1), "{reads:?}, {writes:?}");
        // The kernel's position never moved: another handle of the same open file starts at 0.
        let mut other = Vec::new();
        stream.read_exact(&mut [0; 100]).unwrap();
        FileStream::new(file).read_to_end(&mut other).unwrap();
        assert_eq!(other, bytes(10_000, 4));
    });
}

#[test]
fn seeking_within_the_buffer_keeps_it() {
    everywhere(|directory| {
        let mut stream = FileStream::with_buffer(file_of(directory, &bytes(4096, 5)), 4096);
        assert_eq!(stream.fill_buf().unwrap()[0], bytes(1, 5)[0]);
        let held = stream.fill_buf().unwrap().len();
        let ((), reads, _) = counted(|| {
            for at in [held - 1, 0, held / 2] {
                stream.seek(SeekFrom::Start(at as u64)).unwrap();
                let mut one = [0];
                stream.read_exact(&mut one).unwrap();
                assert_eq!(one[0], bytes(4096, 5)[at]);
            }
        });
        assert!(reads.are(..1), "{reads:?}");
    });
}

#[test]
fn seeks_out_of_range_fail_and_keep_the_position() {
    everywhere(|directory| {
        let mut stream = FileStream::new(file_of(directory, b"12345"));
        stream.seek(SeekFrom::Start(2)).unwrap();
        for to in [
            SeekFrom::Current(-3),
            SeekFrom::End(-6),
            SeekFrom::Start(u64::MAX),
            SeekFrom::Current(i64::MAX),
            SeekFrom::End(i64::MAX),
        ] {
            assert_eq!(stream.seek(to).unwrap_err().kind(), std::io::ErrorKind::InvalidInput, "{to:?}");
            assert_eq!(stream.stream_position().unwrap(), 2);
        }
        assert_eq!(stream.seek(SeekFrom::End(-1)).unwrap(), 4);
        assert_eq!(stream.seek(SeekFrom::End(10)).unwrap(), 15);
        assert_eq!(stream.read(&mut [0; 4]).unwrap(), 0);
    });
}

#[test]
fn append_writes_at_the_end_at_any_position() {
    everywhere(|directory| {
        let path = write_file(directory, "log", "old\n");
        let open = || OpenOptions::new().mode(Mode::Append).open(&path).unwrap();
        for size in [0, 16, 4096] {
            let before = std::fs::read(&path).unwrap();
            let (mut one, mut two) =
                (FileStream::with_buffer(open(), size), FileStream::with_buffer(open(), size));
            one.write_all(b"one\n").unwrap();
            two.write_all(b"two\n").unwrap();
            one.flush().unwrap();
            two.flush().unwrap();
            one.seek(SeekFrom::Start(0)).unwrap();
            one.write_all(b"end\n").unwrap();
            assert_eq!(one.stream_position().unwrap(), before.len() as u64 + 12, "{size}");
            one.close().unwrap();
            drop(two);
            let found = std::fs::read(&path).unwrap();
            assert_eq!(found, [before.as_slice(), b"one\ntwo\nend\n"].concat(), "{size}");
        }
    });
}

#[test]
fn a_write_without_permission_names_the_path() {
    everywhere(|directory| {
        let path = write_file(directory, "file", "bytes");
        let mut stream = FileStream::with_buffer(File::open(&path).unwrap(), 0);
        let error = stream.write_all(b"x").unwrap_err();
        assert!(error.to_string().contains("file: cannot write"), "{error}");
        let inner = error.into_inner().unwrap().downcast::<fullbore_io::Error>().unwrap();
        let kind = if cfg!(windows) { ErrorKind::PermissionDenied } else { ErrorKind::Io };
        assert_eq!(inner.kind(), kind);
    });
}

/// A number of calls; known on Linux: Windows counts those of the whole process, and macOS has no counters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Calls(Option<u64>);

impl Calls {
    /// True if the number is in the range, or unknown.
    pub(crate) fn are(self, range: impl RangeBounds<u64>) -> bool {
        self.0.is_none_or(|calls| range.contains(&calls))
    }
}

/// Returns the result of `work` and its numbers of read and write calls.
#[cfg(not(target_os = "linux"))]
pub(crate) fn counted<T>(work: impl FnOnce() -> T) -> (T, Calls, Calls) {
    (work(), Calls(None), Calls(None))
}

/// Returns the result of `work` and its numbers of read and write calls (`/proc/thread-self/io`).
#[cfg(target_os = "linux")]
pub(crate) fn counted<T>(work: impl FnOnce() -> T) -> (T, Calls, Calls) {
    let (reads, writes) = calls();
    let result = work();
    let (reads_after, writes_after) = calls();
    // Reading the counters adds read calls of its own.
    let own = {
        let (first, _) = calls();
        let (second, _) = calls();
        second - first
    };
    (result, Calls(Some(reads_after - reads - own)), Calls(Some(writes_after - writes)))
}

#[cfg(target_os = "linux")]
fn calls() -> (u64, u64) {
    let text = std::fs::read_to_string("/proc/thread-self/io").unwrap();
    let field = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok()).unwrap()
    };
    (field("syscr:"), field("syscw:"))
}

#[cfg(target_os = "linux")]
#[test]
fn calls_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let file = std::fs::File::create_new(&path).unwrap();
    let ((), reads, writes) = counted(|| {
        for offset in 0..7 {
            std::os::unix::fs::FileExt::write_all_at(&file, b"x", offset).unwrap();
        }
    });
    assert_eq!((reads.0, writes.0), (Some(0), Some(7)));
}

#[test]
fn the_file_is_returned_with_its_bytes_written() {
    let directory = tempfile::tempdir().unwrap();
    let mut stream = FileStream::from(file_of(directory.path(), b""));
    stream.write_all(b"pending").unwrap();
    let file = stream.into_file().unwrap();
    assert_eq!((file.len().unwrap(), std::fs::read(file.path()).unwrap()), (7, b"pending".to_vec()));
}
