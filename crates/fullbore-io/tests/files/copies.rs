//! Copies from every kind of source to every kind of target, by every copy method.

use super::*;

use std::io::Read;

fn file(path: &Path, data: &[u8]) -> File {
    fs::write(path, data).unwrap();
    File::open_write(path).unwrap()
}

#[test]
fn any_range_is_copied_to_any_offset() {
    everywhere(|directory| {
        let data = bytes(3_000_000, 1);
        let source = file(&directory.join("source"), &data);
        let path = directory.join("target");
        for (start, end, offset) in [
            (0, u64::MAX, 0),
            (0, 1 << 20, 1 << 20),
            (4096, 2_000_000, 8192),
            (1000, 2_001_000, 5096),
            (1, 2_999_999, 0),
            (4096, 4096, 17),
            (2_999_999, 3_000_001, 1),
            (3_000_000, u64::MAX, 0),
            (u64::MAX, u64::MAX, 0),
        ] {
            for cache in POLICIES {
                let old = bytes(1_500_000, 2);
                let (target, _) = file(&path, &old).with_cache(cache);
                let report = source.copy_range(start..end, &target, offset).unwrap();
                let part = &data[start.min(3_000_000) as usize..end.min(3_000_000) as usize];
                assert_eq!(report.bytes(), part.len() as u64);
                let mut model = old;
                let stop = offset as usize + part.len();
                if !part.is_empty() {
                    model.resize(model.len().max(stop), 0);
                    model[offset as usize..stop].copy_from_slice(part);
                }
                assert!(fs::read(&path).unwrap() == model, "{path:?} {start}..{end} to {offset}: {report:?}");
            }
        }
    });
}

#[test]
fn copies_work_between_all_file_systems() {
    let directories = directories();
    let data = bytes(1_200_345, 3);
    for from in &directories {
        let source = file(&from.path().join("source"), &data);
        for to in &directories {
            let path = to.path().join("target");
            let target = file(&path, b"");
            let report = source.copy_range(0..u64::MAX, &target, 0).unwrap();
            assert_eq!(report.bytes(), data.len() as u64);
            assert!(fs::read(&path).unwrap() == data, "{from:?} {to:?} {report:?}");
            fs::remove_file(&path).unwrap();
        }
    }
}

#[test]
fn a_range_without_an_end_is_copied_to_the_end() {
    everywhere(|directory| {
        let data = bytes(10_000, 8);
        let source = file(&directory.join("source"), &data);
        let path = directory.join("target");
        let target = file(&path, b"");
        assert_eq!(source.copy_range(.., &target, 0).unwrap().bytes(), 10_000);
        assert!(fs::read(&path).unwrap() == data);
        assert_eq!(source.copy_range(9000.., &target, 0).unwrap().bytes(), 1000);
        assert_eq!(source.copy_range(..=99, &target, 1000).unwrap().bytes(), 100);
        let model = [&data[9000..], &data[..100], &data[1100..]].concat();
        assert!(fs::read(&path).unwrap() == model);
    });
}

#[test]
fn blocks_are_shared_where_possible() {
    everywhere(|directory| {
        let data = bytes(1_000_000, 4);
        let source = file(&directory.join("source"), &data);
        let path = directory.join("target");
        let target = file(&path, b"");
        match source.clone_range(0..1_000_000, &target, 0) {
            Ok(()) => {
                assert!(fs::read(&path).unwrap() == data);
                let again = file(&directory.join("again"), b"");
                let report = source.copy_range(0..u64::MAX, &again, 0).unwrap();
                assert_eq!(report.cloned, 1_000_000);
                // Unaligned edges are copied, the blocks between them shared.
                let edges = file(&directory.join("edges"), &[0; 1_200_000]);
                let report = source.copy_range(100..900_000, &edges, 100).unwrap();
                assert!(report.cloned > 800_000 && report.cloned < report.bytes(), "{report:?}");
                let error = source.clone_range(1..5000, &again, 3).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}"),
        }
        #[expect(clippy::reversed_empty_ranges)]
        let backwards = 9..3;
        assert_eq!(source.clone_range(backwards.clone(), &target, 0).unwrap_err().kind(), ErrorKind::Invalid);
        assert_eq!(source.copy_range(backwards, &target, 0).unwrap_err().kind(), ErrorKind::Invalid);
    });
}

/// rust-lang/rust#75446, xcp#24: files that report length 0 were copied as empty.
// Files of Linux.
#[cfg(target_os = "linux")]
#[test]
fn rust_75446_procfs_files_are_copied_whole() {
    everywhere(|directory| {
        let path = directory.join("target");
        let target = file(&path, b"");
        for source in ["/proc/version", "/proc/cpuinfo", "/sys/kernel/mm/transparent_hugepage/enabled"] {
            let Ok(expected) = fs::read(source) else { continue };
            target.set_len(0).unwrap();
            let report = File::open(source).unwrap().copy_range(0..u64::MAX, &target, 0).unwrap();
            assert_eq!(report.bytes() as usize, fs::read(&path).unwrap().len());
            if source != "/proc/cpuinfo" {
                assert_eq!(fs::read(&path).unwrap(), expected, "{source}");
            }
            assert!(!expected.is_empty() && report.bytes() > 0);
        }
    });
}

/// oven-sh/bun#43398: a fallback started at the beginning of the copy, not where the first method had stopped. An appending
/// target refuses `copy_file_range` at once, and `splice` only when bytes are in the pipe.
#[test]
fn bun_43398_a_fallback_continues_where_the_copy_stopped() {
    everywhere(|directory| {
        let data = bytes(2_500_000, 5);
        let source = file(&directory.join("source"), &data);
        let path = write_file(directory, "target", b"old");
        let appending = fs::OpenOptions::new().append(true).open(&path).unwrap();
        let target = File::from_fd(appending.into(), &path).unwrap();
        let report = source.copy_range(7..u64::MAX, &target, 0).unwrap();
        assert_eq!(report.through_memory, data.len() as u64 - 7);
        let found = fs::read(&path).unwrap();
        assert!(found[..3] == *b"old" && found[3..] == data[7..], "{} bytes", found.len());
    });
}

#[test]
fn overlapping_ranges_of_one_file_are_refused_and_others_copied() {
    everywhere(|directory| {
        let data = bytes(200_000, 6);
        let path = directory.join("file");
        let one = file(&path, &data);
        let other = File::open_write(&path).unwrap();
        for (range, offset) in [(0..100_000, 99_999), (50_000..150_000, 0), (0..1, 0), (0..u64::MAX, 100_000)]
        {
            let error = one.copy_range(range, &other, offset).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::SameFile);
        }
        assert!(fs::read(&path).unwrap() == data);
        // Bytes that the copy appends are not copied again.
        assert_eq!(one.copy_range(100_000..u64::MAX, &other, 200_000).unwrap().bytes(), 100_000);
        assert_eq!(one.copy_range(0..8192, &other, 8192).unwrap().bytes(), 8192);
        let mut model = data.clone();
        model.extend_from_slice(&data[100_000..]);
        model.copy_within(0..8192, 8192);
        assert!(fs::read(&path).unwrap() == model);
    });
}

#[test]
fn pipes_and_devices_are_copied_sequentially() {
    everywhere(|directory| {
        let data = bytes(1_000_000, 7);
        let source = file(&directory.join("source"), &data);
        let path = directory.join("target");
        let target = file(&path, b"");
        // From a pipe: all of it, and a part of it.
        for len in [u64::MAX, 300_000] {
            target.set_len(0).unwrap();
            let (reader, mut writer) = std::io::pipe().unwrap();
            let reader = File::from_fd(reader.into(), "the pipe").unwrap();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    // Fails once the reader is closed.
                    let _ = writer.write_all(&data);
                    drop(writer);
                });
                let report = reader.copy_range(0..len, &target, 5).unwrap();
                assert_eq!(report.bytes(), len.min(data.len() as u64));
                drop(reader);
            });
            let found = fs::read(&path).unwrap();
            assert!(found[5..] == data[..len.min(1_000_000) as usize], "{len}");
        }
        // To a pipe.
        let (mut reader, writer) = std::io::pipe().unwrap();
        let writer = File::from_fd(writer.into(), "the pipe").unwrap();
        assert_eq!(source.copy_range(0..1, &writer, 1).unwrap_err().kind(), ErrorKind::Invalid);
        std::thread::scope(|scope| {
            let reading = scope.spawn(move || {
                let mut read = Vec::new();
                reader.read_to_end(&mut read).unwrap();
                read
            });
            source.copy_range(11..u64::MAX, &writer, 0).unwrap();
            drop(writer);
            assert!(reading.join().unwrap() == data[11..]);
        });
        // Devices.
        if cfg!(unix) {
            let zero = File::open("/dev/zero").unwrap();
            assert_eq!(zero.copy_range(0..700_000, &target, 0).unwrap().bytes(), 700_000);
            assert!(fs::read(&path).unwrap()[..700_000].iter().all(|&byte| byte == 0));
        }
        let null = File::open_write(NULL).unwrap();
        assert_eq!(source.copy_range(0..u64::MAX, &null, 0).unwrap().bytes(), 1_000_000);
    });
}

/// A pipe holds the file's bytes at the time of the copy, not those written to the file before the pipe is read.
#[test]
fn a_pipe_holds_copies_not_the_files_pages() {
    everywhere(|directory| {
        let source = file(&directory.join("source"), &[b'a'; 20_000]);
        // That of std has room for a page on Windows.
        let (reader, writer) = fullbore_io::sys::pipe().unwrap();
        let mut reader = std::io::PipeReader::from(reader);
        let writer = File::from_fd(writer, "the pipe").unwrap();
        source.copy_range(0..u64::MAX, &writer, 0).unwrap();
        drop(writer);
        source.write_all_at(&[b'b'; 20_000], 0).unwrap();
        let mut read = Vec::new();
        reader.read_to_end(&mut read).unwrap();
        assert!(read == [b'a'; 20_000]);
    });
}

#[test]
fn errors_name_the_file_with_the_wrong_access() {
    everywhere(|directory| {
        let (from, to) = (directory.join("source"), directory.join("target"));
        let source = file(&from, &bytes(5000, 9));
        fs::write(&to, b"").unwrap();
        let error = source.copy_range(0..u64::MAX, &File::open(&to).unwrap(), 0).unwrap_err();
        assert_eq!(error.path(), to, "{error}");
        let written_only = fs::OpenOptions::new().write(true).open(&from).unwrap();
        let written_only = File::from_fd(written_only.into(), &from).unwrap();
        let error = written_only.copy_range(0..u64::MAX, &File::open_write(&to).unwrap(), 0).unwrap_err();
        assert_eq!(error.path(), from, "{error}");
    });
}
