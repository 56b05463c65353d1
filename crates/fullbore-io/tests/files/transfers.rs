//! Scattered and gathered transfers beyond the limits of one call and of 32-bit offsets.

use std::fs;
use std::io::{IoSlice, IoSliceMut};

use fullbore_io::error::ErrorKind;
use fullbore_io::file::{CachePolicy, File};

use crate::{NOT_OPENED_FOR, POLICIES};
use fullbore_testkit::ground::{bytes, everywhere, read_at};

/// Returns lengths without short periods, some of them 0.
fn lengths(count: usize) -> Vec<usize> {
    bytes(count, 5).into_iter().map(|byte| usize::from(byte) % 13).collect()
}

#[test]
fn dotnet_108380_gathered_writes_may_exceed_the_buffers_of_one_call() {
    everywhere(|directory| {
        for (index, cache) in POLICIES.into_iter().enumerate() {
            let path = directory.join(format!("gather-{index}"));
            let (file, _) = File::create_new(&path).unwrap().with_cache(cache);
            let lens = lengths(if cache == CachePolicy::Direct { 1100 } else { 5000 });
            let data = bytes(lens.iter().sum(), 1);
            let mut rest = &data[..];
            let parts: Vec<IoSlice<'_>> = lens
                .iter()
                .map(|&len| {
                    let (part, after) = rest.split_at(len);
                    rest = after;
                    IoSlice::new(part)
                })
                .collect();
            file.write_all_vectored_at(&parts, 3).unwrap();
            assert!(fs::read(&path).unwrap()[3..] == data, "{cache:?}");
        }
    });
}

#[test]
fn scattered_reads_may_exceed_the_buffers_of_one_call() {
    everywhere(|directory| {
        let path = directory.join("scatter");
        let lens = lengths(5000);
        let data = bytes(lens.iter().sum::<usize>() + 7, 2);
        fs::write(&path, &data).unwrap();
        for cache in POLICIES {
            let (file, _) = File::open(&path).unwrap().with_cache(cache);
            let mut memory: Vec<Vec<u8>> = lens.iter().map(|&len| vec![0; len]).collect();
            let mut parts: Vec<IoSliceMut<'_>> =
                memory.iter_mut().map(|part| IoSliceMut::new(part)).collect();
            file.read_exact_vectored_at(&mut parts, 7).unwrap();
            assert!(memory.concat() == data[7..], "{cache:?}");
        }
    });
}

#[test]
fn a_scattered_read_beyond_the_end_names_the_offset() {
    everywhere(|directory| {
        let path = directory.join("short");
        fs::write(&path, bytes(100, 3)).unwrap();
        let file = File::open(&path).unwrap();
        let (mut first, mut second) = ([0; 60], [0; 60]);
        let mut parts = [IoSliceMut::new(&mut first), IoSliceMut::new(&mut []), IoSliceMut::new(&mut second)];
        let error = file.read_exact_vectored_at(&mut parts, 0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Changed);
        assert!(error.to_string().contains("offset 100"), "{error}");
        let read = file.read_vectored_at(&mut [IoSliceMut::new(&mut []), IoSliceMut::new(&mut first)], 100);
        assert_eq!(read.unwrap(), 0);
        assert_eq!(file.read_vectored_at(&mut [], 0).unwrap(), 0);
        let error = file.write_all_vectored_at(&[IoSlice::new(b"no")], 0).unwrap_err();
        assert_eq!(error.kind(), NOT_OPENED_FOR);
    });
}

#[test]
fn dotnet_109340_gathered_writes_beyond_32_bit_offsets() {
    everywhere(|directory| {
        let path = directory.join("far");
        let file = File::create_new(&path).unwrap();
        let data = bytes(40_000, 4);
        let parts: Vec<IoSlice<'_>> = data.chunks(13).map(IoSlice::new).collect();
        for offset in [(1 << 31) - 100, (1 << 32) - 100, (1 << 33) + 1] {
            file.write_all_vectored_at(&parts, offset).unwrap();
            assert!(read_at(&path, offset, data.len()) == data, "{offset}");
            let mut memory: Vec<Vec<u8>> = parts.iter().map(|part| vec![0; part.len()]).collect();
            let mut into: Vec<IoSliceMut<'_>> = memory.iter_mut().map(|part| IoSliceMut::new(part)).collect();
            file.read_exact_vectored_at(&mut into, offset).unwrap();
            assert!(memory.concat() == data, "{offset}");
        }
        file.set_len(0).unwrap();
    });
}

/// One call transfers at most 2 GiB less one page, so a larger gathered write continues inside a buffer.
// Windows writes a buffer at a time, and no device there takes writes at offsets.
#[cfg(unix)]
#[test]
fn a_gathered_write_may_exceed_2_gib() {
    let file = File::from_fd(
        fs::OpenOptions::new().read(true).write(true).open("/dev/null").unwrap().into(),
        "/dev/null",
    )
    .unwrap();
    // `/dev/null` discards the bytes but counts them: 33 times 64 MiB.
    let data = vec![0; 64 << 20];
    let parts = vec![IoSlice::new(&data); 33];
    file.write_all_vectored_at(&parts, 0).unwrap();
    let once = file.write_vectored_at(&parts, 0).unwrap();
    assert!(once < 33 * (64 << 20), "{once}");
}

/// Whole blocks in aligned memory are written by one call, others one by one, with the same result.
#[test]
fn vectors_of_blocks_bypass_the_cache() {
    everywhere(|directory| {
        let path = directory.join("blocks");
        let (file, _) = File::create_new(&path).unwrap().with_cache(CachePolicy::Direct);
        let memory = bytes(40 * 4096, 6);
        let start = memory.as_ptr().align_offset(4096);
        for (shift, len) in [(0, 4096), (0, 8192), (1, 4096), (0, 4100)] {
            let data = &memory[start + shift..][..16 * 8192];
            let parts: Vec<IoSlice<'_>> = data.chunks(len).map(IoSlice::new).collect();
            for offset in [0, 4096, 4097] {
                file.set_len(0).unwrap();
                file.write_all_vectored_at(&parts, offset).unwrap();
                assert!(fs::read(&path).unwrap()[offset as usize..] == *data, "{shift} {len} {offset}");
                let mut room = vec![0; data.len() + 8192];
                let place = room.as_ptr().align_offset(4096) + shift;
                let into = &mut room[place..place + data.len()];
                let mut into_parts: Vec<IoSliceMut<'_>> = into.chunks_mut(len).map(IoSliceMut::new).collect();
                file.read_exact_vectored_at(&mut into_parts, offset).unwrap();
                assert!(*into == *data, "{shift} {len} {offset}");
            }
        }
    });
}
