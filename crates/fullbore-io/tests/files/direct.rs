//! Direct transfers at offsets and lengths that no device supports, compared with a vector, and their effect on the page
//! cache.

use super::*;

#[cfg(unix)]
use crate::drops::cached;

/// The device as it is, and one of large sectors, a rule that only a plan enforces.
fn devices() -> [Plan; 2] {
    [Plan::new(1), Plan::new(1).with(Fault::Sectors { size: 4096 })]
}

/// Returns a direct handle, or a plain one after printing the reason.
fn direct(path: &Path) -> File {
    direct_on(path, &devices()[0])
}

fn direct_on(path: &Path, device: &Plan) -> File {
    let (file, support) = File::open_write(path).unwrap().with_faults(device).with_cache(CachePolicy::Direct);
    let refused = match support {
        Support::Native => Ok(()),
        Support::Unsupported(reason) => Err(reason),
        other => panic!("{other}"),
    };
    let policy = match supported_or_skip(path, true, "direct", refused) {
        Some(()) => CachePolicy::Direct,
        None => CachePolicy::Keep,
    };
    assert_eq!(file.cache_policy(), (policy, Support::Native));
    file
}

/// Asserts that the direct transfers of a file were whole sectors.
fn assert_whole(file: &File, device: &Plan) {
    let counts = device.counts();
    assert_eq!(counts.refused, 0, "{counts:?}");
    if file.cache_policy().0 == CachePolicy::Direct {
        assert!(counts.direct > 0, "{counts:?}");
        assert_eq!(file.cache_policy().1, Support::Native);
    }
}

/// Reads until the memory is full or the file ends; returns the number of bytes.
fn read_to_end(file: &File, into: &mut [u8], offset: u64) -> usize {
    let mut read = 0;
    while let count @ 1.. = file.read_at(&mut into[read..], offset + read as u64).unwrap() {
        read += count;
    }
    read
}

/// Offsets around the boundaries of blocks and of the bounce buffers.
const PLACES: [usize; 17] = [
    0, 1, 511, 512, 513, 1023, 4095, 4096, 4097, 8191, 8192, 12_345, 262_143, 262_144, 262_145, 266_240,
    300_001,
];

#[test]
fn reads_at_any_offset_and_length_into_any_memory() {
    everywhere(|directory| {
        let (path, data) = filled(directory, 600_003, 1);
        let mut memory = vec![0; 700_000];
        for device in devices() {
            let file = direct_on(&path, &device);
            for (offset, len) in PLACES.into_iter().flat_map(|offset| PLACES.map(|len| (offset, len))) {
                for shift in [0, 1, 512] {
                    let place = memory.as_ptr().align_offset(4096) + shift;
                    let into = &mut memory[place..place + len];
                    into.fill(0);
                    file.read_exact_at(into, offset as u64).unwrap();
                    assert!(*into == data[offset..offset + len], "{offset} {len} {shift}");
                }
                let (one, other) = memory[..len].split_at_mut(len / 3);
                let parts = &mut [IoSliceMut::new(one), IoSliceMut::new(other)];
                file.read_exact_vectored_at(parts, offset as u64).unwrap();
                assert!(memory[..len] == data[offset..offset + len], "{offset} {len}");
            }
            assert_whole(&file, &device);
        }
        let file = direct(&path);
        // Across the end, at it and beyond it.
        for (offset, left) in [(599_000, 1003), (600_002, 1), (600_003, 0), (1_000_000, 0), (1 << 40, 0)] {
            let read = read_to_end(&file, &mut memory[..2000], offset);
            assert_eq!(read, left, "{offset}");
            assert!(left == 0 || memory[..left] == data[offset as usize..]);
        }
        assert!(file.read_at(&mut memory, u64::MAX).is_err());
        assert_eq!(file.read_at(&mut [], 5).unwrap(), 0);
    });
}

#[test]
fn writes_at_any_offset_and_length_keep_the_other_bytes_and_the_length() {
    everywhere(|directory| {
        let path = directory.join("file");
        let source = bytes(700_000, 2);
        // Into files that end before, within and after the range, and at a block.
        let sizes = [0, 1, 4096, 5000, 262_144, 400_000];
        for (size, device) in sizes.into_iter().flat_map(|size| devices().map(|device| (size, device))) {
            let mut model = bytes(size, 3);
            fs::write(&path, &model).unwrap();
            let file = direct_on(&path, &device);
            for (index, offset) in PLACES.into_iter().rev().enumerate() {
                for (turn, len) in PLACES.into_iter().enumerate().filter(|(turn, _)| (turn + index) % 4 == 0)
                {
                    let shift = (turn % 3) * 7;
                    let data = &source[source.as_ptr().align_offset(4096) + shift + turn * 4096..][..len];
                    file.write_all_at(data, offset as u64).unwrap();
                    let (one, other) = data.split_at(len / 2);
                    let parts = &[IoSlice::new(one), IoSlice::new(other)];
                    file.write_all_vectored_at(parts, offset as u64).unwrap();
                    if len > 0 {
                        model.resize(model.len().max(offset + len), 0);
                        model[offset..offset + len].copy_from_slice(data);
                    }
                }
                assert_eq!(fs::metadata(&path).unwrap().len(), model.len() as u64, "{size} {offset}");
            }
            let mut read = vec![0; model.len()];
            file.read_exact_at(&mut read, 0).unwrap();
            assert!(read == model, "{size}");
            assert!(fs::read(&path).unwrap() == model, "{size}");
            assert_whole(&file, &device);
        }
    });
}

#[test]
fn threads_that_share_blocks_lose_no_bytes() {
    everywhere(|directory| {
        let path = directory.join("file");
        for size in [0, 400_000] {
            fs::write(&path, vec![0; size]).unwrap();
            let (one, other) = (direct(&path), direct(&path));
            let expected = bytes(400_000, 4);
            std::thread::scope(|scope| {
                // Runs of 1000 bytes, distributed to all workers, so that they share each block.
                for worker in 0..4 {
                    let file = if worker % 2 == 0 { &one } else { &other };
                    let expected = &expected;
                    scope.spawn(move || {
                        for (index, run) in expected.chunks(1000).enumerate().skip(worker).step_by(4) {
                            file.write_all_at(run, index as u64 * 1000).unwrap();
                        }
                    });
                }
            });
            assert!(fs::read(&path).unwrap() == expected, "{size}");
        }
    });
}

/// Changes of a part read the block first: a write of the whole block meanwhile is not lost.
#[test]
fn whole_blocks_are_not_overwritten_by_what_was_read_before() {
    everywhere(|directory| {
        let path = write_file(directory, "file", vec![0; 1 << 16]);
        let file = direct(&path);
        let mut pool = fullbore_io::buf::Pool::new(1, 1 << 16).unwrap();
        let mut block = pool.take().unwrap();
        for round in 1..=100 {
            block.place(0, 1 << 16);
            block.data_mut().fill(round);
            std::thread::scope(|scope| {
                scope.spawn(|| file.write_all_at(&[round; 10], 0).unwrap());
                file.write_all_at(block.data(), 0).unwrap();
            });
            assert!(fs::read(&path).unwrap() == vec![round; 1 << 16], "{round}");
        }
    });
}

// Windows does not show the pages in its cache.
#[cfg(unix)]
#[test]
fn a_direct_handle_leaves_nothing_in_the_cache() {
    everywhere(|directory| {
        let path = write_file(directory, "file", bytes(8 << 20, 5));
        let plain = File::open_write(&path).unwrap();
        plain.sync_data().unwrap();
        plain.drop_cache().unwrap();
        let (file, support) = plain.with_cache(CachePolicy::Direct);
        if support != Support::Native || cached(&plain, 8 << 20) != Some(0) {
            println!("skipped: {}: {support}", path.display());
            return;
        }
        // btrfs reads through the page cache where it cannot fault in the buffer, which is rare.
        let clean = (0..3).any(|_| {
            let mut data = vec![0; 1_000_003];
            for offset in [0, 3, 5_000_001] {
                file.read_exact_at(&mut data, offset).unwrap();
            }
            let clean = cached(&plain, 8 << 20) == Some(0);
            plain.drop_cache().unwrap();
            clean
        });
        assert!(clean, "{}", path.display());
    });
}

#[test]
fn unsupported_direct_handles_report_it_and_work() {
    everywhere(|directory| {
        let path = write_file(directory, "file", b"old");
        let appending = fs::OpenOptions::new().append(true).open(&path).unwrap();
        let (file, support) = File::from_fd(appending.into(), &path).unwrap().with_cache(CachePolicy::Direct);
        assert!(matches!(support, Support::Unsupported(_)), "{support}");
        file.write_all_at(b"new", 0).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"oldnew");
        // A handle keeps its access under every policy.
        let (reading, _) = File::open(&path).unwrap().with_cache(CachePolicy::Direct);
        assert!(reading.write_all_at(b"no", 0).is_err());
        let writing = fs::OpenOptions::new().write(true).open(&path).unwrap();
        let (writing, _) = File::from_fd(writing.into(), &path).unwrap().with_cache(CachePolicy::Direct);
        writing.write_all_at(b"n", 1).unwrap();
        assert!(writing.read_at(&mut [0; 3], 0).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"ondnew");
    });
    let (null, support) = File::open(NULL).unwrap().with_cache(CachePolicy::DontCache);
    assert!(matches!(support, Support::Unsupported(reason) if reason.contains("character device")));
    assert_eq!(null.read_at(&mut [0; 3], 0).unwrap(), 0);
}

/// Found by `fsx`: XFS reserves blocks beyond the end of a growing file, and a direct read that reaches into blocks that are
/// only reserved, and would be short, fails with `EIO`.
#[test]
fn a_read_across_the_end_into_reserved_blocks_succeeds() {
    everywhere(|directory| {
        let data = bytes(94_720, 5);
        let path = write_file(directory, "file", &data[..94_208]);
        let file = direct(&path);
        file.sync_all().unwrap();
        file.write_all_at(&data[94_208..], 94_208).unwrap();
        made(file.reserve(94_208..98_304));
        for (offset, len) in [(94_208, 16_384), (90_112, 65_536), (94_300, 20_000), (0, 300_000)] {
            let mut memory = vec![0; len + 4096];
            let place = memory.as_ptr().align_offset(4096);
            let into = &mut memory[place..place + len];
            let read = read_to_end(&file, into, offset as u64);
            assert!(into[..read] == data[offset..], "{offset} {len}: {read}");
        }
    });
}

/// The parts that go through the cache need a handle that uses it.
#[cfg(unix)]
#[test]
fn an_adopted_direct_descriptor_takes_any_range() {
    use fullbore_io::sys::{self, OpenFlags};
    everywhere(|directory| {
        let (path, mut content) = filled(directory, 10_000, 9);
        let opened = sys::open(path.as_path(), OpenFlags::READ_WRITE | OpenFlags::DIRECT, 0);
        let Some(opened) = fullbore_testkit::or_skip("direct descriptors", opened) else { return };
        let (file, support) = File::from_fd(opened, &path).unwrap().with_cache(CachePolicy::Direct);
        if let Support::Unsupported(reason) = support {
            return println!("skipped: {}: {reason}", path.display());
        }
        for (offset, len) in [(9_000, 1_500), (100, 7), (4_000, 5_000), (10_499, 3)] {
            let data = bytes(len, offset);
            content.resize(content.len().max(offset as usize + len), 0);
            content[offset as usize..][..len].copy_from_slice(&data);
            file.write_all_at(&data, offset).unwrap();
        }
        let mut read = vec![0; content.len() - 11];
        file.read_exact_at(&mut read, 11).unwrap();
        assert!(read == content[11..] && fs::read(&path).unwrap() == content);
        assert_eq!(file.cache_policy(), (CachePolicy::Direct, Support::Native));
    });
}
