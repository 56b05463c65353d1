//! Mappings, and their behaviour when the file is truncated.

use super::*;

#[test]
fn a_mapping_shows_its_range_at_any_start() {
    everywhere(|directory| {
        let (path, data) = filled(directory, 100_000, 1);
        let file = File::open(&path).unwrap();
        for (start, end) in [(0, 100_000), (1, 4096), (4095, 4097), (99_999, 100_000), (8192, 8192)] {
            let mmap = file.map(start as u64..end as u64).unwrap();
            assert_eq!(mmap.len(), end - start);
            assert_eq!(mmap.is_empty(), start == end);
            assert!(mmap.in_place(|bytes| *bytes == data[start..end]).unwrap());
            let mut copy = vec![0; (end - start) / 2];
            mmap.read_exact_at(&mut copy, (end - start) / 3).unwrap();
            assert!(copy == data[start + (end - start) / 3..][..copy.len()]);
            let error = mmap.read_exact_at(&mut [0; 2], end - start - (end - start).min(1)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(mmap.read_exact_at(&mut [0; 2], usize::MAX).is_err());
        }
        assert_eq!(file.map(5..100_001).unwrap_err().kind(), ErrorKind::Invalid);
        assert!(file.map(..).unwrap().in_place(|bytes| *bytes == data[..]).unwrap());
        assert!(file.map(99_000..).unwrap().in_place(|bytes| *bytes == data[99_000..]).unwrap());
        assert_eq!(file.map(100_001..).unwrap_err().kind(), ErrorKind::Invalid);
        #[expect(clippy::reversed_empty_ranges)]
        let backwards = 9..3;
        assert_eq!(file.map(backwards).unwrap_err().kind(), ErrorKind::Invalid);
        assert!(file.map_writable(0..1).is_err(), "open for reading only");
    });
    assert_eq!(File::open(NULL).unwrap().map(0..0).unwrap_err().kind(), ErrorKind::Unsupported);
}

/// BurntSushi/ripgrep#579, BLAKE3#488: truncation of a mapped file killed the reader.
// Windows refuses the truncation, as the test below shows.
#[cfg(unix)]
#[test]
fn ripgrep_579_truncation_under_a_mapping_is_an_error_not_a_signal() {
    everywhere(|directory| {
        let path = directory.join("file");
        let data = bytes(100_000, 2);
        // To 0, to a page boundary, and into the mapping's last page, which stays mapped.
        for len in [0, 4096, 50_000, 99_000] {
            fs::write(&path, &data).unwrap();
            let file = File::open_write(&path).unwrap();
            let mmap = file.map(0..100_000).unwrap();
            let mut writable = file.map_writable(10..100_000).unwrap();
            let kept = file.map(0..1000).unwrap();
            file.set_len(len).unwrap();
            let mut copy = vec![0; 100_000];
            assert_eq!(mmap.read_exact_at(&mut copy, 0).unwrap_err().kind(), ErrorKind::Changed, "{len}");
            let counted = mmap.in_place(|bytes| bytes.iter().map(|&byte| u64::from(byte)).sum::<u64>());
            assert_eq!(counted.unwrap_err().kind(), ErrorKind::Changed);
            let error = writable.write_all_at(&data[10..], 0).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Changed);
            assert!(error.to_string().contains("truncated"), "{error}");
            assert!(writable.flush().is_err());
            // The remaining bytes of the file can be mapped again.
            assert_eq!(kept.read_exact_at(&mut copy[..1000], 0).is_ok(), len > 0);
            assert_eq!(fs::read(&path).unwrap().len() as u64, len);
            assert!(file.map(0..len).unwrap().in_place(|bytes| *bytes == data[..len as usize]).unwrap());
        }
    });
}

/// The pages in place of the missing ones do not count towards the limit of committed memory.
#[cfg(target_os = "linux")]
#[test]
fn a_truncated_mapping_larger_than_memory_is_an_error_not_a_signal() {
    let directory = tempfile::tempdir().unwrap();
    let file = File::create_new(directory.path().join("file")).unwrap();
    let len = 1 << 40;
    file.set_len(len).unwrap();
    let mmap = file.map(0..len).unwrap();
    let mut writable = file.map_writable(0..len).unwrap();
    file.set_len(0).unwrap();
    assert_eq!(mmap.read_exact_at(&mut [0], 4096).unwrap_err().kind(), ErrorKind::Changed);
    // In this mode the system counts all writable pages.
    if fs::read_to_string("/proc/sys/vm/overcommit_memory").is_ok_and(|mode| mode.trim() == "2") {
        return eprintln!("skipped: the system never overcommits memory");
    }
    assert_eq!(writable.write_all_at(&[1], 4096).unwrap_err().kind(), ErrorKind::Changed);
}

/// The system protects the mapping, and the error states it. Extension is possible.
#[cfg(windows)]
#[test]
fn a_mapped_file_is_not_truncated() {
    everywhere(|directory| {
        let (path, data) = filled(directory, 100_000, 2);
        let file = File::open_write(&path).unwrap();
        let mmap = file.map(0..100_000).unwrap();
        let error = file.set_len(4096).unwrap_err();
        assert_eq!((error.kind(), error.raw_os_error()), (ErrorKind::Io, Some(1224)));
        assert!(error.to_string().contains("it is mapped into memory"), "{error}");
        file.set_len(200_000).unwrap();
        assert!(mmap.in_place(|bytes| *bytes == data).unwrap());
        drop(mmap);
        file.set_len(4096).unwrap();
        assert_eq!(fs::read(&path).unwrap(), data[..4096]);
    });
}

#[test]
fn writes_to_a_mapping_reach_the_file() {
    everywhere(|directory| {
        let path = directory.join("file");
        let file = File::create_new(&path).unwrap();
        file.set_len(50_000).unwrap();
        let mut model = vec![0; 50_000];
        let mut mmap = file.map_writable(5000..50_000).unwrap();
        for (index, at) in [0, 1, 4095, 30_000, 44_000].into_iter().enumerate() {
            let data = bytes(1000, index as u64);
            mmap.write_all_at(&data, at).unwrap();
            model[5000 + at..][..1000].copy_from_slice(&data);
        }
        // SAFETY: nothing else uses the mapped bytes.
        unsafe { mmap.with(|bytes| bytes[44_999] = 7) }.unwrap();
        model[49_999] = 7;
        assert_eq!(mmap.write_all_at(&[0; 2], 44_999).unwrap_err().kind(), ErrorKind::Invalid);
        mmap.flush().unwrap();
        assert!(fs::read(&path).unwrap() == model);
        let mut read = vec![0; 45_000];
        mmap.read_exact_at(&mut read, 0).unwrap();
        assert!(read == model[5000..]);
    });
}

/// Found by `fsx`: a write through a mapping of a truncated file failed, but left its bytes in the file's last page, where
/// they became visible on tmpfs when the file was extended.
// Windows refuses to truncate a mapped file.
#[cfg(unix)]
#[test]
fn a_failed_write_to_a_truncated_file_does_not_show_after_extension() {
    everywhere(|directory| {
        let file = File::create_new(directory.join("file")).unwrap();
        file.set_len(5000).unwrap();
        let mut mmap = file.map_writable(0..5000).unwrap();
        file.set_len(100).unwrap();
        assert_eq!(mmap.write_all_at(&[7; 200], 50).unwrap_err().kind(), ErrorKind::Changed);
        assert_eq!(
            // SAFETY: nothing else uses the mapped bytes.
            unsafe { mmap.with(|bytes| bytes[..300].fill(8)) }.unwrap_err().kind(),
            ErrorKind::Changed
        );
        file.set_len(5000).unwrap();
        let mut read = [9; 5000];
        file.read_exact_at(&mut read, 0).unwrap();
        assert!(read == [0; 5000]);
    });
}

/// Several threads may read a mapping, and take faults in it, at the same time.
#[test]
fn threads_share_a_mapping() {
    everywhere(|directory| {
        let (path, data) = filled(directory, 1 << 20, 3);
        let file = File::open_write(&path).unwrap();
        let mmap = file.map(0..1 << 20).unwrap();
        let read = |expect_error: bool| {
            std::thread::scope(|scope| {
                for index in 0..4 {
                    let (mmap, data) = (&mmap, &data);
                    scope.spawn(move || {
                        let mut copy = vec![0; 1 << 18];
                        let result = mmap.read_exact_at(&mut copy, index << 18);
                        assert_eq!(result.is_err(), expect_error);
                        assert!(expect_error || copy == data[index << 18..][..1 << 18]);
                    });
                }
            });
        };
        read(false);
        // Windows refuses to truncate a mapped file.
        if cfg!(unix) {
            file.set_len(0).unwrap();
            read(true);
        }
    });
}

/// A signal that another process sends is no access to a mapping: it ends the process as it would without one.
#[cfg(unix)]
#[test]
fn a_sent_bus_error_ends_the_process() {
    use std::os::unix::process::ExitStatusExt;
    const CHILD: &str = "FULLBORE_TEST_BUS_ERROR";
    if std::env::var_os(CHILD).is_some() {
        let file = File::open("Cargo.toml").unwrap();
        let mmap = file.map(0..10).unwrap();
        mmap.read_exact_at(&mut [0; 10], 0).unwrap();
        let kill = format!("kill -BUS {}", std::process::id());
        let _ = std::process::Command::new("sh").args(["-c", &kill]).status();
        std::thread::sleep(Duration::from_secs(20));
        std::process::exit(1);
    }
    let output = alone("mmaps::a_sent_bus_error_ends_the_process").env(CHILD, "1").output().unwrap();
    assert_eq!(output.status.signal(), Some(if cfg!(target_os = "linux") { 7 } else { 10 }), "{output:?}");
}
