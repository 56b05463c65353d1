//! Scattered and gathered transfers beyond the limits of one call and of 32-bit offsets.

use super::*;

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
// macOS has another limit. Windows writes a buffer at a time, and no device there takes writes at offsets.
#[cfg(target_os = "linux")]
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
